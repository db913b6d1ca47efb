"""Markdown becomes passages: under their headings, by sentences, or by a delimiter (`seed-facts.md` 17.4). Pure.

A heading closes the passage before it. Fenced code and tables stay whole while they fit, else they are cut at lines or
rows, with the fence or the header repeated; prose that is too long is cut at sentences, then at words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.core.documents.tokens import DEAREST, UNIT, costs

MAX_WORDS = 250
"""Words of one passage; the window of the embedding profile bounds it further (`cutting.py`)."""

_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_SEPARATOR = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")
_SENTENCE = re.compile(r"(?<=[.!?\u2026])\s+")


@dataclass(frozen=True)
class Section:
    """Passage ``n`` (from 0) of a text: Markdown under the headings of ``breadcrumb``, outermost first; ``page`` (from
    1) is that of the file, where files have pages."""

    n: int
    breadcrumb: tuple[str, ...]
    text: str
    page: int | None = None


@dataclass(frozen=True)
class _Block:
    kind: str  # heading, code, table, prose
    lines: tuple[str, ...]
    level: int = 0

    @property
    def text(self) -> str:
        """As Markdown."""
        return f"{self.lines[1]} {self.lines[0]}" if self.kind == "heading" else "\n".join(self.lines)

    @property
    def words(self) -> str:
        """Of a heading: what it says."""
        return self.lines[0]


def split_markdown(
    body: str, title: str = "", max_words: int = MAX_WORDS, max_tokens: int | None = None
) -> list[Section]:
    """The passages of a page in order. A heading of level 1 that repeats ``title`` adds nothing to the breadcrumb.

    Raises :class:`ValueError` for less than 8 words or 16 tokens.
    """
    size = Size(max_words, max_tokens)
    found: list[tuple[tuple[str, ...], str]] = []
    headings: list[tuple[int, str]] = []
    open_parts = _Open(size)

    def close() -> None:
        text = open_parts.taken()
        if any(character.isalnum() for character in text):
            found.append((tuple(words for _, words in headings), text))

    for block in _blocks(body):
        if block.kind == "heading":
            close()
            headings = [(level, words) for level, words in headings if level < block.level]
            if not (block.level == 1 and block.words == title):
                headings.append((block.level, block.words))
            continue
        for part in _fitting(block, size):
            if not open_parts.takes(part.text):
                close()
            open_parts.add(part.text)
    close()
    return [Section(n, breadcrumb, text) for n, (breadcrumb, text) in enumerate(found)]


def split_sentences(
    body: str, title: str = "", max_words: int = MAX_WORDS, max_tokens: int | None = None
) -> list[Section]:
    """Passages as full as they get, that end at sentences and know no headings; code and tables as above."""
    size = Size(max_words, max_tokens)
    texts: list[str] = []
    open_parts = _Open(size)
    for block in _blocks(body):
        if block.kind == "heading" and block.level == 1 and block.words == title:
            continue
        joint = "\n\n"
        for part in _sentences(block) if block.kind == "prose" else _fitting(block, size):
            for text in _pieces(part, size) if isinstance(part, str) else [part.text]:
                if not open_parts.takes(text):
                    texts.append(open_parts.taken())
                open_parts.add(text, joint)
                joint = " " if block.kind == "prose" else "\n\n"
    texts.append(open_parts.taken())
    return _sections(texts)


def split_at(
    delimiter: str, body: str, title: str = "", max_words: int = MAX_WORDS, max_tokens: int | None = None
) -> list[Section]:
    """One passage from each delimiter to the next; a piece that is too long is cut as by `split_sentences`.

    Raises :class:`ValueError` for a blank delimiter.
    """
    if not delimiter.strip():
        raise ValueError("a delimiter is not blank")
    pieces = body.replace("\r\n", "\n").split(delimiter)
    return _sections(one.text for piece in pieces for one in split_sentences(piece, title, max_words, max_tokens))


def open_fence(body: str) -> int | None:
    """The line, from 1, of a fence that never closes."""
    lines = body.replace("\r\n", "\n").split("\n")
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence:
            end = _fence_end(lines, at, fence.group(1))
            if end == len(lines) and not _closes(lines[-1], fence.group(1), at == len(lines) - 1):
                return at + 1
            at = end
        else:
            at += 1
    return None


def _closes(line: str, fence: str, alone: bool) -> bool:
    closing = line.strip()
    return not alone and len(closing) >= len(fence) and closing == fence[0] * len(closing)


class Size:
    """How large a text is, in units of which ``limit`` make a full passage: by its words and by its tokens, whichever
    is more. Sizes of parts add up to at least that of the whole."""

    def __init__(self, max_words: int, max_tokens: int | None = None) -> None:
        if max_words < 8:
            raise ValueError("a passage holds at least 8 words")
        if max_tokens is not None and max_tokens < 16:
            raise ValueError("a passage holds at least 16 tokens")
        self._words = max_words
        self._cost = None if max_tokens is None else max_tokens * UNIT
        self.limit = max_words * (self._cost or 1)
        self._known: dict[str, int] = {}
        self._dearest = max(self._cost or 1, DEAREST * max_words)

    def fits(self, text: str) -> bool:
        """Whether it is no more than a full passage; most are so short that nobody need measure."""
        return len(text) * self._dearest <= self.limit or self(text) <= self.limit

    def __call__(self, text: str) -> int:
        if len(text) > 30:
            return self._measured(text)
        if text not in self._known:  # words come again and again
            self._known[text] = self._measured(text)
        return self._known[text]

    def _measured(self, text: str) -> int:
        words = len(text.split())
        if self._cost is None:
            return words
        return max(words * self._cost, int(costs(text).sum()) * self._words)


class _Open:
    """The parts of a passage that is not full yet."""

    def __init__(self, size: Size) -> None:
        self._size = size
        self._text = ""
        self._taken = 0
        self._last = ""
        """What was added last: measured when more is to follow, which mostly is not."""

    def takes(self, text: str) -> bool:
        if not self._text:
            return True
        if self._last:
            self._taken, self._last = self._taken + self._size(self._last), ""
        return self._taken + self._size(text) <= self._size.limit

    def add(self, text: str, joint: str = "\n\n") -> None:
        self._text += (joint if self._text else "") + text
        self._last = text

    def taken(self) -> str:
        """The text so far; what follows begins anew."""
        text, self._text, self._taken, self._last = self._text, "", 0, ""
        return text


def _sections(texts: Iterable[str]) -> list[Section]:
    told = (text for text in texts if any(character.isalnum() for character in text))
    return [Section(n, (), text) for n, text in enumerate(told)]


def _blocks(body: str) -> Iterator[_Block]:
    lines = body.replace("\r\n", "\n").split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
            continue
        fence, heading = _FENCE.match(line), _HEADING.match(line)
        if fence:
            end = _fence_end(lines, at, fence.group(1))
            yield _Block("code", tuple(lines[at:end]))
        elif heading:
            end = at + 1
            yield _Block("heading", (heading.group(2), heading.group(1)), len(heading.group(1)))
        else:
            end = _paragraph_end(lines, at)
            table = end - at > 1 and "|" in line and _SEPARATOR.match(lines[at + 1])
            yield _Block("table" if table else "prose", tuple(lines[at:end]))
        at = end


def _fence_end(lines: Sequence[str], start: int, fence: str) -> int:
    """Behind the closing fence; one that never closes takes the rest, as Markdown says."""
    for at in range(start + 1, len(lines)):
        closing = lines[at].strip()
        if len(closing) >= len(fence) and closing == fence[0] * len(closing):
            return at + 1
    return len(lines)


def _paragraph_end(lines: Sequence[str], start: int) -> int:
    for at in range(start + 1, len(lines)):
        line = lines[at]
        if not line.strip() or _FENCE.match(line) or _HEADING.match(line):
            return at
    return len(lines)


def _fitting(block: _Block, size: Size) -> Iterator[_Block]:
    if size.fits(block.text):
        yield block
    elif block.kind == "code":
        closing = len(block.lines) > 1 and _FENCE.match(block.lines[-1])
        last = (block.lines[-1],) if closing else (block.lines[0].strip()[:3],)
        yield from _in_lines(block.kind, block.lines[:1], block.lines[1 : -1 if closing else None], last, size)
    elif block.kind == "table":
        yield from _in_lines(block.kind, block.lines[:2], block.lines[2:], (), size)
    else:
        yield from (_Block("prose", (text,)) for text in _prose(block, size))


def _in_lines(
    kind: str, first: Sequence[str], lines: Sequence[str], last: Sequence[str], size: Size
) -> Iterator[_Block]:
    """Parts of whole lines, each between ``first`` and ``last``; a line that alone is too long is cut at words."""
    room = max(size.limit - size(" ".join((*first, *last))), size.limit // 2)
    for part in _packed((piece for one in lines for piece in _pieces(one, size, room)), size, room):
        yield _Block(kind, (*first, *part, *last))


def _packed(pieces: Iterable[str], size: Size, room: int) -> Iterator[list[str]]:
    """As many pieces at a time as have room; one that alone is too long stands alone."""
    part: list[str] = []
    taken = 0
    for piece in pieces:
        own = size(piece)
        if part and taken + own > room:
            yield part
            part, taken = [], 0
        part.append(piece)
        taken += own
    if part:
        yield part


def _pieces(line: str, size: Size, room: int | None = None) -> Iterator[str]:
    """The line, or as much of it as has room at a time: whole words, and parts of a word that alone is too long."""
    room = room or size.limit
    if size(line) <= room:
        yield line
        return
    words = (piece for one in line.split() for piece in _of_word(one, size, room))
    yield from (" ".join(part) for part in _packed(words, size, room))


def _of_word(word: str, size: Size, room: int) -> Iterator[str]:
    own = size(word)
    if own <= room:
        yield word
        return
    step = max(1, len(word) * room // (own + 1))
    for at in range(0, len(word), step):
        yield word[at : at + step]


def _sentences(block: _Block) -> list[str]:
    return [sentence for one in _SENTENCE.split(block.text) if (sentence := one.strip())]


def _prose(block: _Block, size: Size) -> Iterator[str]:
    sentences = (piece for one in _sentences(block) for piece in _pieces(one, size))
    yield from (" ".join(part) for part in _packed(sentences, size, size.limit))
