"""Asks every question of a suite and says how it went (seed 002): what was measured, what fails a build, what changed.

Two retrievals can be measured. ``passages`` is the store alone: the ``k`` nearest passages of a collection, those below
``min_score`` dropped after the cut. ``answers`` is what people get: words and meaning, at most one passage of a page,
nothing where the answer would be *not documented*.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from app.core.contracts.actor import Actor
from app.core.contracts.vectors import ServingChanged, VectorSearch
from app.core.errors import Invalid, Unavailable
from app.core.unit import Units
from app.documentation import collections
from app.documentation.audience import Reach
from app.documentation.gates import DIGITS, FLOORS, TOLERANCES, Baseline, Change, breaches, compared
from app.documentation.ports import Passages
from app.documentation.retrieval import MOST as MOST_ANSWERED
from app.documentation.retrieval import Asked, Retrieval
from app.documentation.runs.records import RunRecord, suite_results
from app.documentation.suites import CaseResult, Chunk, Suite, SuiteCase, counts, scores

USUAL_K, MOST_K = 5, 100
EMBED_SECONDS = 10.0

PASSING = ("embedder_unavailable", "serving_changed")
"""Reasons for words alone that may be gone with the next question: such a run would be of two kinds."""

RetrievalName = Literal["passages", "answers"]


@dataclass(frozen=True)
class SuiteAsk:
    """How a suite is asked. ``locale`` is for cases that name none; ``min_score`` 0.0 drops nothing."""

    collection: str
    k: int = USUAL_K
    min_score: float = 0.0
    locale: str = "en"
    retrieval: RetrievalName = "passages"


class Retriever(Protocol):
    """Gives the passages for one question, best first."""

    def chunks(self, asked: SuiteAsk, query: str, locale: str) -> Sequence[Chunk]:
        """At most ``asked.k`` of them. Raises :class:`Unavailable` when nothing can be measured now."""
        ...


class PassageRetriever:
    """The nearest passages of one store, seen with every permission: the store is measured, not somebody's view."""

    def __init__(self, units: Units, store: Passages, vectors: VectorSearch | None) -> None:
        self._units = units
        self._store = store
        self._vectors = vectors

    def chunks(self, asked: SuiteAsk, query: str, locale: str) -> Sequence[Chunk]:
        vectors, reach = self._ready(), self._reach(asked.collection, locale)
        for _ in range(3):
            vector = vectors.query_vector(query, EMBED_SECONDS)
            try:
                with self._units("REPEATABLE READ") as unit:
                    found = self._store.nearest(unit, vector, reach, None, asked.k)
            except ServingChanged:
                continue
            return [
                Chunk(short(one.key.source, asked.collection), one.passage.text, one.similarity)
                for one in found
                if one.similarity >= asked.min_score
            ]
        raise Unavailable("evaluation.no_vectors", reason="serving_changed")

    def _reach(self, collection: str, locale: str) -> Reach:
        with self._units() as unit:
            found = collections.find(unit, collection)
        return Reach(collection, locale, permissions=None, audience=found.audience)

    def _ready(self) -> VectorSearch:
        if self._vectors is None:
            raise Unavailable("evaluation.no_vectors", reason="mode_unavailable")
        with self._units() as unit:
            reason = self._vectors.guard(unit.session).reason
        if reason:
            raise Unavailable("evaluation.no_vectors", reason=reason)
        return self._vectors


class AnswerRetriever:
    """What an administrator's question to the collection gives."""

    def __init__(self, retrieval: Retrieval, actor: Actor, vectors: VectorSearch | None) -> None:
        self._retrieval = retrieval
        self._actor = actor
        self._vectors = vectors

    def _warm(self, query: str) -> None:
        """Have the question's vector made with patience: a person would not wait, and words would answer alone."""
        if self._vectors is not None:
            with contextlib.suppress(Unavailable):
                self._vectors.query_vector(query, EMBED_SECONDS)

    def chunks(self, asked: SuiteAsk, query: str, locale: str) -> Sequence[Chunk]:
        self._warm(query)
        found = self._retrieval.retrieve(self._actor, Asked(query, asked.collection, locale, asked.k))
        if found.degraded in PASSING:
            raise Unavailable("evaluation.no_vectors", reason=found.degraded)
        if not found.confident:
            return []
        chunks = [
            Chunk(short(one.source, asked.collection), one.text, _score(one.similarity, one.score))
            for one in found.passages
        ]
        return [chunk for chunk in chunks if chunk.score >= asked.min_score]


def short(source: str, collection: str) -> str:
    """A source as a suite names it: without the name of its collection, so that a suite fits any collection."""
    return source.removeprefix(f"{collection}/")


def _score(similarity: float | None, score: float | None) -> float:
    return similarity if similarity is not None else score or 0.0


