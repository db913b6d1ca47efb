"""``flask embeddings``: what it prints, and the exit codes: 1 for a refusal, 2 for a wrong call."""

from __future__ import annotations

import json
from typing import Any

import pytest
from apiflask import APIFlask
from click.testing import Result
from sqlalchemy import text

from app.factory import create_app
from tests.fakes.embedding_server import Behaviour
from tests.fixtures.bench import A, B, Bench


@pytest.fixture
def app(bench: Bench) -> APIFlask:
    return create_app(bench.config, bench.container)


class WorkingClock:
    """A clock whose sleep lets the workers do one job, so that following a switch takes no time."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.inner = bench.container.clock
        self.slept: list[float] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        assert len(self.slept) < 500
        if not self.bench.run_one():
            self.bench.tick()


def run(app: APIFlask, *arguments: str) -> Result:
    return app.test_cli_runner().invoke(args=["embeddings", *arguments])


def refused(result: Result, words: str) -> None:
    """Exit code 1, the sentence on standard error, nothing on standard output, no traceback."""
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1].startswith("Error: "), "after the lines of the log, if any"
    assert words in result.stderr
    assert "Traceback" not in result.stderr


# --- probe ---------------------------------------------------------------------------------------------------------


def test_probe_measures_a_model(app: APIFlask) -> None:
    result = run(app, "probe", B, "--json")
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    assert (shown["profile"], shown["model"], shown["dimensions"], shown["norm"]) == (B, "beta", 24, 1.0)
    plain = run(app, "probe", B)
    assert plain.exit_code == 0
    assert "dimensions" in plain.stdout


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [(Behaviour(dims=7), "24 dimensions"), (Behaviour(model="delta"), "delta"), (Behaviour(status=500), "status 500")],
)
def test_probe_fails_where_a_start_would(bench: Bench, app: APIFlask, behaviour: Behaviour, words: str) -> None:
    bench.servers["beta"].behaviour = behaviour
    refused(run(app, "probe", B), words)


def test_probe_of_an_unknown_model_lists_the_known_ones(app: APIFlask) -> None:
    refused(run(app, "probe", "openai_compatible:nobody"), B)


# --- switch --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["side_by_side", "in_place"])
def test_switch_starts_and_says_so(bench: Bench, app: APIFlask, mode: str) -> None:
    result = run(app, "switch", B, "--mode", mode, "--json")
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    assert (shown["status"], shown["to"], shown["mode"]) == ("running", B, mode)
    assert bench.last.started_by == "system"
    bench.settle()
    assert bench.serving == B


@pytest.mark.parametrize(
    "arguments",
    [(), (B, "--resume"), (B, "--abandon"), ("--resume", "--abandon"), (B, "--mode", "upside_down"), (B, "--nothing")],
)
def test_a_call_that_names_no_action_or_two_is_a_usage_error(
    bench: Bench, app: APIFlask, arguments: tuple[str, ...]
) -> None:
    result = run(app, "switch", *arguments)
    assert result.exit_code == 2
    assert "Usage:" in result.stderr
    assert bench.ai.switching.history() == []


def test_refusals_exit_with_1_and_change_nothing(bench: Bench, app: APIFlask) -> None:
    refused(run(app, "switch", "openai_compatible:nobody"), "There is no embedding model")
    refused(run(app, "switch", A), "serves search already")
    refused(run(app, "switch", "openai_compatible:universal-sentence-encoder-m3"), "has no server")
    refused(run(app, "switch", "--resume"), "There is no switch")
    refused(run(app, "switch", "--abandon"), "There is no switch")
    bench.servers["beta"].behaviour = Behaviour(model="delta")
    refused(run(app, "switch", B), "delta")
    assert bench.ai.switching.history() == []


def test_a_second_switch_is_refused(bench: Bench, app: APIFlask) -> None:
    assert run(app, "switch", B).exit_code == 0
    refused(run(app, "switch", "openai_compatible:gamma"), "is running in phase preflight")
    refused(run(app, "switch", "--resume"), "running normally")
    assert len(bench.ai.switching.history()) == 1


def test_a_refusal_of_the_server_is_stored_when_asked_for(bench: Bench, app: APIFlask) -> None:
    bench.servers["beta"].behaviour = Behaviour(model="delta")
    refused(run(app, "switch", B, "--report-failure"), "delta")
    shown = json.loads(run(app, "status", "--json").stdout)
    assert (shown["status"], shown["phase"], shown["to"], shown["reason_code"]) == (
        "failed",
        "preflight",
        B,
        "switch.other_model",
    )
    assert run(app, "switch", "--abandon").exit_code == 0
    assert json.loads(run(app, "status", "--json").stdout)["status"] == "idle"


@pytest.mark.parametrize("mode", ["side_by_side", "in_place"])
def test_abandon_and_resume(bench: Bench, app: APIFlask, mode: str) -> None:
    bench.start(mode=mode)
    bench.run_to("embeddings")
    result = run(app, "switch", "--abandon", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["status"] == "idle"
    bench.servers["beta"].script(
        lambda number, texts: Behaviour(status=400) if any("record 3" in sent for sent in texts) else None
    )
    bench.start(mode=mode)
    bench.run_until(lambda: bench.ai.switching.status().status == "failed")
    bench.servers["beta"].reset()
    bench.write(3, "another text")
    resumed = run(app, "switch", "--resume", "--json")
    assert resumed.exit_code == 0, resumed.output
    assert json.loads(resumed.stdout)["status"] == "running"
    bench.settle()
    assert bench.serving == B
    assert bench.violations(B) == []


# --- status and follow ---------------------------------------------------------------------------------------------


def test_status_shows_the_settled_names(bench: Bench, app: APIFlask) -> None:
    shown = json.loads(run(app, "status", "--json").stdout)
    assert (shown["serving"], shown["documents_done"], shown["documents"], shown["status"]) == (A, 8, 8, "idle")
    bench.start(mode="in_place")
    bench.run_to("indexes")
    shown = json.loads(run(app, "status", "--json").stdout)
    assert (shown["status"], shown["phase"], shown["done"], shown["total"]) == ("running", "indexes", 8, 8)
    assert (shown["from"], shown["to"], shown["suspended_reason"]) == (A, B, "switching")
    plain = run(app, "status")
    assert plain.exit_code == 0
    assert "indexes" in plain.stdout


def test_follow_shows_the_switch_until_it_has_ended(bench: Bench, app: APIFlask) -> None:
    clock = WorkingClock(bench)
    bench.container.clock = clock
    result = run(app, "switch", B, "--follow")
    assert result.exit_code == 0, result.output
    assert f"activated: {A} -> {B}" in result.stdout
    assert set(clock.slept) == {1.0}
    assert bench.serving == B


def test_follow_of_a_switch_that_fails_exits_with_1(bench: Bench, app: APIFlask) -> None:
    bench.servers["beta"].script(
        lambda number, texts: Behaviour(status=400) if any("record 3" in sent for sent in texts) else None
    )
    bench.start()
    bench.container.clock = WorkingClock(bench)
    result = run(app, "status", "--follow")
    assert result.exit_code == 1, result.output
    assert "need a decision: 1" in result.stderr
    assert bench.serving == A


# --- prune and repair ----------------------------------------------------------------------------------------------


def test_prune_deletes_what_is_kept_and_refuses_what_serves(bench: Bench, app: APIFlask) -> None:
    refused(run(app, "prune", "--model-key", A), "can't be pruned")
    refused(run(app, "prune", "--model-key", "openai_compatible:nobody"), "There are no rows")
    assert run(app, "prune").exit_code == 2
    bench.start()
    refused(run(app, "prune", "--model-key", A), "prune when it has ended")
    bench.settle()
    result = run(app, "prune", "--model-key", A)
    assert result.exit_code == 0, result.output
    assert result.stdout == "8 rows deleted\n"
    assert bench.violations(B) == []


def test_repair_embeds_what_is_missing_and_builds_missing_indexes(bench: Bench, app: APIFlask) -> None:
    with bench.container.units() as unit:
        unit.session.execute(text("delete from embeddings where record_id in (2, 5)"))
        unit.session.execute(text(f"drop index emb_{bench.space(A)}_cms_contents"))
    result = run(app, "repair", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["indexes_built"] == 1
    assert bench.violations(A) == []
    again = run(app, "repair", "--entity", "cms.contents")
    assert again.exit_code == 0


def test_repair_exits_with_1_where_something_stays_missing(bench: Bench, app: APIFlask) -> None:
    with bench.container.units() as unit:
        unit.session.execute(text("delete from embeddings where record_id = 3"))
    bench.servers["alpha"].script(
        lambda number, texts: Behaviour(status=400) if any("record 3" in sent for sent in texts) else None
    )
    assert run(app, "repair").exit_code == 1


def test_without_the_ai_packages_every_command_says_what_is_missing(bench: Bench, app: APIFlask) -> None:
    bench.container.ai = None
    for command in (("probe", B), ("switch", B), ("status",), ("prune", "--model-key", A), ("repair",)):
        refused(run(app, *command), "The AI packages are not installed")
