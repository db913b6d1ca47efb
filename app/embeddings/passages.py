"""Texts become passages that a model's window holds (`known-bugs.md` 50: split before embedding, never silently cut).

Pure. Offsets count in `document_text(title, body)`. Passages don't overlap; each ends at the latest paragraph, else
sentence, else word that leaves it at least half full, else at the last character that fits. Passages that begin after
the title carry it as a first line in `text` (not in the offsets), so that each says what it is about. What holds no
letter or digit is embedded nowhere (`documents/text.py`).

Tokens are estimated (`core/documents/tokens.py`), so that splitting needs no model and is the same for all.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from app.core.documents.text import document_text
from app.core.documents.tokens import DEAREST, KINDS, LETTERS, UNIT, Costs, costs, estimated_tokens

SPLITTER_VERSION = 2
"""Part of what makes vectors comparable: raise it with every change of where texts are cut."""

_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
_SENTENCE = re.compile(r"(?:[.!?\u2026][\"'\u2019\u201d\u00bb)\]]*\s+|[\u3002\uff01\uff1f]\s*|\n)")
_WORD = re.compile(r"\s+")
_TITLE_SHARE = 4


@dataclass(frozen=True)
class Passage:
    """Passage ``n`` (from 0) of ``of``: ``[start, end)`` of the document's text, and the ``text`` to embed."""

    n: int
    of: int
    start: int
    end: int
    text: str


def split(title: str, body: str, window: int, parts: Sequence[tuple[int, str]] = ()) -> list[Passage]:
    """The passages of a document, in order; none when nothing but blanks and marks is left.

    ``window`` is in estimated tokens (at least 8); every passage's ``text`` stays within it. ``parts`` are those of
    `core/contracts/documents.py`: each gives passages of its own, which carry its headings behind the title.
    """
    if window < 8:
        raise ValueError("a window holds at least 8 tokens")
    text = document_text(title, body)
    if parts:
        return _in_parts(title, text, len(text) - len(body), window, parts)
    total = _running_costs(text)
    if total[-1] <= window * UNIT and text and not text[0].isspace():  # most documents: nothing to cut, no heading
        whole = (0, len(text.rstrip()))
        return [Passage(0, 1, *whole, text[: whole[1]])] if _says_something(text, whole) else []
    heading_end = len(title) if title and body else 0
    heading = _shortened(title, window // _TITLE_SHARE) if heading_end else ""
    spans = [span for span in _spans(text, total, heading_end, heading, window) if _says_something(text, span)]
    return [
        Passage(n, len(spans), start, end, _with_heading(heading, heading_end, start, text[start:end]))
        for n, (start, end) in enumerate(spans)
    ]


def _in_parts(title: str, text: str, before: int, window: int, parts: Sequence[tuple[int, str]]) -> list[Passage]:
    starts = [(before + start, heading) for start, heading in parts if before + start < len(text)]
    if not starts or starts[0][0] > before:
        starts.insert(0, (before, ""))
    found: list[tuple[int, int, str]] = []
    for (start, under), end in zip(starts, [start for start, _ in starts[1:]] + [len(text)], strict=True):
        piece = text[start:end]
        heading = _shortened(" / ".join(words for words in (title, under) if words), window // _TITLE_SHARE)
        for span in _spans_of(piece, heading, window):
            if _says_something(piece, span):
                found.append((start + span[0], start + span[1], heading))
    return [
        Passage(n, len(found), start, end, _with_heading(heading, 0, start, text[start:end]))
        for n, (start, end, heading) in enumerate(found)
    ]


def _spans_of(piece: str, heading: str, window: int) -> Iterator[tuple[int, int]]:
    """As :func:`_spans`, each span under the heading; most are so short that nobody need count."""
    if (len(heading) + len(piece)) * DEAREST + 2 * UNIT <= window * UNIT:
        return iter([(_after_blanks(piece, 0), len(piece.rstrip()))])
    return _spans(piece, _running_costs(piece), 0, heading, window)


def _running_costs(text: str) -> Costs:
    """What the text costs up to each character."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(costs(text))])


def passage_hash(text: str) -> bytes:
    """16 bytes over what is embedded."""
    return blake2b(text.encode(), digest_size=16).digest()


def _with_heading(heading: str, heading_end: int, start: int, text: str) -> str:
    return f"{heading}\n{text}" if heading and start >= heading_end else text


def _shortened(title: str, tokens: int) -> str:
    """The title, cut at a word so that it leaves room for the passage."""
    if len(title) * DEAREST <= tokens * UNIT:
        return title.strip()
    total = np.cumsum(costs(title))
    if not len(total) or total[-1] <= tokens * UNIT:
        return title.strip()
    fits = bisect_right(total, tokens * UNIT)
    return (title[:fits].rsplit(maxsplit=1) or [""])[0].strip()


def _spans(text: str, total: Costs, heading_end: int, heading: str, window: int) -> Iterator[tuple[int, int]]:
    """Trimmed spans that cover all that isn't blank. ``total`` is what the text costs up to each character."""
    boundaries = [[match.end() for match in pattern.finditer(text)] for pattern in (_PARAGRAPH, _SENTENCE, _WORD)]
    carried = (estimated_tokens(heading) + 1) * UNIT if heading else 0
    start = _after_blanks(text, 0)
    while start < len(text):
        room = window * UNIT - (carried if start >= heading_end else 0) - _begun(text, start)
        end = _end(text, total, boundaries, start, room)
        yield start, start + len(text[start:end].rstrip())
        start = _after_blanks(text, end)


def _begun(text: str, start: int) -> int:
    """How much more than in its text a passage may cost that begins inside a word: its first letter counts as one."""
    if not start:
        return 0
    before, first = (int(KINDS[min(ord(character), len(KINDS) - 1)]) for character in text[start - 1 : start + 1])
    return int(LETTERS[0] - LETTERS[1]) if before == first and first in (1, 2) else 0


def _end(text: str, total: Costs, boundaries: list[list[int]], start: int, room: int) -> int:
    """Where the passage that begins at ``start`` ends."""
    left = int(total[-1] - total[start])
    if left <= room:
        return len(text)
    if left < room * 7 // 5:
        room = left * 3 // 5  # two passages of like size rather than a full one and a crumb
    last = int(np.searchsorted(total, total[start] + room, side="right")) - 1
    half = int(np.searchsorted(total, total[start] + room // 2, side="left"))
    for places in boundaries:
        at = bisect_right(places, last) - 1
        if at >= 0 and places[at] >= max(half, start + 1):
            return places[at]
    return _whole_character(text, start, max(last, start + 1))


def _whole_character(text: str, start: int, end: int) -> int:
    """Not between a letter and the marks on it; but a run of nothing else is cut all the same."""
    for place in range(end, max(start, end - 16), -1):
        if not unicodedata.combining(text[place]) and text[place] not in "\u200d\ufe0f" and text[place - 1] != "\u200d":
            return place
    return end


def _after_blanks(text: str, start: int) -> int:
    while start < len(text) and text[start].isspace():
        start += 1
    return start


def _says_something(text: str, span: tuple[int, int]) -> bool:
    return any(character.isalnum() for character in text[span[0] : span[1]])
