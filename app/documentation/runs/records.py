"""What is kept of a run, and how two runs differ case by case. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from app.documentation.evaluating import Report
from app.documentation.evaluation import LOWER_IS_BETTER, Outcome, figures
from app.documentation.evaluation import METRICS as DATASET_METRICS
from app.documentation.evaluation import counts as dataset_counts
from app.documentation.gates import DIGITS
from app.documentation.runs.models import EvaluationResult, EvaluationRun
from app.documentation.runs.weights import noise
from app.documentation.suites import METRICS as SUITE_METRICS
from app.documentation.suites import CaseResult

State = Literal["broke", "mended", "moved", "same", "added", "removed"]
STATES: tuple[State, ...] = ("broke", "mended", "removed", "added", "moved", "same")
"""The order in which a comparison shows them."""


@dataclass(frozen=True)
class RunRecord:
    """A run that is to be kept; ``metrics`` are rounded to four digits, ``counts`` say over how many cases each is
    (`weights.py`)."""

    kind: Literal["suite", "dataset"]
    suite: str
    collection: str
    model: str | None
    retrieval: str
    k: int | None
    metrics: Mapping[str, float]
    results: Sequence[EvaluationResult]
    floors: Mapping[str, float] = field(default_factory=dict)
    breaches: Sequence[str] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    counts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class MetricChange:
    """One metric of two runs; None where a run has not got it. ``noise``: the largest difference that says nothing."""

    metric: str
    before: float | None
    now: float | None
    noise: float = 0.0

    @property
    def delta(self) -> float | None:
        if self.before is None or self.now is None:
            return None
        return round(self.now - self.before, DIGITS)

    @property
    def worse(self) -> bool:
        delta = self.delta or 0.0
        return delta > 0 if self.metric in LOWER_IS_BETTER else delta < 0

    @property
    def is_noise(self) -> bool:
        """Whether the difference is as small as what one case more or less makes."""
        return self.delta is not None and abs(self.delta) <= self.noise


@dataclass(frozen=True)
class CaseChange:
    """One case of two runs. ``moved``: passed or failed as before, and found something else or elsewhere."""

    state: State
    before: EvaluationResult | None
    now: EvaluationResult | None

    @property
    def any(self) -> EvaluationResult:
        found = self.now or self.before
        assert found is not None
        return found


@dataclass(frozen=True)
class RunDiff:
    """Two runs; ``cases`` is empty where they were not read.

    ``comparable`` is false when they asked another suite, another collection or more passages.
    """

    before: EvaluationRun
    now: EvaluationRun
    metrics: tuple[MetricChange, ...]
    cases: tuple[CaseChange, ...]

    @property
    def comparable(self) -> bool:
        def asked(run: EvaluationRun) -> tuple[object, ...]:
            return run.kind, run.suite, run.collection, run.k

        return asked(self.before) == asked(self.now)

    def count(self, state: State) -> int:
        return sum(1 for case in self.cases if case.state == state)


def beside(before: EvaluationRun, now: EvaluationRun) -> RunDiff:
    """Every metric of both, without their cases."""
    names = ordered({**before.metrics, **now.metrics})
    bands = noise(before, now)
    metrics = tuple(MetricChange(name, before.metrics.get(name), now.metrics.get(name), bands[name]) for name in names)
    return RunDiff(before, now, metrics, ())


def difference(before: EvaluationRun, now: EvaluationRun) -> RunDiff:
    """Every metric and every case of both; what broke comes first, then by the order of the suite."""
    old = {one.case_id: one for one in before.results}
    new = {one.case_id: one for one in now.results}
    cases = [_case(old.get(key), new.get(key)) for key in (*new, *(key for key in old if key not in new))]
    cases.sort(key=lambda change: (STATES.index(change.state), change.any.position))
    return replace(beside(before, now), cases=tuple(cases))


def ordered(metrics: Iterable[str]) -> list[str]:
    """Names of metrics in the order in which they are told; the database keeps none."""
    known = (*SUITE_METRICS, *DATASET_METRICS)
    return sorted(metrics, key=lambda name: (known.index(name) if name in known else len(known), name))


def _case(before: EvaluationResult | None, now: EvaluationResult | None) -> CaseChange:
    if before is None or now is None:
        return CaseChange("added" if before is None else "removed", before, now)
    if before.passed != now.passed:
        return CaseChange("mended" if now.passed else "broke", before, now)
    return CaseChange("same" if _sources(before) == _sources(now) else "moved", before, now)


def _sources(result: EvaluationResult) -> list[str]:
    return [str(one["source"]) for one in result.retrieved]


def suite_results(results: Sequence[CaseResult]) -> list[EvaluationResult]:
    """The rows of a suite's cases."""
    return [
        EvaluationResult(
            case_id=one.case.id,
            position=position,
            query=one.case.query,
            passed=one.passed,
            known_red=one.case.expect_fail,
            rank=one.rank,
            score=round(one.top_score, DIGITS) if one.chunks else None,
            expected=list(one.case.expected_sources),
            reasons=[{"kind": broken.kind, "value": broken.value} for broken in one.violations],
            retrieved=[{"source": chunk.source, "score": round(chunk.score, DIGITS)} for chunk in one.chunks],
        )
        for position, one in enumerate(results)
    ]


def dataset_record(name: str, report: Report, model: str | None, by_words: bool) -> RunRecord:
    """A run of the documentation's own datasets. ``pass_rate`` is added to its figures."""
    total = len(report.outcomes)
    passed = sum(1 for one in report.outcomes if one.passed)
    metrics = {"pass_rate": round(passed / total, DIGITS) if total else 0.0, **figures(report.outcomes)}
    return RunRecord(
        kind="dataset",
        suite=name,
        collection=report.dataset.corpus,
        model=None if by_words else model,
        retrieval="words" if by_words else "answers",
        k=None,
        metrics=metrics,
        results=[_dataset_result(position, one) for position, one in enumerate(report.outcomes)],
        floors=dict(report.dataset.floors),
        breaches=list(report.breaches),
        settings={"version": report.dataset.version, "strategies": list(report.strategies)},
        counts={"pass_rate": total, **dataset_counts(report.outcomes)},
    )


def _dataset_result(position: int, one: Outcome) -> EvaluationResult:
    wanted = set(one.case.expected_sources)
    rank = next((n for n, source in enumerate(one.sources, start=1) if source in wanted), None)
    return EvaluationResult(
        case_id=one.case.id,
        position=position,
        query=one.case.query,
        passed=one.passed,
        known_red=False,
        rank=rank,
        score=round(one.quality, DIGITS),
        expected=list(one.case.expected_sources),
        reasons=[] if one.passed else [_reason(one)],
        retrieved=[{"source": source, "score": None} for source in one.sources],
    )


def _reason(one: Outcome) -> dict[str, str]:
    """Why a case of a dataset did not come out as expected."""
    case = one.case
    if one.unavailable:
        return {"kind": "unavailable", "value": ""}
    if one.refused or case.expect_refusal:
        return {"kind": "refused" if one.refused else "refusal_expected", "value": ""}
    if case.expect_empty or (case.expect_abstention and one.confident):
        return {"kind": "no_answer_expected", "value": str(len(one.sources))}
    if not set(one.sources) & set(case.expected_sources):
        return {"kind": "missing_source", "value": ", ".join(case.expected_sources)}
    return {"kind": "not_confident", "value": f"{one.quality:.2f}"}
