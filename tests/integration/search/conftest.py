"""Documents with vectors that a test chooses, and a search over them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text

from app.container import Container
from app.core.clock import Clock
from app.core.contracts.actor import Actor
from app.core.contracts.chat import ChatModel
from app.core.contracts.documents import Document
from app.core.contracts.rerank import Reranker
from app.core.contracts.vectors import PassageHit, QueryVector, VectorSearch
from app.core.unit import Units
from app.embeddings.profiles import Profile
from app.embeddings.query import VectorQueries
from app.search.answer import COSTS
from app.search.engines.schema import RowFilters
from app.search.intent import ModelIntent
from app.search.options import Options
from app.search.plan import ModelPlanner
from app.search.service import Search
from app.search.work import Defaults
from tests.fakes.clock import FakeClock

CONTENTS = "cms.contents"
DIMENSIONS = 4
PROFILE = Profile("openai_compatible:m", "openai_compatible", "m", "m", "", DIMENSIONS, query_prefix="query: ")


class FakeServers:
    """Stands where `ModelServers` does: gives the vector that the test wrote down, or fails."""

    def __init__(self) -> None:
        self.vector: Sequence[float] = (1, 0, 0, 0)
        self.failure: Exception | None = None
        self.asked: list[tuple[str, str, float | None]] = []
        self.profiles: list[Profile] = []

    def client(self, profile: Profile) -> FakeServers:
        self.profiles.append(profile)
        return self

    def embed(self, texts: Sequence[str], kind: str, timeout: float | None = None) -> Any:
        self.asked.append((texts[0], kind, timeout))
        if self.failure:
            raise self.failure
        return type("Embedded", (), {"vectors": np.array([self.vector], dtype=np.float32)})()


@dataclass
class StageParts:
    """What a search of the stage is given beside vectors: language models for intent and plan, and all the rest."""

    intent: ChatModel | None = None
    planner: ChatModel | None = None
    reranker: Reranker | None = None
    engine: Any = None
    clock: Clock = field(default_factory=FakeClock)
    deep_allowed: Callable[[Actor, int], bool] = lambda actor, limit: True
    calibration: tuple[float, float] | None = None


class Stage:
    """A serving space and documents with vectors in it; ``space``: that which serves already."""

    def __init__(self, container: Container, space: int | None = None) -> None:
        self.container = container
        self.units: Units = container.units
        self.servers = FakeServers()
        self.enabled = True
        self.filters = RowFilters(container.registry)
        self.vectors = VectorQueries(self.units, self.servers, self.filters, lambda session: self.enabled)  # type: ignore[arg-type]
        if space is not None:
            self.space = space
            return
        self.space = self.add_space("openai_compatible:m")
        self.execute(
            """insert into serving (id, space_id, model_key, dimensions, similarity)
            values (1, :space, :key, 4, 'cosine')""",
            space=self.space,
            key=PROFILE.key,
        )

    def execute(self, sql: str, **values: object) -> Any:
        with self.units() as unit:
            result = unit.session.execute(text(sql), values)
            return result.scalar() if result.returns_rows else None

    def add_space(self, key: str) -> int:
        sql = """insert into vector_spaces
            (model_key, fingerprint, dimensions, similarity, declaration, server_identity)
            values (:key, gen_random_uuid(), 4, 'cosine', cast(:declaration as jsonb), 'x') returning id"""
        return int(self.execute(sql, key=key, declaration=json.dumps(PROFILE.declaration())))

    def put(self, record: int, *vectors: Sequence[float], entity: str = CONTENTS, **locales: str) -> None:
        """A record whose every passage has one of ``vectors`` in each locale (keyword: locale to body)."""
        bodies = locales or {"en": f"Body of record {record}"}
        with self.units() as unit:
            documents = [Document(entity, record, code, f"Title {record}", body, 1) for code, body in bodies.items()]
            self.container.outbox.put(unit, entity, record, documents)
        for code in bodies:
            for number, vector in enumerate(vectors):
                self.embed(entity, record, code, number, len(vectors), vector)

    def embed(
        self, entity: str, record: int, locale: str, n: int, of: int, vector: Sequence[float], space: int | None = None
    ) -> None:
        self.execute(
            """insert into embeddings (entity, record_id, locale, space_id, n, "of", start, "end", text_hash,
                passage_hash, embedding)
            select entity, record_id, locale, :space, :n, :of, :n, :n + 20, text_hash, text_hash,
                cast(:vector as vector)
            from search_documents where (entity, record_id, locale) = (:entity, :record, :locale)""",
            entity=entity, record=record, locale=locale, n=n, of=of, space=space or self.space,
            vector="[" + ",".join(map(str, vector)) + "]",
        )  # fmt: skip

    def index(self, entity: str = CONTENTS) -> None:
        """The partial index that a switch builds."""
        name = f"emb_{self.space}_{entity.replace('.', '_')}"
        self.execute(
            f"""create index {name} on embeddings using hnsw ((embedding::vector({DIMENSIONS})) vector_cosine_ops)
            where space_id = {self.space} and entity = '{entity}'"""
        )
        self.execute("analyze embeddings")

    def ask(
        self, scope: Mapping[str, Any] | None = None, locale: str | None = None, window: int = 200
    ) -> list[PassageHit]:
        query = self.vectors.query_vector("question", 1.0)
        return self.nearest(query, scope, locale, window)

    def nearest(
        self, query: QueryVector, scope: Mapping[str, Any] | None = None, locale: str | None = None, window: int = 200
    ) -> list[PassageHit]:
        with self.units("REPEATABLE READ") as unit:
            return self.vectors.nearest(
                unit.session, query, {CONTENTS: None} if scope is None else scope, locale, window
            )

    def search(
        self,
        vectors: VectorSearch | None = None,
        budget_ms: int = 60_000,
        with_parts: StageParts | None = None,
        **options: Any,
    ) -> Search:
        """A search with a budget that a busy machine keeps, too, and other ``options`` in place of the settings."""
        from app.embeddings.strategy import VectorResolver
        from app.search.resolver import LexicalResolver

        console, given = self.container, with_parts or StageParts()
        models = (
            (ModelIntent(given.intent, given.clock), ModelPlanner(given.planner, given.clock))
            if given.intent and given.planner
            else (None, None)
        )
        resolver = VectorResolver(LexicalResolver(), vectors or self.vectors, *models, given.reranker)
        chosen = Options(**{"budgets": dict.fromkeys(COSTS, budget_ms), **options})
        defaults = Defaults(lambda session: chosen, given.deep_allowed, lambda model: given.calibration)
        engine = given.engine or console.word_engine
        return Search(console.units, console.registry, engine, resolver, given.clock, defaults)


@pytest.fixture
def stage(container: Container) -> Iterator[Stage]:
    return Stage(container)
