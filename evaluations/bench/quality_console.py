"""A console with one corpus: records and documents by the product's writers, vectors by its consumers, its search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg
from pydantic import SecretStr
from sqlalchemy import select

from app.cms.entities import NAME
from app.cms.models import Content
from app.container import Container, build_container
from app.core.config import Config
from app.core.contracts.actor import SYSTEM
from app.core.contracts.documents import Document
from app.core.contracts.rerank import Reranker
from app.core.contracts.strategy import Cost, Mode, SearchStrategy, SearchStrategyResolver
from app.core.crud.bulk import Given
from app.core.settings.schema import RERANKER, SEARCH_ENGINE
from app.core.unit import Unit
from app.search.answer import SIZE_LIMIT, SearchMeta, SearchRequest
from app.search.finding import Outcome
from app.search.meta import meta_of
from evaluations.bench.laboratory import plain
from evaluations.bench.quality_sets import RetrievalSet, Text
from evaluations.bench.vector_cache import MODEL
from tests.fakes.queue import RecordingQueue
from tests.fixtures.databases import migrate
from tests.fixtures.servers import create_database

PART = 250
NO_TITLE = "—"
"""A record has a title; a set of texts alone gets this one, and its documents none."""
ENDLESS = 30_000
"""Milliseconds: quality is measured here, and a busy machine must not cut an answer short."""
ABREAST = 4
"""Questions at a time: the database works on some while others are being marked."""


@dataclass
class Asked:
    """A system's rankings by question, those of its vector leg alone, and why answers were less than asked for."""

    rankings: dict[str, list[str]] = field(default_factory=dict)
    nearest: dict[str, list[str]] = field(default_factory=dict)
    degraded: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Order:
    """What one search found, best first, before a page is made of it; ``nearest`` is its vector leg's own order."""

    hits: tuple[int, ...]
    nearest: tuple[int, ...]
    meta: SearchMeta


class Stocked:
    """A console whose contents are the documents of a set."""

    def __init__(self, parts: Container) -> None:
        self.parts = parts
        with parts.units() as unit:
            rows = unit.session.execute(select(Content.id, Content.key))
            self.names: dict[int, str] = {one: str(key) for one, key in rows}

    def setting(self, name: str, value: object) -> None:
        """Write one setting, as the program does."""
        with self.parts.units() as unit:
            self.parts.settings.write_system(unit, name, value)

    def answers(self, questions: Sequence[Text], cost: Cost, *, own_language: bool) -> Asked:
        """What search finds for each question, in process."""
        asked = Asked()
        with ThreadPoolExecutor(ABREAST) as pool:
            orders = list(pool.map(lambda question: self._search(question, cost, own_language), questions))
        for question, found in zip(questions, orders, strict=True):
            asked.rankings[question.id] = [self.names[one] for one in found.hits]
            asked.nearest[question.id] = [self.names[one] for one in found.nearest]
            if reason := found.meta.degraded_reason or found.meta.vector_disabled:
                asked.degraded[reason] += 1
        return asked

    def quality(self, question: Text, *, own_language: bool) -> float:
        """How good search says that its balanced answer is."""
        return self._search(question, "balanced", own_language).meta.quality or 0.0

    def _search(self, question: Text, cost: Cost, own_language: bool) -> Order:
        """As the front door searches, without the page: a hundred snippets take longer than what is measured."""
        search = self.parts.search
        locale = question.locale if own_language else None
        request = SearchRequest(q=question.text, entities=(NAME,), cost=cost, size=SIZE_LIMIT, locale=locale)
        return search._finder.find(search._work(SYSTEM, request), _order)


def _order(session: Any, found: Outcome) -> Order:
    ran = found.ran
    return Order(
        tuple(one.key[1] for one in ran.fused[:SIZE_LIMIT]),
        tuple(hit.record_id for hit in ran.leg.passages[:SIZE_LIMIT]),
        meta_of(found.work, found.run, ran, found.retries, 0, None),
    )


@contextmanager
def stocked(
    admin: str, name: str, retrieval: RetrievalSet, embeddings: str | None, redis: str, **more: object
) -> Iterator[Stocked]:
    """A database of its own with the set's documents, embedded where there is a server; ``more`` are fields of the
    configuration."""
    url = create_database(admin, name)
    migrate(url)
    config = Config.model_validate(
        {
            "database_url": url,
            "redis_url": redis,
            "secret_key": SecretStr("a secret key of the benchmark only"),
            "changeover_env": "test",
            "ai_embeddings_url": embeddings,
            "ai_embeddings_timeout": 600.0,
            "ai_embeddings_initial": f"openai_compatible:{MODEL}",
            **more,
        }
    )
    parts = build_container(config, queue=RecordingQueue())
    try:
        write(parts, retrieval)
        if embeddings is not None:
            embed(parts)
        settled(url)
        endless(parts)
        yield Stocked(parts)
    finally:
        parts.engine.dispose()


