"""One order of two legs."""

from __future__ import annotations

import pytest

from app.search.fusion import Extras, Scored, fuse


def leg(*scores: float, entity: str = "a.a") -> list[Scored]:
    return [((entity, number), score, False) for number, score in enumerate(scores, start=1)]


def test_weights_share_the_normalised_scores() -> None:
    words = [(("a.a", 1), 10.0, False), (("a.a", 2), 0.0, False)]
    vectors = [(("a.a", 2), 0.9, False), (("a.a", 3), 0.5, False)]
    fused = fuse(words, vectors, 0.4)
    assert [(one.key[1], one.score) for one in fused] == [(2, 0.6), (1, 0.4), (3, 0.0)]
    assert [(one.words_rank, one.vector_rank) for one in fused] == [(2, 1), (1, None), (None, 2)]


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_a_leg_alone_has_the_whole_weight(weight: float) -> None:
    assert [one.score for one in fuse(leg(3.0, 1.0), [], weight)] == [1.0, 0.0]
    assert [one.score for one in fuse([], leg(0.8, 0.2), weight)] == [1.0, 0.0]
    assert fuse([], [], weight) == []


def test_equal_scores_say_one_and_ties_break_by_entity_and_id() -> None:
    words = [(("b.b", 1), 2.0, False), (("a.a", 9), 2.0, False), (("a.a", 2), 2.0, False)]
    fused = fuse(words, [], 0.5)
    assert [one.key for one in fused] == [("a.a", 2), ("a.a", 9), ("b.b", 1)]
    assert {one.score for one in fused} == {1.0}


def test_an_identifier_comes_before_everything() -> None:
    words = [(("a.a", 7), 1.0, True), (("a.a", 1), 9.0, False)]
    assert fuse(words, leg(0.9, 0.8), 0.1)[0].key == ("a.a", 7)


def test_a_plan_may_add_for_ranks_and_for_agreement() -> None:
    words, vectors = [(("e", 1), 2.0, False), (("e", 2), 1.0, False)], [(("e", 2), 0.9, False), (("e", 3), 0.1, False)]
    plain = {one.key: one.score for one in fuse(words, vectors, 0.5)}
    more = {one.key: one.score for one in fuse(words, vectors, 0.5, Extras(60, 0.25, 0.15))}
    assert more[("e", 1)] == pytest.approx(plain[("e", 1)] + 0.25 / 61, abs=1e-6)
    assert more[("e", 2)] == pytest.approx(plain[("e", 2)] + 0.25 * (1 / 62 + 1 / 61) + 0.15, abs=1e-6)
    assert fuse(words, vectors, 0.5, Extras()) == fuse(words, vectors, 0.5)
