"""How a collection is asked by the benchmark of documentation: the ways, and what each is worth question by question.

``passages`` is the store alone, through the suite's own door. ``answers`` is what people are answered from: words and
meaning, a passage a page. ``words`` is the same without meaning. The last two are asked without the threshold of *not
documented*, which no public figure has; what it would have held back is counted beside them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from app.container import Container
from app.core.contracts.actor import SYSTEM
from app.core.contracts.vectors import VectorSearch
from app.documentation.retrieval import THRESHOLD, Asked, Retrieval
from app.documentation.suite_runs import Retriever, SuiteAsk, run_suite, short
from app.documentation.suites import CaseResult, Chunk
from evaluations.bench.docs_sets import DocsSet, sources, suite_of
from evaluations.bench.quality_metrics import difference, ndcg, reciprocal_rank
from evaluations.bench.quality_sets import RetrievalSet

K, MOST = 100, 10
"""Passages asked for: ten documents are among a hundred also where pages are long; answers rest on ten at most."""
SECONDS = 60.0


@dataclass(frozen=True)
class Scored:
    """The four figures of a judged question."""

    ndcg: float
    rr: float
    recall10: float
    success1: float


@dataclass
class Found:
    """A way's figures by judged question; for answers the quality of every question, judged or not."""

    judged: Mapping[str, Scored]
    qualities: Mapping[str, float] = field(default_factory=dict)

    def mean(self, name: str) -> float:
        return float(np.mean([getattr(one, name) for one in self.judged.values()]))

    def over(self, other: Found) -> tuple[float, float, float]:
        """Mean difference of nDCG@10 by question, and its 95 % interval."""
        names = list(self.judged)
        return difference(*(np.array([found.judged[name].ndcg for name in names]) for found in (self, other)))

    @property
    def answered(self) -> float:
        """The share of the judged questions that are good enough to be answered."""
        return float(np.mean([self.qualities[name] >= THRESHOLD for name in self.judged]))

    @property
    def abstained(self) -> float | None:
        """The share of the others that are not; None where the set has none."""
        others = [quality < THRESHOLD for name, quality in self.qualities.items() if name not in self.judged]
        return float(np.mean(others)) if others else None


def together(parts: Sequence[Found]) -> Found:
    """Several collections' questions as those of one set."""
    found = Found({}, {})
    for n, one in enumerate(parts):
        found.judged = {**found.judged, **{f"{n}:{name}": scored for name, scored in one.judged.items()}}
        found.qualities = {**found.qualities, **{f"{n}:{name}": quality for name, quality in one.qualities.items()}}
    return found


class _Answers:
    """A suite's retriever that keeps the quality of each answer and shows also what is not good enough."""

    def __init__(self, retrieval: Retrieval, vectors: VectorSearch, by_words: bool) -> None:
        self._retrieval = retrieval
        self._vectors = vectors
        self._by_words = by_words
        self.quality: dict[str, float] = {}

    def chunks(self, asked: SuiteAsk, query: str, locale: str) -> Sequence[Chunk]:
        """Raises RuntimeError where one of the legs was left out: such a run would be of two kinds."""
        if not self._by_words:
            self._vectors.query_vector(query, SECONDS)  # with patience; a person's question has 1.2 seconds
        found = self._retrieval.retrieve(
            SYSTEM, Asked(query, asked.collection, locale, asked.k, by_words=self._by_words)
        )
        if found.degraded and not self._by_words:
            raise RuntimeError(f"answered by words alone: {found.degraded}")
        self.quality[query] = found.quality
        return [Chunk(short(one.source, asked.collection), one.text, one.score or 0.0) for one in found.passages]


def asked_all_ways(parts: Container, wanted: DocsSet, retrieval: RetrievalSet) -> Iterator[tuple[str, Found]]:
    """Every way with what it found."""
    assert parts.evaluations is not None
    assert parts.answering is not None
    assert parts.vectors is not None
    suite = parts.evaluations.read(wanted.name, json.dumps(suite_of(retrieval, wanted)))
    store = parts.evaluations.asked(wanted.name, K, 0.0, wanted.locale, "passages")
    yield "passages", Found(_judged(retrieval, wanted, parts.evaluations.suite(suite, store).results))
    people = parts.evaluations.asked(wanted.name, MOST, 0.0, wanted.locale, "answers")
    for way, by_words in (("answers", False), ("words", True)):
        retriever: Retriever = (answers := _Answers(parts.answering.retrieval, parts.vectors, by_words))
        report = run_suite(suite, people, retriever, None)
        qualities = {one.case.id: answers.quality[one.case.query] for one in report.results}
        yield way, Found(_judged(retrieval, wanted, report.results), qualities)


def _judged(retrieval: RetrievalSet, wanted: DocsSet, results: Sequence[CaseResult]) -> dict[str, Scored]:
    """Documents in the order of their best passage, beside the judgements."""
    ids = {source: key for key, source in sources(retrieval, wanted).items()}
    rankings = {one.case.id: [ids[chunk.source] for chunk in one.chunks] for one in results}
    return {
        name: _scored(list(dict.fromkeys(rankings.get(name, ()))), judged)
        for name, judged in retrieval.judgements.items()
        if any(grade > 0 for grade in judged.values())
    }


def _scored(ranking: Sequence[str], judged: Mapping[str, int]) -> Scored:
    relevant = {key for key, grade in judged.items() if grade > 0}
    recall = len(relevant & set(ranking[:10])) / len(relevant)
    first = float(bool(ranking) and ranking[0] in relevant)
    return Scored(ndcg(ranking, judged), reciprocal_rank(ranking, judged), recall, first)
