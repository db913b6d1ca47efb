"""nDCG, reciprocal rank and recall as ir-measures has them, and the paired bootstrap. Pure.

The ideal order is that of the judged documents, not of what was found (`known-bugs.md` 54–57), gains are the judged
grades themselves, and a question without a relevant document is no question.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Judged = Mapping[str, int]
"""Document to grade; above 0 is relevant."""
Ranking = Sequence[str]

RESAMPLES = 10_000
SEED = 7


def ndcg(ranking: Ranking, judged: Judged, k: int = 10) -> float:
    """Normalised discounted cumulative gain of the first ``k``."""
    ideal = _dcg(sorted((grade for grade in judged.values() if grade > 0), reverse=True)[:k])
    return _dcg([max(judged.get(one, 0), 0) for one in _distinct(ranking)[:k]]) / ideal if ideal else 0.0


def reciprocal_rank(ranking: Ranking, judged: Judged, k: int = 10) -> float:
    """1 ÷ the place of the first relevant document, 0 behind ``k``."""
    places = (place for place, one in enumerate(_distinct(ranking)[:k], start=1) if judged.get(one, 0) > 0)
    return 1 / next(places, math.inf)


def recall(ranking: Ranking, judged: Judged, k: int = 100) -> float:
    """Share of the relevant documents that are among the first ``k``."""
    relevant = {one for one, grade in judged.items() if grade > 0}
    return len(relevant & set(_distinct(ranking)[:k])) / len(relevant) if relevant else 0.0


@dataclass(frozen=True)
class Scores:
    """A system's figures for each question that has a relevant document, in the order of the judgements."""

    ndcg: NDArray[np.float64]
    rr: NDArray[np.float64]
    recall: NDArray[np.float64]

    @property
    def means(self) -> tuple[float, float, float]:
        """nDCG@10, MRR@10, recall@100."""
        return float(self.ndcg.mean()), float(self.rr.mean()), float(self.recall.mean())


def scored(rankings: Mapping[str, Ranking], judgements: Mapping[str, Judged]) -> Scores:
    """Every judged question counts; one without an answer counts as nothing found."""
    asked = {name: judged for name, judged in judgements.items() if any(grade > 0 for grade in judged.values())}
    rows = [
        (ndcg(found, judged), reciprocal_rank(found, judged), recall(found, judged))
        for name, judged in asked.items()
        for found in [rankings.get(name, ())]
    ]
    return Scores(*np.array(rows, dtype=np.float64).reshape(-1, 3).T)


def difference(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> tuple[float, float, float]:
    """Mean difference by question and its 95 % interval, from a paired bootstrap of fixed seed."""
    apart = ours - theirs
    rng = np.random.default_rng(SEED)
    means = np.array([apart[rng.integers(0, len(apart), len(apart))].mean() for _ in range(RESAMPLES)])
    low, high = np.quantile(means, (0.025, 0.975))
    return float(apart.mean()), float(low), float(high)


def auc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """How often a value of ``positive`` is above one of ``negative``; a tie counts half."""
    above = np.asarray(positive)[:, None] - np.asarray(negative)[None, :]
    return float((above > 0).mean() + (above == 0).mean() / 2)


def _dcg(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, start=1))


def _distinct(ranking: Ranking) -> list[str]:
    return list(dict.fromkeys(ranking))
