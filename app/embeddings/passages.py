"""Texts become passages that a model's window holds (`known-bugs.md` 50: split before embedding, never silently cut).

Pure. Offsets count in `document_text(title, body)`. Passages don't overlap; each ends at the latest paragraph, else
sentence, else word that leaves it at least half full, else at the last character that fits. Passages that begin after
the title carry it as a first line in `text` (not in the offsets), so that each says what it is about. What holds no
letter or digit is embedded nowhere (`documents/text.py`).

Tokens are estimated, so that splitting needs no model and is the same for all. The estimate is a cost per character,
fitted to XLM-R's vocabulary (multilingual-e5) and set some 15 to 20 % too high on purpose: of 3,000 passages of EN and
IT encyclopaedia, science and documentation one in a hundred is counted up to 3 % too low, the worst 9 %.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from app.core.documents.text import document_text

SPLITTER_VERSION = 2
"""Part of what makes vectors comparable: raise it with every change of where texts are cut."""

Costs = NDArray[np.int64]

_UNIT = 100
_LETTERS = np.array([93, 12, 12, 12] + [19] * 12 + [50], dtype=np.int64)
_DIGITS = np.array([65] + [31] * 15 + [50], dtype=np.int64)
_CAPITAL = 30
_SYMBOL = 107
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


def split(title: str, body: str, window: int) -> list[Passage]:
    """The passages of a document, in order; none when nothing but blanks and marks is left.

    ``window`` is in estimated tokens (at least 8); every passage's ``text`` stays within it.
    """
    if window < 8:
        raise ValueError("a window holds at least 8 tokens")
    text = document_text(title, body)
    total = np.concatenate([np.zeros(1, np.int64), np.cumsum(_costs(text))])
    if total[-1] <= window * _UNIT and text and not text[0].isspace():  # most documents: nothing to cut, no heading
        whole = (0, len(text.rstrip()))
        return [Passage(0, 1, *whole, text[: whole[1]])] if _says_something(text, whole) else []
    heading_end = len(title) if title and body else 0
    heading = _shortened(title, window // _TITLE_SHARE) if heading_end else ""
    spans = [span for span in _spans(text, total, heading_end, heading, window) if _says_something(text, span)]
    return [
        Passage(n, len(spans), start, end, _with_heading(heading, heading_end, start, text[start:end]))
        for n, (start, end) in enumerate(spans)
    ]


def passage_hash(text: str) -> bytes:
    """16 bytes over what is embedded."""
    return blake2b(text.encode(), digest_size=16).digest()


def estimated_tokens(text: str) -> int:
    """Tokens of ``text`` by the estimate, rounded up."""
    return -(-int(_costs(text).sum()) // _UNIT)


def _with_heading(heading: str, heading_end: int, start: int, text: str) -> str:
    return f"{heading}\n{text}" if heading and start >= heading_end else text


def _shortened(title: str, tokens: int) -> str:
    """The title, cut at a word so that it leaves room for the passage."""
    costs = np.cumsum(_costs(title))
    if not len(costs) or costs[-1] <= tokens * _UNIT:
        return title.strip()
    fits = bisect_right(costs, tokens * _UNIT)
    return (title[:fits].rsplit(maxsplit=1) or [""])[0].strip()


def _spans(text: str, total: Costs, heading_end: int, heading: str, window: int) -> Iterator[tuple[int, int]]:
    """Trimmed spans that cover all that isn't blank. ``total`` is what the text costs up to each character."""
    boundaries = [[match.end() for match in pattern.finditer(text)] for pattern in (_PARAGRAPH, _SENTENCE, _WORD)]
    carried = (estimated_tokens(heading) + 1) * _UNIT if heading else 0
    start = _after_blanks(text, 0)
    while start < len(text):
        room = window * _UNIT - (carried if start >= heading_end else 0) - _begun(text, start)
        end = _end(text, total, boundaries, start, room)
        yield start, start + len(text[start:end].rstrip())
        start = _after_blanks(text, end)


def _begun(text: str, start: int) -> int:
    """How much more than in its text a passage may cost that begins inside a word: its first letter counts as one."""
    if not start:
        return 0
    before, first = (int(_KINDS[min(ord(character), len(_KINDS) - 1)]) for character in text[start - 1 : start + 1])
    return int(_LETTERS[0] - _LETTERS[1]) if before == first and first in (1, 2) else 0


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


def _costs(text: str) -> Costs:
    """The cost of each character in hundredths of a token. A word's first letter costs most, the far end of a run that
    is longer than words are (base64, hashes) half a token a character; a CJK character or a sign counts one."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int64)
    kinds = _KINDS[np.minimum(codes, len(_KINDS) - 1)]
    letters, digits = kinds == 1, kinds == 2
    place = _place_in_run(kinds)
    costs = np.where(kinds == 0, 0, _SYMBOL)
    place = np.minimum(place, len(_LETTERS) - 1)
    costs[letters] = _LETTERS[place[letters]]
    costs[digits] = _DIGITS[place[digits]]
    costs += np.where((codes >= 65) & (codes <= 90) & (place > 0), _CAPITAL, 0)
    return np.asarray(costs, dtype=np.int64)


def _kinds(codes: Costs) -> Costs:
    """0 blank, 1 letter of a script with words, 2 digit, 3 all else: one token each."""
    lower = codes | 32
    letters = (lower >= 97) & (lower <= 122) & (codes < 128)
    letters |= (codes >= 0xC0) & (codes < 0x0E00)
    letters |= (codes >= 0x10A0) & (codes < 0x2000)
    blanks = (codes <= 32) | (codes == 0xA0) | ((codes >= 0x2000) & (codes <= 0x200A)) | (codes == 0x3000)
    digits = (codes >= 48) & (codes <= 57)
    return np.where(blanks, 0, np.where(letters, 1, np.where(digits, 2, 3)))


_KINDS = _kinds(np.arange(0x3002, dtype=np.int64))
"""Kind of each character; all from U+3001 on are of one kind. Looking it up is several times faster than comparing."""


def _place_in_run(kinds: Costs) -> Costs:
    """How many characters of the same kind stand before each without a break."""
    positions = np.arange(len(kinds))
    changes = np.ones(len(kinds), dtype=bool)
    changes[1:] = kinds[1:] != kinds[:-1]
    return np.asarray(positions - np.maximum.accumulate(np.where(changes, positions, 0)), dtype=np.int64)
