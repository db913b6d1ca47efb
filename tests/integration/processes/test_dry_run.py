"""A dry run on real workers, started by a real command: shown when it ends, undone also when the command is killed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.embedding_server import Behaviour
from tests.fixtures.bench import A, B, Bench, fake_servers, profiles_file, servers_json
from tests.fixtures.console import ROOT, Console
from tests.fixtures.forked import ForkedConsole

pytestmark = pytest.mark.slow
LIMIT_SECONDS = 90
COMMAND = [sys.executable, "-m", "flask", "--app", "wsgi", "embeddings", "switch", B, "--dry-run", "--json"]


class Site:
    """Workers and scheduler on a database of their own."""

    def __init__(self, console: Console, bench: Bench) -> None:
        self.console = console
        self.bench = bench

    def command(self) -> subprocess.Popen[str]:
        """The dry run as a person starts it."""
        return subprocess.Popen(COMMAND, cwd=ROOT, env=self.console.environment, stdout=subprocess.PIPE, text=True)

    def wait(self, condition: Callable[[], object], what: str) -> None:
        until = time.monotonic() + LIMIT_SECONDS
        while not condition():
            assert time.monotonic() < until, f"{what}\n{self.console.tails()}"
            time.sleep(0.2)

    def nothing_is_left(self) -> bool:
        rows = self.bench.value("select count(*) from embeddings where space_id = :space", space=self.bench.space(B))
        return rows == 0 and self.bench.indexes() == {f"emb_{self.bench.space(A)}_cms_contents"}


@pytest.fixture
def site(fresh_database: str, redis_url: str, tmp_path: Path) -> Iterator[Site]:
    with fake_servers() as servers:
        servers["beta"].behaviour = Behaviour(delay=0.05)
        bench = Bench(fresh_database, tmp_path, servers)
        bench.fill(20)
        bench.ai.upkeep.build_missing_indexes()
        environment = {
            "AI_EMBEDDINGS_SERVERS": servers_json(servers),
            "AI_EMBEDDINGS_PROFILES": str(profiles_file(tmp_path)),
            "AI_EMBEDDINGS_INITIAL": A,
            "AI_EMBEDDINGS_INDEX_CHUNK_SIZE": "5",
        }
        console = ForkedConsole(fresh_database, redis_url, environment, tmp_path / "logs")
        try:
            console.start(web=False)
            yield Site(console, bench)
        finally:
            console.stop()
            bench.close()


def test_the_command_shows_what_the_workers_did_and_undid(site: Site) -> None:
    said, _ = site.command().communicate(timeout=LIMIT_SECONDS)
    shown = json.loads(said[said.index("{\n") :])
    assert (shown["outcome"], shown["passages"], shown["verified"], shown["left"]) == ("finished", 20, True, 0)
    assert site.nothing_is_left()
    assert site.bench.serving == A


def test_a_command_that_is_killed_leaves_nothing(site: Site) -> None:
    command = site.command()
    site.wait(lambda: site.bench.value("select sum(done) from switch_chunks"), "nothing was embedded")
    command.kill()
    command.wait()
    site.wait(lambda: site.bench.last.status == "finished", "it does not end by itself")
    site.wait(site.nothing_is_left, "rows or indexes are left")
    assert site.bench.serving == A
    assert site.bench.violations(A) == []