@dataclass(frozen=True)
class SuiteReport:
    """What came of a suite. ``metrics`` are unrounded; ``changes`` are against ``baseline`` where there is one."""

    suite: Suite
    asked: SuiteAsk
    model: str | None
    results: Sequence[CaseResult]
    metrics: Mapping[str, float]
    floors: Mapping[str, float]
    breaches: Sequence[str]
    commit: str | None = None
    baseline: Baseline | None = None
    changes: Sequence[Change] = ()
    warnings: Sequence[str] = field(default=())

    @property
    def failed(self) -> list[CaseResult]:
        """Cases with violations that are not known to be red."""
        return [one for one in self.results if not one.passed and not one.case.expect_fail]

    @property
    def mended(self) -> list[CaseResult]:
        """Cases that are said to be red and are not."""
        return [one for one in self.results if one.passed and one.case.expect_fail]

    @property
    def counted(self) -> list[CaseResult]:
        return [one for one in self.results if not one.case.expect_fail]

    @property
    def answerable(self) -> int:
        """How many cases the means are over."""
        return sum(1 for one in self.counted if not one.case.expect_no_answer)

    @property
    def regressions(self) -> list[Change]:
        return [change for change in self.changes if change.dropped]

    @property
    def red(self) -> bool:
        """Whether a build fails."""
        return bool(self.breaches or self.regressions)

    def as_json(self) -> dict[str, object]:
        """The report of a run, without times. The first seven keys are those of the seed, and all that a baseline
        needs."""
        shown: dict[str, object] = {
            "suite": self.suite.name,
            "k": self.asked.k,
            "embedding_model": self.model,
            "total_cases": len(self.results),
            "passed": sum(1 for one in self.counted if one.passed),
            "metrics": {name: round(value, DIGITS) for name, value in self.metrics.items()},
            "failures": [_failure(one) for one in self.failed],
            "collection": self.asked.collection,
            "retrieval": self.asked.retrieval,
            "min_score": self.asked.min_score,
            "answerable_cases": self.answerable,
            "known_red": [one.case.id for one in self.results if one.case.expect_fail],
            "turned_green": [one.case.id for one in self.mended],
            "floors": dict(self.floors),
            "breaches": list(self.breaches),
            "git_sha": self.commit,
        }
        if self.baseline is not None:
            shown["baseline"] = [
                {
                    "metric": one.metric,
                    "before": one.before,
                    "now": one.now,
                    "delta": one.delta,
                    "regressed": one.dropped,
                }
                for one in self.changes
            ]
        return shown

    def warned(self, sentence: str) -> SuiteReport:
        """The same report with one more warning."""
        return replace(self, warnings=(*self.warnings, sentence))

    def record(self) -> RunRecord:
        """What the history keeps of it."""
        return RunRecord(
            kind="suite",
            suite=self.suite.name,
            collection=self.asked.collection,
            model=self.model,
            retrieval=self.asked.retrieval,
            k=self.asked.k,
            metrics={name: round(value, DIGITS) for name, value in self.metrics.items()},
            results=suite_results(self.results),
            floors=dict(self.floors),
            breaches=list(self.breaches),
            settings={"min_score": self.asked.min_score, "locale": self.asked.locale},
            counts=counts(self.results),
        )


def run_suite(
    suite: Suite,
    asked: SuiteAsk,
    retriever: Retriever,
    model: str | None,
    floors: Mapping[str, float] = FLOORS,
    commit: str | None = None,
) -> SuiteReport:
    """Ask every case. Raises :class:`Invalid` for a ``k`` out of range and :class:`Unavailable`."""
    most = MOST_ANSWERED if asked.retrieval == "answers" else MOST_K
    if not 1 <= asked.k <= most:
        raise Invalid("input.range", path="k", least=1, most=most)
    results = [
        CaseResult(case, tuple(retriever.chunks(asked, case.query, _locale(asked, case)))) for case in suite.cases
    ]
    found = scores(results)
    return SuiteReport(suite, asked, model, results, found, dict(floors), breaches(found, floors), commit)


def against(report: SuiteReport, baseline: Baseline, tolerances: Mapping[str, float] = TOLERANCES) -> SuiteReport:
    """The report beside a saved run; what makes the two hard to compare is said and fails nothing."""
    warnings = []
    if baseline.model != report.model:
        warnings.append(
            f"the baseline was made with {baseline.model or 'no model'}, this run with {report.model or 'no model'}"
        )
    if baseline.suite != report.suite.name:
        warnings.append(f"the baseline is of the suite {baseline.suite}")
    if baseline.k != report.asked.k:
        warnings.append(f"the baseline was made at k={baseline.k}")
    changes = compared(report.metrics, baseline.metrics, tolerances)
    return replace(report, baseline=baseline, changes=changes, warnings=(*report.warnings, *warnings))


def _locale(asked: SuiteAsk, case: SuiteCase) -> str:
    return case.locale or asked.locale


def _failure(one: CaseResult) -> dict[str, object]:
    return {
        "id": one.case.id,
        "query": one.case.query,
        "reasons": [broken.sentence for broken in one.violations],
        "retrieved": [{"source": chunk.source, "score": round(chunk.score, DIGITS)} for chunk in one.chunks],
    }
