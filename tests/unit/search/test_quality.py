"""Is an answer good enough, and is it looked for again?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.core.contracts.planning import Plan
from app.core.contracts.strategy import SearchStrategy
from app.core.contracts.vectors import Guard, PassageHit
from app.search.answer import SearchRequest
from app.search.budget import Budget
from app.search.engines.ports import KeywordHit, KeywordLeg
from app.search.explain import Ran
from app.search.fusion import fuse
from app.search.legs import VectorLeg
from app.search.matching import parse_question
from app.search.options import Options
from app.search.quality import judged, poor, quality, unmeasured
from app.search.reasons import Notes
from app.search.retries import allowed, better, differently, worth_another
from app.search.stopwatch import Stopwatch
from app.search.work import Reach, Run, Work
from tests.fakes.clock import FakeClock

MEASURED = (0.7, 0.2)


@pytest.mark.parametrize(
    ("coverage", "cosine", "expected"),
    [(1.0, 0.9, 1.0), (0.0, 0.7, 0.0), (0.5, 0.8, 0.5), (1.0, 0.1, 0.5), (0.0, 2.0, 0.5), (0.4, None, 0.4)],
)
def test_the_formula(coverage: float, cosine: float | None, expected: float) -> None:
    assert quality(coverage, cosine, *MEASURED) == pytest.approx(expected)


def test_a_model_that_nobody_measured_is_judged_by_words() -> None:
    assert quality(0.4, 0.99, 0.0, 0.0) == 0.4


@pytest.mark.parametrize(
    ("hits", "value", "expected"), [(4, 1.0, True), (5, 0.3, False), (5, 0.29, True), (200, 1.0, False)]
)
def test_a_poor_result(hits: int, value: float, expected: bool) -> None:
    assert poor(hits, value, 0.3) is expected


def ran(coverages: list[float | None], cosine: float | None = None, known: float = 1.0, **leg: Any) -> Ran:
    hits = [KeywordHit("e", n, "en", 9.0 - n, coverage=share) for n, share in enumerate(coverages)]
    passages = () if cosine is None else (PassageHit("e", 0, "en", cosine, 0, 1, True),)
    vectors = VectorLeg(passages, ran=cosine is not None, **leg)
    fused = fuse([(hit.key, hit.score, False) for hit in hits], [], 0.5)
    words = KeywordLeg(hits, len(hits), known)
    return Ran(parse_question("x"), {}, None, words, vectors, fused, 0.5)


def test_the_best_of_the_first_five_counts() -> None:
    assert judged(ran([0.1, 0.6, 0.2, 0.1, 0.3, 1.0]), None) == 0.6
    assert judged(ran([]), None) == 0.0
    later = ran([None, None, 0.2])
    assert [hit.record_id for hit in unmeasured(later)] == [0, 1]
    assert judged(replace(later, covered={("e", 1): 0.7}), None) == 0.7
    assert judged(ran([0.6], cosine=0.9), MEASURED) == pytest.approx(0.8)


def test_nothing_is_measured_where_one_of_the_first_has_all_of_the_question() -> None:
    assert unmeasured(ran([None, 1.0, None])) == []
    assert [hit.record_id for hit in unmeasured(ran([None, 1.0, None]), 10)] == [0, 2]  # it may not stay among them
    assert [hit.record_id for hit in unmeasured(ran([None, 0.2, 0.2, 0.2, 0.2, 1.0]))] == [0]


def work(retries: int = 2, strategy: SearchStrategy | None = None) -> Work:
    clock = FakeClock()
    return Work(
        actor=None,  # type: ignore[arg-type]
        request=SearchRequest("vpn", retries=retries),
        reach=Reach({}, {}, False),
        query=parse_question("vpn"),
        strategy=strategy or SearchStrategy("deep", object(), max_retries=2),  # type: ignore[arg-type]
        notes=Notes(),
        watch=Stopwatch(clock, 0.0),
        started=0.0,
    )


def run(plan: Plan | None = None, clock: FakeClock | None = None, **values: Any) -> Run:
    query = parse_question("vpn")
    made: dict[str, Any] = {"query": query, "wording": query.phrase, "options": Options(), **values}
    return Run(budget=Budget(clock or FakeClock(), 1000, 0.0), plan=plan or Plan(), **made)


@pytest.mark.parametrize(
    ("asked", "setting", "strategy", "plan", "expected"),
    [(9, 9, 9, 3, 3), (1, 9, 9, 3, 1), (9, 1, 9, 3, 1), (9, 9, 2, 3, 2), (9, 0, 9, 3, 0), (0, 2, 2, 2, 0)],
)
def test_retries_are_clamped_and_not_refused(asked: int, setting: int, strategy: int, plan: int, expected: int) -> None:
    made = work(asked, SearchStrategy("deep", None, max_retries=strategy))
    assert allowed(made, run(Plan(retries=plan), options=Options(max_retries=setting))) == expected


def test_a_plan_without_retries_has_none() -> None:
    assert allowed(work(), run(Plan(retry=False))) == 0


def test_when_another_look_is_worth_it() -> None:
    clock = FakeClock()
    poor_one, whole = ran([0.1]), run(clock=clock)
    assert worth_another(work(), whole, poor_one, 0)
    assert not worth_another(work(), whole, poor_one, 2)
    clock.advance(0.95)
    assert not worth_another(work(), whole, poor_one, 0)


def test_a_retry_takes_the_words_as_typed_and_both_legs() -> None:
    wide = run(Plan(shape="fulltext", words_weight=1, vector_weight=0), wording="virtual private network")
    again = differently(work(), wide, ran([0.1]))
    assert again is not None
    assert (again.wording, again.plan.shape, again.plan.words_weight) == ("vpn", "hybrid", 0.5)


def test_the_same_once_more_is_no_retry_but_after_a_failure_that_may_pass() -> None:
    assert differently(work(), run(), ran([0.1])) is None
    assert differently(work(), run(), ran([0.1], degraded="embedder_timeout")) is not None
    assert differently(work(), run(guard=Guard("suspended")), ran([0.1], degraded="vectors_unavailable")) is not None
    alone = run(Plan(shape="fulltext", words_weight=1, vector_weight=0), guard=Guard("suspended"))
    assert differently(work(), alone, ran([0.1], degraded="vectors_unavailable")) is None


def test_only_a_result_with_as_many_hits_replaces_another() -> None:
    few, many = replace(ran([0.9]), quality=0.9), replace(ran([0.1, 0.1]), quality=0.1)
    assert not better(few, many)
    assert not better(many, few)
    assert better(replace(many, quality=0.9), few)
    assert better(few, few)
