"""``flask embeddings health``, ``repair KIND`` and ``flask queues status``: what they print, and their exit codes."""

from __future__ import annotations

import json

import pytest
from apiflask import APIFlask
from click.testing import Result

from app.core.processes import store
from app.factory import create_app
from tests.fakes.embedding_server import Behaviour
from tests.fixtures.bench import A, B, Bench


@pytest.fixture
def bench(bench: Bench) -> Bench:
    bench.pass_events()
    return bench


@pytest.fixture
def app(bench: Bench) -> APIFlask:
    return create_app(bench.config, bench.container)


def run(app: APIFlask, *arguments: str) -> Result:
    return app.test_cli_runner().invoke(args=list(arguments))


def test_health_is_silent_about_nothing_and_exits_with_0(bench: Bench, app: APIFlask) -> None:
    before = bench.servers["alpha"].counters.calls
    result = run(app, "embeddings", "health")
    assert (result.exit_code, bench.servers["alpha"].counters.calls) == (0, before)
    assert A in result.output
    assert "done=8" in result.output
    body = json.loads(run(app, "embeddings", "health", "--json").stdout)
    assert (body["healthy"], body["items"][0]["done"]) == (True, 8)


def test_health_exits_with_1_and_repair_mends_it(bench: Bench, app: APIFlask) -> None:
    bench.execute("update embeddings set embedding = embedding + embedding where record_id = 3")
    result = run(app, "embeddings", "health")
    assert result.exit_code == 1
    assert "norm_off=1" in result.output
    mended = run(app, "embeddings", "repair", "norm_off", "--json")
    assert (mended.exit_code, json.loads(mended.stdout)["count"]) == (0, 1)
    bench.settle()
    assert bench.violations(A) == []
    assert run(app, "embeddings", "health").exit_code == 0


def test_health_compares_a_sample_when_asked(bench: Bench, app: APIFlask) -> None:
    bench.servers["alpha"].behaviour = Behaviour(noise=0.5)
    result = run(app, "embeddings", "health", "--sample", "5", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["items"][0]["sample"]["verdict"] == "other"


def test_repair_of_another_space(bench: Bench, app: APIFlask) -> None:
    bench.start()
    bench.settle()
    bench.execute(f"update embeddings set embedding = embedding + embedding where space_id = {bench.space(A)}")
    result = run(app, "embeddings", "repair", "norm_off", "--space", str(bench.space(A)))
    assert result.exit_code == 0
    assert "count 8" in result.output
    assert bench.value(f"select count(*) from embeddings where space_id = {bench.space(B)}") == 8


def test_repair_refuses_with_a_sentence(bench: Bench, app: APIFlask) -> None:
    unknown = run(app, "embeddings", "repair", "everything")
    assert unknown.exit_code == 1
    assert "none of the allowed values" in unknown.stderr
    absent = run(app, "embeddings", "repair", "orphaned", "--space", "99")
    assert absent.exit_code == 1
    assert "There is no vector space 99" in absent.stderr
    assert run(app, "embeddings", "repair", "orphaned", "--entity", "cms.contents").exit_code == 2


def test_repair_of_the_probe_says_what_the_server_answered(bench: Bench, app: APIFlask) -> None:
    assert run(app, "embeddings", "repair", "probe").exit_code == 0
    bench.servers["alpha"].behaviour = Behaviour(model="gamma")
    result = run(app, "embeddings", "repair", "probe")
    assert result.exit_code == 1
    assert "result model" in result.output


def test_queues_name_what_is_missing(bench: Bench, app: APIFlask) -> None:
    result = run(app, "queues", "status")
    assert result.exit_code == 1
    assert "missing: scheduler" in result.output
    with bench.container.units() as unit:
        for pid, queue in enumerate(("embeddings", "embeddings", "embeddings-switch", "embeddings-index", "default")):
            store.seen(unit.session, f"w{pid}", store.WORKER, queue, 10 + pid, "host")
        store.seen(unit.session, "s", store.SCHEDULER, None, 20, "host")
        store.note_failure(unit.session, "default", "jobs.upkeep.tidy", {}, "KeyError", None)
    result = run(app, "queues", "status")
    assert result.exit_code == 0
    assert "scheduler alive" in result.output
    body = json.loads(run(app, "queues", "status", "--json").stdout)
    assert body["problems"] == []
    assert body["queues"][3]["failed_jobs"][0]["error"] == "KeyError"
