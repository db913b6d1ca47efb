"""What an answer cites, held against what was retrieved. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_CITED = re.compile(r"\s*\[\s*(\d{1,4}(?:\s*[,;]\s*\d{1,4})*)\s*\]")
_CLAIM = re.compile(r"(?<=[.!?\u2026])\s+|\n+")
_LEADING = re.compile(r"^(?:\s*\[\s*\d{1,4}(?:\s*[,;]\s*\d{1,4})*\s*\])+")


@dataclass(frozen=True)
class Claim:
    """One sentence of an answer without its numbers; ``cites`` are the passages that it names, all of them known."""

    text: str
    cites: tuple[int, ...]

    @property
    def supported(self) -> bool:
        """Whether it names a passage at all."""
        return bool(self.cites)


@dataclass(frozen=True)
class Checked:
    """An answer's claims; ``dropped`` counts the numbers that stand for no passage."""

    claims: tuple[Claim, ...]
    dropped: int

    @property
    def cited(self) -> tuple[int, ...]:
        """Every passage that the answer names, once, in order."""
        return tuple(sorted({number for claim in self.claims for number in claim.cites}))


def check_citations(answer: str, passages: int) -> Checked:
    """Cut an answer into claims, keep the numbers 1 to ``passages`` and count the others.

    A number behind the full stop belongs to the sentence before it.
    """
    claims: list[Claim] = []
    dropped = 0
    for piece in _pieces(answer):
        numbers = [int(one) for found in _CITED.findall(piece) for one in re.findall(r"\d+", found)]
        known = tuple(dict.fromkeys(number for number in numbers if 1 <= number <= passages))
        dropped += sum(1 for number in numbers if not 1 <= number <= passages)
        text = _CITED.sub("", piece).strip()
        if any(character.isalnum() for character in text):
            claims.append(Claim(text, known))
        elif known and claims:
            claims[-1] = Claim(claims[-1].text, tuple(dict.fromkeys((*claims[-1].cites, *known))))
    return Checked(tuple(claims), dropped)


def _pieces(answer: str) -> Sequence[str]:
    pieces: list[str] = []
    for piece in _CLAIM.split(answer):
        leading = _LEADING.match(piece)
        if leading and pieces:
            pieces[-1] += leading.group(0)
            piece = piece[leading.end() :]
        if piece.strip():
            pieces.append(piece)
    return pieces
