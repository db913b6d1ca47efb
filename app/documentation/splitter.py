"""Markdown becomes passages that know the headings they stand under (`seed-facts.md` 17.4). Pure.

A heading closes the passage before it. Fenced code and tables stay whole while they fit, else they are cut at lines or
rows, with the fence or the header repeated; prose that is too long is cut at sentences, then at words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MAX_WORDS = 250
"""Words of one passage: it fits the window of every embedding profile, breadcrumb included."""

_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_SEPARATOR = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")
_SENTENCE = re.compile(r"(?<=[.!?\u2026])\s+")


@dataclass(frozen=True)
class Section:
    """Passage ``n`` (from 0) of a page: Markdown ``text`` under the headings of ``breadcrumb``, outermost first."""

    n: int
    breadcrumb: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class _Block:
    kind: str  # heading, code, table, prose
    lines: tuple[str, ...]
    level: int = 0

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def words(self) -> int:
        return len(self.text.split())


def split_markdown(body: str, title: str = "", max_words: int = MAX_WORDS) -> list[Section]:
    """The passages of a page in order. A heading of level 1 that repeats ``title`` adds nothing to the breadcrumb.

    Raises :class:`ValueError` for less than 8 words.
    """
    if max_words < 8:
        raise ValueError("a passage holds at least 8 words")
    found: list[tuple[tuple[str, ...], str]] = []
    headings: list[tuple[int, str]] = []
    open_parts: list[_Block] = []

    def close() -> None:
        if open_parts:
            text = "\n\n".join(part.text for part in open_parts)
            if any(character.isalnum() for character in text):
                found.append((tuple(words for _, words in headings), text))
            open_parts.clear()

    for block in _blocks(body):
        if block.kind == "heading":
            close()
            headings = [(level, words) for level, words in headings if level < block.level]
            if not (block.level == 1 and block.lines[0] == title):
                headings.append((block.level, block.lines[0]))
            continue
        for part in _fitting(block, max_words):
            if sum(one.words for one in open_parts) + part.words > max_words:
                close()
            open_parts.append(part)
    close()
    return [Section(n, breadcrumb, text) for n, (breadcrumb, text) in enumerate(found)]


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
            yield _Block("heading", (heading.group(2),), len(heading.group(1)))
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


def _fitting(block: _Block, limit: int) -> Iterator[_Block]:
    if block.words <= limit:
        yield block
    elif block.kind == "code":
        closing = _FENCE.match(block.lines[-1]) and len(block.lines) > 1
        last = (block.lines[-1],) if closing else (block.lines[0].strip()[:3],)
        yield from _in_lines(block.kind, block.lines[:1], block.lines[1 : -1 if closing else None], last, limit)
    elif block.kind == "table":
        yield from _in_lines(block.kind, block.lines[:2], block.lines[2:], (), limit)
    else:
        yield from (_Block("prose", (text,)) for text in _prose(block.text, limit))


def _in_lines(
    kind: str, first: Sequence[str], lines: Sequence[str], last: Sequence[str], limit: int
) -> Iterator[_Block]:
    """Parts of whole lines, each between ``first`` and ``last``; a line that alone is too long is cut at words."""
    room = max(limit - len(" ".join((*first, *last)).split()), limit // 2)
    part: list[str] = []
    for line in (piece for one in lines for piece in _pieces(one, room)):
        if part and len(" ".join((*part, line)).split()) > room:
            yield _Block(kind, (*first, *part, *last))
            part = []
        part.append(line)
    if part:
        yield _Block(kind, (*first, *part, *last))


def _pieces(line: str, room: int) -> Iterator[str]:
    words = line.split()
    if len(words) <= room:
        yield line
        return
    for at in range(0, len(words), room):
        yield " ".join(words[at : at + room])


def _prose(text: str, limit: int) -> Iterator[str]:
    part: list[str] = []
    count = 0
    for sentence in (piece for one in _SENTENCE.split(text) for piece in _pieces(one, limit)):
        words = len(sentence.split())
        if part and count + words > limit:
            yield " ".join(part)
            part, count = [], 0
        part.append(sentence)
        count += words
    if part:
        yield " ".join(part)
