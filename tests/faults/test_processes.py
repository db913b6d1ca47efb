"""Real processes: workers killed in each phase, the queue emptied, the database restarted; the switch ends right."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from sqlalchemy import text

from app.local.postgres import LocalPostgres
from tests.fakes.embedding_server import Behaviour, FakeEmbeddingServer
from tests.faults.harness import LEASED
from tests.fixtures.bench import A, B, Bench, fake_servers, profiles_file, servers_json
from tests.fixtures.databases import migrate
from tests.fixtures.forked import ForkedConsole

pytestmark = pytest.mark.slow

LIMIT_SECONDS = 90
CRASHES = {
    "preflight": ("worker-embeddings-switch", "preflight.counted"),
    "embeddings": ("worker-embeddings", "chunk.batch_before_commit:2"),
    "indexes": ("worker-embeddings-index", "indexes.before_build"),
    "verify": ("worker-embeddings-index", "verify.checked"),
    "activate": ("worker-embeddings-switch", "activate.before_commit"),
}


WAITED_FOR = (("preflight", "side_by_side"), ("embeddings", "in_place"))
"""Deaths after which a lease runs out by itself, that of the switch and that of a chunk; elsewhere it is made to."""


class Field:
    """A console of real processes beside a bench that looks at the same database."""

    def __init__(self, url: str, redis_url: str, folder: Path, servers: dict[str, FakeEmbeddingServer]) -> None:
        self.servers = servers
        self.redis_url = redis_url
        self.bench = Bench(url, folder, servers)
        self.bench.fill(30)
        environment = {
            "CHANGEOVER_ENV": "test",
            "AI_EMBEDDINGS_SERVERS": servers_json(servers),
            "AI_EMBEDDINGS_PROFILES": str(profiles_file(folder)),
            "AI_EMBEDDINGS_INITIAL": A,
            "AI_EMBEDDINGS_INDEX_CHUNK_SIZE": "5",
            "AI_EMBEDDINGS_INDEX_MEMORY_MB": "16",
        }
        self.console = ForkedConsole(url, redis_url, environment, folder / "logs")

    def wait(self, condition: Callable[[], Any], what: str) -> None:
        """Poll until ``condition`` holds; a database that is away for a moment is asked again."""
        until = time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < until:
            try:
                if condition():
                    return
            except Exception:  # noqa: BLE001 - the database may be restarting
                self.bench.container.engine.dispose()
            time.sleep(0.2)
        raise AssertionError(f"{what}: {self.bench.ai.switching.status()}\n{self.console.tails()}")

    def lose_leases(self) -> None:
        """The ten seconds of every lease are over."""
        with self.bench.container.engine.begin() as connection:
            for table in LEASED:
                connection.execute(
                    text(f"update {table} set lease_until = clock_timestamp() where lease_until > now()")
                )

    def ends_right(self) -> None:
        self.wait(lambda: self.bench.serving == B, "the switch never ended")
        self.wait(lambda: self.bench.violations(B) == [], "vectors of the target are not right")
        assert self.bench.suspended is None
        self.wait(lambda: self.bench.indexes() == {f"emb_{self.bench.space(B)}_cms_contents"}, "indexes")


@pytest.fixture
def servers_of_test() -> Iterator[dict[str, FakeEmbeddingServer]]:
    with fake_servers() as made:
        made["beta"].behaviour = Behaviour(delay=0.05)
        yield made


@pytest.fixture
def field(
    fresh_database: str, redis_url: str, tmp_path: Path, servers_of_test: dict[str, FakeEmbeddingServer]
) -> Iterator[Field]:
    made = Field(fresh_database, redis_url, tmp_path, servers_of_test)
    yield made
    made.console.stop()
    made.bench.close()


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder whose path is short enough for a socket."""
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("phase", list(CRASHES))
@pytest.mark.parametrize("mode", ["side_by_side", "in_place"])
def test_a_worker_that_is_killed_in_a_phase_delays_the_switch_and_no_more(field: Field, phase: str, mode: str) -> None:
    name, checkpoint = CRASHES[phase]
    field.console.start(web=False, overrides={name: {"CHANGEOVER_CRASH_AT": checkpoint}})
    field.bench.start(mode=mode)
    field.console.wake("jobs.embeddings_switch.advance", "embeddings-switch", switch_id=field.bench.last.id)
    field.wait(lambda: field.console.dead(name), f"{name} never came to {checkpoint}")
    assert field.bench.serving == A
    field.console.kill(name)
    if (phase, mode) not in WAITED_FOR:
        field.lose_leases()
    field.console.restart(name)
    field.ends_right()


def test_losing_all_of_the_queue_is_only_a_delay(field: Field) -> None:
    field.console.start(web=False)
    queue = redis.Redis.from_url(field.redis_url)
    field.bench.start()
    phases: set[str | None] = set()

    def flush() -> bool:
        queue.flushdb()
        phases.add(field.bench.ai.switching.status().phase)
        return field.bench.serving == B

    field.wait(flush, "the switch never ended")
    field.ends_right()
    assert "embeddings" in phases


def test_a_restart_of_the_database_amid_the_switch(
    redis_url: str, tmp_path: Path, servers_of_test: dict[str, FakeEmbeddingServer], short_folder: Path
) -> None:
    database = LocalPostgres(short_folder)
    database.start()
    try:
        migrate(database.url)
        field = Field(database.url, redis_url, tmp_path, servers_of_test)
        try:
            field.console.start(web=False)
            field.bench.start()
            field.wait(lambda: field.bench.value("select sum(done) from switch_chunks") or 0, "nothing was embedded")
            field.bench.container.engine.dispose()
            database.stop()
            database.start()
            field.ends_right()
        finally:
            field.console.stop()
            field.bench.close()
    finally:
        database.stop()
