"""``flask embeddings switch KEY --dry-run``: the figures, Ctrl-C, exit codes; and ``dry_run`` in the API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from apiflask import APIFlask
from click.testing import Result

from app.factory import create_app
from tests.fakes.embedding_server import Behaviour
from tests.fixtures.bench import A, B, Bench
from tests.fixtures.clients import Api, People


class WorkingClock:
    """A clock whose sleep lets the workers do one job; ``interrupt_at`` is the sleep that Ctrl-C breaks."""

    def __init__(self, bench: Bench, interrupt_at: int | None = None) -> None:
        self.bench = bench
        self.inner = bench.container.clock
        self.slept = 0
        self.interrupt_at = interrupt_at

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def sleep(self, seconds: float) -> None:
        self.slept += 1
        assert self.slept < 500
        if self.slept == self.interrupt_at:
            raise KeyboardInterrupt
        if not self.bench.run_one():
            self.bench.tick()


@pytest.fixture
def bench(bench: Bench) -> Bench:
    bench.container.clock = WorkingClock(bench)
    return bench


@pytest.fixture
def app(bench: Bench) -> APIFlask:
    made = create_app(bench.config, bench.container)
    made.testing = True
    return made


def run(app: APIFlask, *arguments: str) -> Result:
    return app.test_cli_runner().invoke(args=["embeddings", "switch", *arguments])


def nothing_is_left(bench: Bench) -> None:
    assert bench.serving == A
    assert bench.value("select count(*) from embeddings where space_id = :space", space=bench.space(B)) == 0
    assert bench.indexes() == {f"emb_{bench.space(A)}_cms_contents"}


def test_it_prints_the_figures(bench: Bench, app: APIFlask) -> None:
    result = run(app, B, "--dry-run", "--json")
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    assert (shown["outcome"], shown["embedded"], shown["passages"], shown["left"]) == ("finished", 8, 8, 0)
    nothing_is_left(bench)


def test_a_person_reads_estimate_and_actual(bench: Bench, app: APIFlask) -> None:
    result = run(app, B, "--dry-run")
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert "finished, nothing was activated" in said
    assert "8 documents, 8 estimated" in said
    assert "recall of the index 1.000 at least" in said


def test_a_space_that_is_complete_says_that_there_was_nothing_to_embed(bench: Bench, app: APIFlask) -> None:
    for target in (B, A):
        bench.start(target)
        bench.settle()
    result = run(app, B, "--dry-run")
    assert result.exit_code == 0, result.output
    said = " ".join(result.stdout.split())
    assert "nothing to embed" in said
    assert "8 rows stood before" in said


@pytest.mark.parametrize("moment", [1, 3, 6])
def test_ctrl_c_stops_and_undoes_it(bench: Bench, app: APIFlask, moment: int) -> None:
    bench.container.clock = WorkingClock(bench, interrupt_at=moment)
    result = run(app, B, "--dry-run", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["outcome"] == "stopped"
    nothing_is_left(bench)


def test_what_would_stop_the_switch_exits_with_1(bench: Bench, app: APIFlask) -> None:
    bench.servers["beta"].script(
        lambda number, texts: Behaviour(status=400) if any("record 3" in sent for sent in texts) else None
    )
    result = run(app, B, "--dry-run", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["undecided"] == 1
    nothing_is_left(bench)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("--resume", "--dry-run"), 2), ((B, "--dry-run", "--report-failure"), 2), ((A, "--dry-run"), 1)],
)
def test_wrong_calls_and_refusals(bench: Bench, app: APIFlask, arguments: tuple[str, ...], code: int) -> None:
    assert run(app, *arguments).exit_code == code
    assert bench.ai.switching.history() == []


def test_a_dry_run_in_place_is_refused(bench: Bench, app: APIFlask) -> None:
    result = run(app, B, "--dry-run", "--mode", "in_place")
    assert result.exit_code == 1
    assert "side by side only" in result.stderr


def test_the_api_takes_a_dry_run_and_the_history_lists_it(bench: Bench, app: APIFlask) -> None:
    people = People(bench.container)
    with bench.container.units() as unit:
        bench.container.access.ensure_roles(unit)
    api = Api(app, people.token(people.user("admin", "administrator"), "all"))
    wish = {"target": B, "confirm": True, "dry_run": True}
    started = api.post("/api/v1/embedding-switches", json=wish)
    assert started.status_code == 202
    assert started.json["kind"] == "dry_run"
    bench.settle()
    listed = api.get("/api/v1/embedding-switches/history").json["items"][0]
    assert (listed["kind"], listed["status"], listed["to"]) == ("dry_run", "finished", B)
    assert listed["actuals"]["written"]["rows"] == 8
    nothing_is_left(bench)
