"""Two texts as one, with what was taken out and what was put in marked by words. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

Kind = Literal["same", "old", "new", "gap"]

_WORD = re.compile(r"\s+|[^\W_]+|[\W_]", re.UNICODE)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
MOST_WORDS = 3_000
"""Of both texts together; longer ones are compared by lines, since the work grows with the product."""
KEPT = 160
"""Characters of an unchanged run that stay on each side of a change."""


@dataclass(frozen=True)
class Piece:
    """A run of text. A ``gap`` stands for ``count`` unchanged characters that are left out."""

    kind: Kind
    text: str = ""
    count: int = 0


def word_diff(old: str, new: str) -> list[Piece]:
    """The pieces in reading order; without gaps, same and old give ``old``, same and new give ``new``."""
    before, after = _WORD.findall(old), _WORD.findall(new)
    if len(before) + len(after) > MOST_WORDS:
        before, after = _LINE.findall(old), _LINE.findall(new)
    pieces: list[Piece] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            pieces.append(Piece("same", "".join(before[i1:i2])))
            continue
        if i2 > i1:
            pieces.append(Piece("old", "".join(before[i1:i2])))
        if j2 > j1:
            pieces.append(Piece("new", "".join(after[j1:j2])))
    return pieces


def shortened(pieces: list[Piece]) -> list[Piece]:
    """Long unchanged runs become a gap between what stands next to a change."""
    found: list[Piece] = []
    for number, piece in enumerate(pieces):
        if piece.kind != "same" or len(piece.text) <= 3 * KEPT:
            found.append(piece)
            continue
        head = piece.text[:KEPT] if number else ""
        tail = piece.text[-KEPT:] if number < len(pieces) - 1 else ""
        found += [Piece("same", head)] if head else []
        found.append(Piece("gap", count=len(piece.text) - len(head) - len(tail)))
        found += [Piece("same", tail)] if tail else []
    return found
