"""Floors, baselines and tolerances."""

from __future__ import annotations

import json

import pytest

from app.core.errors import Invalid
from app.documentation.gates import FLOORS, Baseline, assigned, breaches, compared, read_baseline

GOOD = {"pass_rate": 0.9, "recall_at_k": 0.8, "mrr": 0.6, "mean_top_score": 0.5}


def test_a_figure_at_its_floor_is_not_below_it() -> None:
    assert breaches(GOOD, FLOORS) == []
    assert breaches({**GOOD, "mrr": 0.59999}, FLOORS) == ["mrr"]  # unrounded


def test_a_run_has_not_regressed_against_itself() -> None:
    saved = {name: round(value, 4) for name, value in {**GOOD, "mrr": 2 / 3}.items()}
    changes = compared({**GOOD, "mrr": 2 / 3}, saved)
    assert [(one.metric, one.delta, one.dropped) for one in changes] == [
        ("pass_rate", 0.0, False),
        ("recall_at_k", 0.0, False),
        ("mrr", 0.0, False),
        ("mean_top_score", 0.0, False),
    ]


def test_each_metric_has_its_tolerance() -> None:
    worse = {"pass_rate": 0.8999, "recall_at_k": 0.9, "mrr": 0.6, "mean_top_score": 0.48}
    assert [one.metric for one in compared(worse, GOOD) if one.dropped] == ["pass_rate"]
    assert [one.metric for one in compared({**GOOD, "mean_top_score": 0.4799}, GOOD) if one.dropped] == [
        "mean_top_score"
    ]
    assert not any(one.dropped for one in compared(worse, GOOD, {"pass_rate": 0.001, "mean_top_score": 0.1}))


def test_a_saved_run_is_read_again() -> None:
    text = json.dumps({"suite": "s", "k": 5, "embedding_model": "m", "metrics": GOOD, "failures": []})
    assert read_baseline(text) == Baseline("s", 5, "m", GOOD)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"suite": "s", "k": 5, "metrics": {}}',
                                  '{"suite": "s", "k": 5, "metrics": {"mrr": 7}}'])  # fmt: skip
def test_what_is_no_saved_run_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_baseline(text)
    assert caught.value.code == "documentation.baseline"


def test_floors_can_be_said_otherwise() -> None:
    assert assigned(["mrr=0.7", "mean_top_score=0.2"], FLOORS) == {**FLOORS, "mrr": 0.7, "mean_top_score": 0.2}
    for wrong in ("mrr", "mrr=x", "mrr=1.5", "mrr=-1", "speed=1", "mrr=nan"):
        with pytest.raises(Invalid) as caught:
            assigned([wrong], FLOORS)
        assert caught.value.values["value"] == wrong
