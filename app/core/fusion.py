"""The two legs of a search on one scale, for search and documentation (`search-measured.md` 2). Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

DIGITS = 6
"""Of a fused score: sums of floats in another order make no other ranking."""


def word_share(words: Sequence[object], vectors: Sequence[object], word_weight: float) -> float:
    """What the word leg counts in the end, in [0, 1]; all, or nothing, where one leg has no hits."""
    return 1.0 if not vectors else 0.0 if not words else min(max(word_weight, 0.0), 1.0)


def min_max(scores: Collection[float]) -> list[float]:
    """A leg's scores brought to [0, 1]; where all are equal, each is 1 (`seed-facts.md` 8)."""
    lowest, highest = min(scores, default=0.0), max(scores, default=0.0)
    span = highest - lowest
    return [(score - lowest) / span for score in scores] if span > 0 else [1.0] * len(scores)
