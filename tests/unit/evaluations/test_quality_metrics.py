"""Figures of retrieval by hand (`known-bugs.md` 54–58)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evaluations.bench.quality_metrics import auc, difference, ndcg, recall, reciprocal_rank, scored

SECOND = 1 / math.log2(3)
THIRD = 1 / math.log2(4)


@pytest.mark.parametrize(
    ("ranking", "judged", "expected"),
    [
        (["x", "a"], {"a": 1, "b": 1}, SECOND / (1 + SECOND)),  # the ideal is what was judged, not what was found: .387
        (["a", "x"], {"a": 1, "b": 1}, 1 / (1 + SECOND)),
        (["a", "b"], {"a": 1, "b": 1}, 1.0),
        (["b", "a"], {"a": 2, "b": 1}, (1 + 2 * SECOND) / (2 + SECOND)),  # grades are gains, on both sides
        (["a", "a", "b"], {"a": 1, "b": 1}, 1.0),  # a repeated document counts once, and takes no place
        (["x"], {"a": 1}, 0.0),
        ([], {"a": 1}, 0.0),
        (["a"], {"a": 0}, 0.0),
        (["a", "b"], {"a": -1, "b": 1}, SECOND),
    ],
)
def test_ndcg(ranking: list[str], judged: dict[str, int], expected: float) -> None:
    assert ndcg(ranking, judged) == pytest.approx(expected)


def test_ndcg_with_more_judged_documents_than_places_is_at_most_one() -> None:
    judged = {str(number): 1 for number in range(30)}
    assert ndcg([str(number) for number in range(30)], judged, 10) == pytest.approx(1.0)
    assert ndcg(["x", *map(str, range(30))], judged, 10) < 1


def test_reciprocal_rank_and_recall() -> None:
    judged = {"a": 1, "b": 2, "c": 0}
    assert reciprocal_rank(["c", "x", "b", "a"], judged) == pytest.approx(1 / 3)
    assert reciprocal_rank(["x"] * 1 + [str(n) for n in range(9)] + ["a"], judged) == 0
    assert recall(["c", "b"], judged) == 0.5
    assert recall(["a", "b"], judged, 1) == 0.5


def test_every_judged_question_counts_and_only_those() -> None:
    found = scored({"q1": ["a"], "other": ["a"]}, {"q1": {"a": 1}, "q2": {"b": 1}, "none": {"c": 0}})
    assert found.ndcg.tolist() == [1.0, 0.0]
    assert found.means == (0.5, 0.5, 0.5)


def test_the_interval_of_a_paired_difference() -> None:
    same = np.linspace(0, 1, 50)
    assert difference(same, same) == (0.0, 0.0, 0.0)
    mean, low, high = difference(same + 0.1, same)
    assert (mean, low, high) == pytest.approx((0.1, 0.1, 0.1))
    rng = np.random.default_rng(1)
    mean, low, high = difference(rng.normal(0.0, 1.0, 400), np.zeros(400))
    assert low < mean < high
    assert high - low == pytest.approx(2 * 1.96 / 20, rel=0.15)  # the normal interval of 400 values


def test_auc() -> None:
    assert auc([3, 4], [1, 2]) == 1
    assert auc([1, 2], [3, 4]) == 0
    assert auc([1, 3], [2, 3]) == pytest.approx((0 + 0 + 1 + 0.5) / 4)
