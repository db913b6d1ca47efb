"""A bench whose words and vectors are in Elasticsearch as well, and what must be true of them at rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from sqlalchemy import text

from app.core.queue import DEFAULT, Wake
from app.core.settings.schema import SEARCH_ENGINE
from app.search.engines.elasticsearch_follow import Elasticsearch
from app.search.engines.elasticsearch_index import Generation
from tests.fakes.embedding_server import FakeEmbeddingServer
from tests.faults.harness import FaultBench
from tests.faults.history import TAG
from tests.fixtures.bench import ENTITY
from tests.fixtures.elasticsearch import elasticsearch_url

FOLLOW = Wake("jobs.index_events.follow_engine", DEFAULT)


class EngineBench(FaultBench):
    """A bench that searches in Elasticsearch; its indexes are its own."""

    def __init__(self, database: str, folder: Path, servers: dict[str, FakeEmbeddingServer], **values: Any) -> None:
        self.prefix = f"test_{uuid4().hex[:12]}"
        own = {"elasticsearch_url": elasticsearch_url(), "elasticsearch_prefix": self.prefix}
        super().__init__(database, folder, servers, elasticsearch_timeout=30.0, **own, **values)

    @property
    def engine(self) -> Elasticsearch:
        assert self.container.elasticsearch is not None
        return self.container.elasticsearch

    def choose(self) -> None:
        """Build the indexes and let Elasticsearch answer."""
        self.engine.reindex(lambda entity, done, total: None)
        with self.container.units() as unit:
            self.container.settings.write_system(unit, SEARCH_ENGINE, "elasticsearch")

    def job(self, wake: Wake) -> Callable[[], object]:
        if wake == FOLLOW:
            return lambda: self.engine.apply(self.stop)
        if wake.job == "jobs.index_events.apply_serving":
            return self._apply_serving
        return super().job(wake)

    def _apply_serving(self) -> bool:
        more = self.ai.consumers.apply("serving", self.stop)
        return self.engine.apply(self.stop) or more

    def tick(self) -> None:
        super().tick()
        if self.engine.due():
            self.queue.send(FOLLOW)

    def age(self) -> None:
        """The grace of the former generation has passed."""
        with self.container.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            past = "clock_timestamp() - interval '2 minutes'"
            connection.execute(text(f"{TAG} update serving set generation_since = {past}"))
        while not self.command(self.ai.upkeep.tidy):
            pass

    # --- what stands ------------------------------------------------------------------------------------------------

    @property
    def generations(self) -> list[Generation]:
        return list(self.engine.generations.all()[ENTITY])

    @property
    def live(self) -> Generation:
        (one,) = (one for one in self.generations if one.serves)
        return one

    def documents(self, index: str) -> Mapping[str, Mapping[str, Any]]:
        """Record id to its document, vectors included."""
        self.engine.cluster.refresh(index)
        answer = self.engine.cluster._client.search(
            index=index, size=1000, source={"exclude_vectors": False}, query={"match_all": {}}
        )
        return {hit["_id"]: rounded(hit["_source"]) for hit in answer["hits"]["hits"]}

    def engine_violations(self) -> list[str]:
        """Where Elasticsearch says something else than PostgreSQL, once nothing is due any more."""
        self.engine.cluster.refresh(f"{self.prefix}-*")
        found = self.checker.violations_at_rest()
        serving = self.observe("select space_id, generation from serving")[0]
        if self.live.spaces != (serving[0],):
            found.append(f"vectors of {self.live.spaces} where {serving[0]} serves")
        aliased = self.engine.cluster.indexes(f"{self.prefix}-{ENTITY}")
        if set(aliased) != {self.live.index}:
            found.append(f"the alias stands for {set(aliased)}")
        stored: dict[str, set[tuple[str, int]]] = {}
        for record, locale, n in self.observe(
            f"select record_id, locale, n from embeddings join serving using (space_id) where entity = '{ENTITY}'"
        ):
            stored.setdefault(str(record), set()).add((locale, n))
        documents = self.documents(self.live.index)
        field = f"vector_{serving[0]}"
        indexed = {
            key: {(one["locale"], one["n"]) for one in document.get("passages", []) if field in one}
            for key, document in documents.items()
        }
        found += [
            f"record {key}: {indexed.get(key)} of {stored.get(key)}"
            for key in sorted({*indexed, *stored})
            if indexed.get(key, set()) != stored.get(key, set())
        ]
        rows = self.observe(f"select distinct record_id from search_documents where entity = '{ENTITY}'")
        texts = {str(row[0]) for row in rows}
        if texts != set(documents):
            found.append(f"records {texts ^ set(documents)} are on one side only")
        return found

    def close(self) -> None:
        cluster = self.engine.cluster
        super().close()
        cluster.drop(list(cluster.indexes(f"{self.prefix}-*")))


def rounded(value: Any) -> Any:
    """Numbers as far as Elasticsearch keeps them."""
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return {name: rounded(one) for name, one in value.items()} if isinstance(value, dict) else value


def filled(bench: EngineBench, records: int = 12) -> None:
    """Records with vectors of the first model, and Elasticsearch chosen."""
    for number in range(1, records + 1):
        bench.write(number, f"text of record {number}")
    bench.go_on()
    bench.pass_events()
    bench.choose()
    bench.go_on()
    for server in bench.servers.values():
        server.reset()


@contextmanager
def engine_bench(database: str, folder: Path, servers: dict[str, FakeEmbeddingServer]) -> Iterator[EngineBench]:
    """A filled bench; its indexes are removed afterwards."""
    bench = EngineBench(database, folder, servers)
    try:
        filled(bench)
        yield bench
    finally:
        bench.close()
