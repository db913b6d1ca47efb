"""One order of words and meaning: min-max per leg, the words' share by what their index knows of the question. Pure.

The weights are those that search was measured with (`search-measured.md` 2): ½ · known idf mass for the words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.core.contracts.vectors import PassageHit
from app.core.contracts.words import WordMatches
from app.core.fusion import DIGITS, min_max, word_share

WORD_SHARE = 0.5


@dataclass(frozen=True)
class Found:
    """A record of the fused order; ``passage`` is the vectors' best of it, None where they have not got it."""

    record_id: int
    score: float
    passage: PassageHit | None

    @property
    def similarity(self) -> float | None:
        return None if self.passage is None else round(self.passage.similarity, 6)


def fused(words: WordMatches, passages: Sequence[PassageHit]) -> list[Found]:
    """Best first, ties by id; a leg without hits leaves the whole weight to the other."""
    share = word_share(words.hits, passages, WORD_SHARE * words.known_mass)
    by_words = _parts({hit.record_id: hit.score for hit in words.hits})
    by_meaning = _parts({hit.record_id: hit.similarity for hit in passages})
    best = {hit.record_id: hit for hit in passages}

    def score(key: int) -> float:
        return round(share * by_words.get(key, 0.0) + (1 - share) * by_meaning.get(key, 0.0), DIGITS)

    found = [Found(key, score(key), best.get(key)) for key in by_words | by_meaning]
    return sorted(found, key=lambda one: (-one.score, one.record_id))


def _parts(scores: Mapping[int, float]) -> dict[int, float]:
    return dict(zip(scores, min_max(scores.values()), strict=True))