def write(parts: Container, retrieval: RetrievalSet) -> None:
    """Records as an import writes them. Where the set is texts alone, their documents lose the title again."""
    seen: set[int] = set()
    for start in range(0, len(retrieval.documents), PART):
        part = retrieval.documents[start : start + PART]
        with parts.units() as unit:
            outcome = parts.bulk.load(
                unit, SYSTEM, NAME, [Given(start + n, _values(one)) for n, one in enumerate(part)], seen
            )
            if outcome.refused:
                raise RuntimeError(f"{outcome.refused[0].error}")
            if not retrieval.kind.titles:
                _without_titles(parts, unit, part)


def _values(one: Text) -> dict[str, Any]:
    return {
        "key": one.id,
        "category": "benchmark",
        "status": "published",
        "translations": {one.locale: {"title": one.title or NO_TITLE, "body": one.text}},
    }


def _without_titles(parts: Container, unit: Unit, texts: Sequence[Text]) -> None:
    keys = [one.id for one in texts]
    ids = {key: one for one, key in unit.session.execute(select(Content.id, Content.key).where(Content.key.in_(keys)))}
    items = {ids[one.id]: [Document(NAME, ids[one.id], one.locale, "", one.text, 1)] for one in texts}
    parts.outbox.put_many(unit, NAME, items)


def embed(parts: Container) -> None:
    """The first model, the vectors of all documents, and their index."""
    assert parts.ai is not None
    parts.ai.upkeep.set_up()
    while parts.ai.consumers.apply("serving"):
        pass
    parts.ai.upkeep.repair()
    parts.ai.upkeep.build_missing_indexes()


def settled(url: str) -> None:
    """The statistics that a database has once it is in use."""
    with psycopg.connect(plain(url), autocommit=True) as connection:
        connection.execute("vacuum (analyze)")


def endless(parts: Container) -> None:
    """Every time limit of a search as long as a setting may be."""
    with parts.units() as unit:
        for name in parts.settings.definitions:
            if name.startswith("search.budget"):
                parts.settings.write_system(unit, name, ENDLESS)


@contextmanager
def elasticsearch_chosen(stock: Stocked) -> Iterator[None]:
    """The same console on Elasticsearch, with its indexes built."""
    parts = stock.parts
    assert parts.elasticsearch is not None
    parts.elasticsearch.reindex(lambda entity, done, total: None)
    stock.setting(SEARCH_ENGINE, "elasticsearch")
    try:
        yield
    finally:
        stock.setting(SEARCH_ENGINE, "postgres")


Ask = Callable[[Sequence[Text], bool], Asked]


def search_at(stock: Stocked, cost: Cost) -> Ask:
    """A whole search at a cost."""
    return lambda questions, own_language: stock.answers(questions, cost, own_language=own_language)


def reranked(stock: Stocked, reranker: Reranker | None) -> Ask:
    """A balanced search and a second look at its best hits: by ``reranker``, or by the heuristic.

    Balanced searches have no cross-encoder of their own, so it is put into their strategy here.
    """

    def ask(questions: Sequence[Text], own_language: bool) -> Asked:
        search, resolver = stock.parts.search, stock.parts.search._resolver
        search._resolver = _Reranking(resolver, reranker)
        try:
            with settings_for(stock, {RERANKER: True}):
                return stock.answers(questions, "balanced", own_language=own_language)
        finally:
            search._resolver = resolver

    return ask


class _Reranking:
    """A resolver whose strategies have this reranker."""

    def __init__(self, inner: SearchStrategyResolver, reranker: Reranker | None) -> None:
        self._inner = inner
        self._reranker = reranker

    def resolve(self, mode: Mode, cost: Cost) -> SearchStrategy:
        return replace(self._inner.resolve(mode, cost), reranker=self._reranker)


@contextmanager
def settings_for(stock: Stocked, settings: Mapping[str, object]) -> Iterator[None]:
    """Settings for a while; then what they were."""
    parts = stock.parts
    with parts.units() as unit:
        before = {name: parts.settings.value(unit, name) for name in settings}
    for name, value in settings.items():
        stock.setting(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            stock.setting(name, old)


def database_name(corpus: tuple[str, bool]) -> str:
    """A name for the database of a corpus."""
    return f"quality_{corpus[0].replace('-', '_')}_{'titled' if corpus[1] else 'texts'}"
