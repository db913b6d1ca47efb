"""The crash drill of `flask embeddings switch --simulate-crash`: once, at any point, refused where it may not be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.core.contracts.actor import SYSTEM
from app.embeddings import checkpoints
from app.embeddings.checkpoints import DRILLED
from app.factory import create_app
from tests.fakes.embedding_server import Behaviour
from tests.faults.harness import Died
from tests.fixtures.bench import B, Bench, fake_servers, profiles_file, servers_json
from tests.fixtures.forked import ForkedConsole

NEVER_SIDE_BY_SIDE = {"indexes.dropped_serving"}


def dead() -> None:
    raise Died


@pytest.mark.parametrize("point", DRILLED)
def test_exactly_one_process_dies_at_the_point_and_the_switch_ends_right(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    monkeypatch.setattr(checkpoints, "kill_this_process", dead)
    with fake_servers() as servers:
        bench = Bench(database, tmp_path, servers)
        bench.fill(8)
        mode = "in_place" if point in NEVER_SIDE_BY_SIDE else "side_by_side"
        drills = bench.ai.drills
        switch = bench.ai.switching.start(SYSTEM, B, mode, within=drills.arming(drills.point(point)))
        bench.write(4, "edited amid the switch")
        deaths = 0
        while bench.serving != B:
            try:
                bench.tick()
                while bench.run_one():
                    pass
            except Died:
                deaths += 1
                for table in ("switches", "switch_chunks", "index_cursors"):
                    bench.execute(f"update {table} set lease_until = clock_timestamp() where lease_until is not null")
        assert deaths == 1
        bench.settle()
        outcome = drills.watch(switch, point)
        assert (outcome.crashed, outcome.status) == (True, "activated")
        assert outcome.violations == {"lost": 0, "doubled": 0, "stale": 0, "mixed": 0}
        assert bench.violations(B) == []
        bench.close()


def test_a_drill_that_nobody_met_does_not_kill_the_next_switch(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "kill_this_process", dead)
    with fake_servers() as servers:
        bench = Bench(database, tmp_path, servers)
        bench.fill(4)
        drills = bench.ai.drills
        switch = bench.ai.switching.start(SYSTEM, B, within=drills.arming("indexes.dropped_serving"))
        bench.settle()
        outcome = drills.watch(switch, "indexes.dropped_serving")
        assert (outcome.crashed, outcome.status, outcome.passed) == (False, "activated", False)
        bench.start("openai_compatible:alpha", mode="in_place")
        bench.settle()
        assert bench.serving == "openai_compatible:alpha"
        bench.close()


@pytest.mark.parametrize(
    ("environment", "point", "words"),
    [
        ("production", "verify", "CHANGEOVER_ENV is production"),
        ("test", "verify", "Missing: default, embeddings, embeddings-index, embeddings-switch, scheduler"),
    ],
)
def test_refusals_exit_with_1_and_start_nothing(
    database: str, tmp_path: Path, environment: str, point: str, words: str
) -> None:
    with fake_servers() as servers:
        bench = Bench(database, tmp_path, servers)
        bench.fill(2)
        bench.container.config = bench.config.model_copy(update={"changeover_env": environment})
        app = create_app(bench.config, bench.container)
        result = app.test_cli_runner().invoke(args=["embeddings", "switch", B, "--simulate-crash", point])
        assert result.exit_code == 1
        assert words in result.stderr
        assert bench.ai.switching.history() == []
        bench.close()


def test_in_production_no_process_can_be_made_to_die(database: str, tmp_path: Path) -> None:
    with fake_servers() as servers:
        bench = Bench(database, tmp_path, servers)
        assert isinstance(bench.ai.machine.checkpoint, checkpoints.StagedCrash)
        none = checkpoints.staged(checkpoints.no_checkpoint, bench.container.engine, "production")
        assert none is checkpoints.no_checkpoint
        bench.close()


@pytest.mark.slow
def test_a_real_worker_dies_and_the_other_one_goes_on(fresh_database: str, redis_url: str, tmp_path: Path) -> None:
    with fake_servers() as servers:
        servers["beta"].behaviour = Behaviour(delay=0.02)
        bench = Bench(fresh_database, tmp_path, servers)
        bench.fill(12)
        environment = {
            "AI_EMBEDDINGS_SERVERS": servers_json(servers),
            "AI_EMBEDDINGS_PROFILES": str(profiles_file(tmp_path)),
            "AI_EMBEDDINGS_INITIAL": "openai_compatible:alpha",
            "AI_EMBEDDINGS_INDEX_CHUNK_SIZE": "5",
        }
        console = ForkedConsole(fresh_database, redis_url, environment, tmp_path / "logs")
        try:
            console.start(web=False)
            wanted = "select count(distinct coalesce(queue, kind)) from processes"
            clock = bench.container.clock
            until = clock.monotonic() + 60
            while bench.value(wanted) < 5 and clock.monotonic() < until:
                clock.sleep(0.1)
            app = create_app(bench.config, bench.container)
            command = ["embeddings", "switch", B, "--simulate-crash", "embeddings", "--json"]
            result = app.test_cli_runner().invoke(args=command)
            assert result.exit_code == 0, result.output + console.tails()
            shown = json.loads(result.stdout)
            assert (shown["point"], shown["crashed"], shown["status"], shown["passed"]) == (
                "chunk.embedded", True, "activated", True,
            )  # fmt: skip
            assert shown["seconds"] > 0
            ended = [process.poll() for part in console.processes.values() for process in part]
            assert [code for code in ended if code is not None] == [-9]
        finally:
            console.stop()
            bench.close()
