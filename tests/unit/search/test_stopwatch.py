"""Budgets and timings, on a clock that stands still until it is moved."""

from __future__ import annotations

import pytest
import structlog

from app.search.budget import LEAST, Budget
from app.search.stopwatch import Stopwatch
from tests.fakes.clock import FakeClock


def test_a_budget_began_with_the_search() -> None:
    clock = FakeClock()
    budget = Budget(clock, 1000, clock.monotonic())
    clock.advance(0.25)
    assert (budget.left(), budget.left(0.5)) == (pytest.approx(0.75), pytest.approx(0.25))
    clock.advance(0.5)
    assert (budget.left(0.5), budget.spent(0.5), budget.spent()) == (LEAST, True, False)


def test_what_did_not_run_is_null_and_what_ran_twice_has_both() -> None:
    clock = FakeClock()
    watch = Stopwatch(clock, clock.monotonic())
    for seconds in (0.25, 0.5):
        with watch.stage("vector"):
            clock.advance(seconds)
    clock.advance(1)
    assert watch.as_json() == {
        "intent_ms": None,
        "plan_ms": None,
        "vector_ms": 750.0,
        "ensemble_ms": None,
        "total_ms": 1750.0,
    }


@pytest.mark.parametrize("told", [True, False])
def test_a_stage_that_fails_is_raised_and_logged_where_that_is_on(told: bool) -> None:
    watch = Stopwatch(FakeClock(), 0.0)
    watch.told = told
    with structlog.testing.capture_logs() as logs, pytest.raises(KeyError), watch.stage("plan"):
        raise KeyError("secret question")
    assert [(line["event"], line["failed_stage"]) for line in logs] == [("search.stage_failed", "plan")] * told
    assert "secret" not in str(logs)
