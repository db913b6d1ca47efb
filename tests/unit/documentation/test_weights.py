"""What one case makes of each figure of a run, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from app.documentation.evaluation import Case, Outcome
from app.documentation.evaluation import counts as dataset_counts
from app.documentation.runs.models import EvaluationResult, EvaluationRun
from app.documentation.runs.records import beside
from app.documentation.runs.weights import cases_of, noise
from app.documentation.suites import CaseResult, SuiteCase, counts


def run(settings: dict[str, Any], kind: str = "suite", results: Sequence[EvaluationResult] = (),
        **metrics: float) -> EvaluationRun:  # fmt: skip
    return EvaluationRun(kind=kind, suite="s", collection="c", cases=19, metrics=metrics, settings=settings,
                         results=list(results))  # fmt: skip


def result(n: int, *, passed: bool = True, red: bool = False, expected: Sequence[str] = (),
           found: Sequence[str] = (), reason: str | None = None) -> EvaluationResult:  # fmt: skip
    return EvaluationResult(
        case_id=str(n), position=n, query="q", passed=passed, known_red=red, expected=list(expected),
        reasons=[{"kind": reason, "value": ""}] if reason else [],
        retrieved=[{"source": source, "score": 0.5} for source in found],
    )  # fmt: skip


def test_a_suite_counts_the_answerable_apart() -> None:
    cases = [SuiteCase(str(n), "q", ("a",)) for n in range(16)]
    cases += [SuiteCase(f"none{n}", "q", expect_no_answer=True) for n in range(3)]
    cases.append(SuiteCase("red", "q", ("a",), expect_fail=True))
    found = counts([CaseResult(case, ()) for case in cases])
    assert found == {"pass_rate": 19, "recall_at_k": 16, "mrr": 16, "mean_top_score": 16}


def test_one_case_of_the_answerable_is_noise_and_two_are_not() -> None:
    """16 of 19: one case is 1/16 = .0625 of the means, and 1/19 = .05263, rounded up, of the pass rate."""
    kept = {"metric_cases": {"pass_rate": 19, "recall_at_k": 16, "mrr": 16}}
    before = run(kept, pass_rate=1.0, recall_at_k=1.0, mrr=0.9375)
    now = run(kept, pass_rate=0.9474, recall_at_k=0.9375, mrr=0.8125)
    assert noise(before, now) == {"pass_rate": 0.0527, "recall_at_k": 0.0625, "mrr": 0.0625}
    assert {one.metric: one.is_noise for one in beside(before, now).metrics} == {
        "pass_rate": True, "recall_at_k": True, "mrr": False,
    }  # fmt: skip


def test_the_run_of_fewer_cases_decides_and_a_hundredth_is_the_least() -> None:
    many, few = run({"metric_cases": {"mrr": 400}}, mrr=0.5), run({"metric_cases": {"mrr": 3}}, mrr=0.5)
    assert noise(many, many) == {"mrr": 0.01}
    assert noise(many, few) == noise(few, many) == {"mrr": 0.3334}
    assert noise(run({"metric_cases": {"mrr": 0}}, mrr=0.0), many) == {"mrr": 1.0}


def test_a_dataset_counts_each_metric() -> None:
    cited = Case("a", "q", "en", expected_sources=("x",), expected_citations=("x",), expect_supported=True)
    outcomes = [
        Outcome(cited, ("x", "y", "z", "w", "v")), Outcome(cited, ("x",)), Outcome(cited, ("x", "y")),
        Outcome(Case("b", "q", "en", expected_sources=("x",)), ("x", "y", "z")),
        Outcome(Case("c", "q", "en", expect_empty=True)), Outcome(Case("d", "q", "en", expect_refusal=True)),
        Outcome(Case("e", "q", "en")), Outcome(Case("f", "q", "en")),
    ]  # fmt: skip
    assert dataset_counts(outcomes) == {
        "source_hit_at_k": 4, "mean_reciprocal_rank": 4, "ndcg_at_k": 4, "recall_at_k": 4,
        "citation_precision": 1.6,  # 8 sources, 5 of them of one case: it is 5/8 of the figure
        "authorized_empty_accuracy": 1, "supported_answer_rate": 3, "abstention_accuracy": 5, "refusal_accuracy": 1,
        "unavailable_rate": 8,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("one", "answerable"),
    [
        (result(0, expected=["a"]), 1),
        (result(0, found=["a"]), 1),
        (result(0, passed=False, reason="missing_text"), 1),
        (result(0, passed=False, found=["a"], reason="no_answer_expected"), 0),
        (result(0), 0),
        (result(0, expected=["a"], red=True), 0),
    ],
)
def test_an_old_run_of_a_suite_counts_what_is_surely_answerable(one: EvaluationResult, answerable: int) -> None:
    found = cases_of(run({"min_score": 0.0}, results=[one, result(1, expected=["a"])], mrr=1.0))
    assert (found["mrr"], found["pass_rate"]) == (answerable + 1, 1 if one.known_red else 2)


def test_an_old_run_of_a_dataset_has_no_change_where_its_cases_are_not_told() -> None:
    results = [result(n, expected=["a"] if n < 4 else []) for n in range(5)]
    old = run({"version": "1"}, "dataset", results, recall_at_k=1.0, unavailable_rate=0.0, refusal_accuracy=1.0)
    assert noise(old, old) == {"recall_at_k": 0.25, "unavailable_rate": 0.2, "refusal_accuracy": 1.0}
