"""The two legs of a search on one scale, for search and documentation (`search-measured.md` 2). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

Key = TypeVar("Key")

DIGITS = 6
"""Of a fused score: sums of floats in another order make no other ranking."""


def word_share(words: Sequence[object], vectors: Sequence[object], word_weight: float) -> float:
    """What the word leg counts in the end, in [0, 1]; all, or nothing, where one leg has no hits."""
    return 1.0 if not vectors else 0.0 if not words else min(max(word_weight, 0.0), 1.0)


def min_max(scores: Mapping[Key, float]) -> dict[Key, float]:
    """A leg's scores brought to [0, 1]; where all are equal, each is 1 (`seed-facts.md` 8)."""
    if not scores:
        return {}
    lowest, highest = min(scores.values()), max(scores.values())
    span = highest - lowest
    return {key: (score - lowest) / span if span > 0 else 1.0 for key, score in scores.items()}
