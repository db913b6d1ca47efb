"""A backup taken amid a running switch, restored into a new database: the switch goes on there by itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from app.local.postgres import LocalPostgres
from tests.fakes.embedding_server import Behaviour, FakeEmbeddingServer
from tests.faults.harness import FaultBench
from tests.faults.test_processes import short_folder
from tests.fixtures.bench import A, B, fake_servers, profiles_file, servers_json
from tests.fixtures.forked import ForkedConsole
from tests.fixtures.servers import TestServers, create_database

pytestmark = pytest.mark.slow
__all__ = ["short_folder"]

LIMIT_SECONDS = 90


class Site:
    """A database with the processes of a console, and a bench that looks at it."""

    def __init__(self, url: str, redis_url: str, folder: Path, servers: dict[str, FakeEmbeddingServer]) -> None:
        folder.mkdir()
        self.bench = FaultBench(url, folder, servers)
        environment = {
            "AI_EMBEDDINGS_SERVERS": servers_json(servers),
            "AI_EMBEDDINGS_PROFILES": str(profiles_file(folder)),
            "AI_EMBEDDINGS_INITIAL": A,
            "AI_EMBEDDINGS_INDEX_CHUNK_SIZE": "5",
        }
        self.console = ForkedConsole(url, redis_url, environment, folder / "logs")

    def wait(self, condition: Callable[[], object], what: str) -> None:
        until = time.monotonic() + LIMIT_SECONDS
        while not condition():
            assert time.monotonic() < until, f"{what}\n{self.console.tails()}"
            time.sleep(0.2)

    def close(self) -> None:
        self.console.stop()
        self.bench.close()


@contextmanager
def site(url: str, redis_url: str, folder: Path, servers: dict[str, FakeEmbeddingServer]) -> Iterator[Site]:
    made = Site(url, redis_url, folder, servers)
    try:
        yield made
    finally:
        made.close()


def plain(url: str) -> str:
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def run(server: LocalPostgres, program: str, *arguments: str) -> None:
    """One of PostgreSQL's own programs."""
    done = server._run(program, *arguments)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def elsewhere(short_folder: Path) -> Iterator[LocalPostgres]:
    """Another cluster: its transaction ids are lower than those in the backup."""
    with LocalPostgres(short_folder, durable=False) as server:
        yield server


@pytest.mark.parametrize(("mode", "where"), [("side_by_side", "the same cluster"), ("in_place", "another cluster")])
def test_a_switch_in_a_backup_goes_on_where_it_is_restored(
    fresh_database: str,
    redis_url: str,
    servers: TestServers,
    tmp_path: Path,
    elsewhere: LocalPostgres,
    mode: str,
    where: str,
) -> None:
    dump = elsewhere.socket_folder / "console.dump"
    with fake_servers() as models:
        models["beta"].behaviour = Behaviour(delay=0.1)
        with site(fresh_database, redis_url, tmp_path / "before", models) as before:
            for number in range(1, 41):
                before.bench.write(number, f"text of record {number}")
            before.bench.go_on()
            before.console.start(web=False)
            before.bench.start(mode=mode)
            done = "select coalesce(sum(done), 0) from switch_chunks"
            before.wait(lambda: before.bench.observe(done)[0][0], "nothing was embedded")
            run(elsewhere, "pg_dump", "-Fc", "--file", str(dump), plain(fresh_database))
            assert before.bench.serving == A, "the backup was to be taken amid the switch"
        base = servers.database_url if where == "the same cluster" else elsewhere.url
        url = create_database(base, f"restored_{fresh_database.rpartition('fresh_')[2][:12]}", "template0")
        run(elsewhere, "pg_restore", "--exit-on-error", "--dbname", plain(url), str(dump))
        with site(url, redis_url, tmp_path / "after", models) as after:
            assert (after.bench.serving, after.bench.state, after.bench.phase) == (A, "running", "embeddings")
            already = after.bench.observe(done)[0][0]
            assert 0 < already < 40
            after.bench.write(3, "changed before any process ran")
            after.console.start(web=False)
            after.wait(lambda: after.bench.serving == B, "the switch does not go on")
            after.wait(lambda: after.bench.checker.violations_at_rest() == [], "not at rest, or not right")
            assert after.bench.violations(B) == []
            foreign = (
                "select count(*) from index_cursors, pg_control_system() p where "
                "index_cursors.system_identifier <> p.system_identifier::text"
            )
            assert after.bench.observe(foreign) == [(0,)]
