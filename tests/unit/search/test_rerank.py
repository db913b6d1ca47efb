"""The heuristic's scores and the blend, by hand (`seed-facts.md` 4.9, 9)."""

from __future__ import annotations

import math

import pytest

from app.core.errors import Unavailable
from app.search.fusion import Fused
from app.search.rerank import HeuristicReranker, reranked


def score(query: str, text: str) -> float:
    (found,) = HeuristicReranker().scores(query, [text], 1.0)
    return found


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("paper tray", "The paper tray is empty.", 1.0),  # whole, all words, early
        ("paper tray", "The tray has no paper.", 0.4),
        ("paper tray", "Papers and trays.", 0.0),  # no whole words
        ("paper tray", "x" * 100 + " paper tray", 0.8),  # whole, all words, late
        ("paper tray", "A tray.", 0.2),
        ("paper paper tray", "A tray.", 0.2),  # distinct words
        ("per tra", "paper tray: per tray", 0.4 + 0.2 + 0.2),  # inside others, and one of two as a word
        ("PAPER  Tray", "the paper\ntray", 1.0),
        ("", "text", 0.0),
        ("paper", "", 0.0),
        ("  ", "text", 0.0),
        ("?!", "what?! no", 0.6),  # no words at all: whole and early
    ],
)
def test_the_heuristic(query: str, text: str, expected: float) -> None:
    assert score(query, text) == pytest.approx(expected)


def fused(*scores: float, first: frozenset[int] = frozenset()) -> list[Fused]:
    return [Fused(("e", place), value, place, None, place in first) for place, value in enumerate(scores, start=1)]


def ids(hits: list[Fused]) -> list[int]:
    return [hit.key[1] for hit in hits]


def test_the_blend_by_hand() -> None:
    found = reranked(fused(0.8, 0.6, 0.4), ["a", "b", "c"], [0.0, 0.5, 1.0], 0.6)
    # 0.8·0.4 + 0·0.8·0.6, 0.6·0.4 + 0.5·0.8·0.6, 0.4·0.4 + 1·0.8·0.6
    assert [(hit.key[1], hit.score) for hit in found] == [(3, 0.64), (2, 0.48), (1, 0.32)]


def test_hits_behind_the_best_keep_their_score_and_may_come_before_them() -> None:
    found = reranked(fused(0.8, 0.6, 0.5, 0.1), ["a", "b"], [1.0, 0.0], 0.6)
    assert [(hit.key[1], hit.score) for hit in found] == [(1, 0.8), (3, 0.5), (2, 0.24), (4, 0.1)]


def test_no_blend_changes_nothing_and_a_whole_one_takes_the_scores() -> None:
    hits = fused(0.8, 0.6, 0.4)
    assert reranked(hits, ["a"] * 3, [0.1, 0.9, 0.5], 0.0) == hits
    assert ids(reranked(hits, ["a"] * 3, [0.1, 0.9, 0.5], 1.0)) == [2, 3, 1]


def test_all_scores_of_zero_are_blended_as_if_the_highest_were_one() -> None:
    assert [hit.score for hit in reranked(fused(0.0, 0.0), ["a", "b"], [0.5, 1.0], 0.6)] == [0.6, 0.3]


def test_hits_with_an_identifier_stay_first() -> None:
    found = reranked(fused(0.8, 0.6, 0.4, first=frozenset({2})), ["a"] * 3, [1.0, 0.0, 0.9], 0.6)
    assert ids(found)[0] == 2


def test_ties_stand_by_key() -> None:
    assert ids(reranked(fused(0.5, 0.5, 0.5), ["a"] * 3, [0.5] * 3, 0.6)) == [1, 2, 3]


@pytest.mark.parametrize(
    ("texts", "scores"),
    [
        (["a", "b"], [0.5]),
        (["a", "b"], [0.5, 0.5, 0.5]),
        (["a", "b", "c"], [0.5] * 3),
        (["a", "b"], [0.5, math.nan]),
        (["a", "b"], [0.5, math.inf]),
        (["a", "b"], [0.5, 1.5]),
        (["a", "b"], [0.5, -0.1]),
        (["", " \n"], [0.5, 0.5]),
        ([], []),
    ],
)
def test_odd_scores_and_no_texts_are_refused(texts: list[str], scores: list[float]) -> None:
    with pytest.raises(Unavailable):
        reranked(fused(0.8, 0.6), texts, scores, 0.6)
