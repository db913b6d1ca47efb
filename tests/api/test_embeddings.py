"""Models and the switch for scripts: the settled names, the refusals, and who may do what."""

from __future__ import annotations

from typing import Any

import pytest
from apiflask import APIFlask
from sqlalchemy import text
from werkzeug.test import TestResponse

from app.factory import create_app
from tests.fakes.embedding_server import Behaviour
from tests.fixtures.bench import A, B, Bench, C
from tests.fixtures.clients import Api, People

MODELS, SWITCHES = "/api/v1/embedding-models", "/api/v1/embedding-switches"
CURRENT, HISTORY = f"{SWITCHES}/current", f"{SWITCHES}/history"
SETTLED = {
    "status", "interrupted", "phase", "done", "total", "rate", "eta_seconds", "rounds", "mode", "from", "to", "reason",
    "entities",
}  # fmt: skip


@pytest.fixture
def app(bench: Bench) -> APIFlask:
    made = create_app(bench.config, bench.container)
    made.testing = True
    return made


@pytest.fixture
def people(bench: Bench) -> People:
    with bench.container.units() as unit:
        bench.container.access.ensure_roles(unit)
    return People(bench.container)


@pytest.fixture
def api(app: APIFlask, people: People) -> Api:
    return Api(app, people.token(people.user("admin", "administrator"), "all"))


def body(answer: TestResponse) -> dict[str, Any]:
    found = answer.json
    assert isinstance(found, dict)
    return found


def refused(answer: TestResponse, status: int, code: str) -> dict[str, Any]:
    """The answer is the problem ``code``."""
    assert answer.status_code == status, answer.text
    assert answer.mimetype == "application/problem+json"
    assert body(answer)["code"] == code
    return body(answer)


def start(api: Api, target: str = B, **more: object) -> TestResponse:
    return api.post(SWITCHES, json={"target": target, "confirm": True, **more})


# --- models --------------------------------------------------------------------------------------------------------


def test_models_are_listed_with_what_serves_and_no_server_is_asked(bench: Bench, api: Api) -> None:
    before = sum(server.counters.calls for server in bench.servers.values())
    answer = api.get(MODELS)
    assert answer.status_code == 200
    assert sum(server.counters.calls for server in bench.servers.values()) == before
    found = {item["key"]: item for item in body(answer)["items"]}
    assert {A, B, C} <= set(found)
    assert (found[A]["serving"], found[A]["dimensions"], found[A]["configured"]) == (True, 16, True)
    assert (found[B]["serving"], found[B]["dimensions"]) == (False, 24)
    assert not found["openai_compatible:universal-sentence-encoder-m3"]["configured"]
    serving = body(answer)["serving"]
    assert (serving["key"], serving["documents_done"], serving["documents"]) == (A, 8, 8)


def test_what_is_kept_of_the_former_model_is_said(bench: Bench, api: Api) -> None:
    bench.start()
    bench.settle()
    found = {item["key"]: item for item in body(api.get(MODELS))["items"]}
    assert found[A]["retained"]["rows"] == 8
    assert found[B]["retained"] is None


# --- preview and start ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wish", [{}, {"confirm": False}, {"mode": "in_place"}])
def test_without_confirm_the_preview_is_answered_and_nothing_starts(
    bench: Bench, api: Api, wish: dict[str, object]
) -> None:
    answer = api.post(SWITCHES, json={"target": B, **wish})
    assert answer.status_code == 200
    shown = body(answer)
    assert shown["started"] is False
    assert (shown["documents"], shown["already_done"], shown["to_embed"]) == (8, 0, 8)
    assert (shown["from"]["key"], shown["to"]["key"], shown["change"]) == (A, B, "dimensions_differ")
    assert [cost["mode"] for cost in shown["costs"]] == ["side_by_side", "in_place"]
    assert len(shown["seconds"]) == 2
    assert bench.ai.switching.history() == []
    assert bench.queue.sent == []


def test_a_confirmed_start_is_accepted_and_shows_the_settled_names(bench: Bench, api: Api) -> None:
    answer = start(api, mode="in_place")
    assert answer.status_code == 202
    assert body(answer)["started"] is True
    current = body(api.get(CURRENT))
    assert set(current) >= SETTLED
    assert (current["status"], current["phase"], current["mode"]) == ("running", "preflight", "in_place")
    assert (current["from"], current["to"], current["interrupted"], current["reason"]) == (A, B, False, None)
    bench.run_to("indexes")
    current = body(api.get(CURRENT))
    assert (current["done"], current["total"], current["rounds"]) == (8, 8, 1)
    assert [(part["entity"], part["done"], part["total"]) for part in current["entities"]] == [("cms.contents", 8, 8)]
    bench.settle()
    assert bench.serving == B


def test_idle_has_the_same_names(api: Api) -> None:
    answer = api.get(CURRENT)
    assert answer.status_code == 200
    assert set(body(answer)) >= SETTLED
    assert (body(answer)["status"], body(answer)["phase"], body(answer)["to"]) == ("idle", None, None)


def test_the_second_start_is_refused_and_changes_nothing(bench: Bench, api: Api) -> None:
    assert start(api).status_code == 202
    for target in (B, C):
        problem = refused(start(api, target), 409, "switch.not_idle")
        assert B in problem["detail"]
    refused(api.post(SWITCHES, json={"target": C}), 409, "switch.not_idle")
    assert len(bench.ai.switching.history()) == 1


def test_refusals_come_in_order_and_change_nothing(bench: Bench, api: Api) -> None:
    problem = refused(start(api, "openai_compatible:nobody"), 404, "profile.unknown")
    assert B in problem["detail"], "the known ones are listed"
    refused(start(api, A), 409, "switch.already_active")
    refused(start(api, "openai_compatible:universal-sentence-encoder-m3"), 409, "switch.not_configured")
    refused(start(api, epoch=99), 409, "switch.changed_since_preview")
    assert bench.ai.switching.history() == []
    assert bench.serving == A


@pytest.mark.parametrize(
    ("behaviour", "status", "code"),
    [
        (Behaviour(dims=7), 409, "switch.dimensions"),
        (Behaviour(model="delta"), 409, "switch.other_model"),
        (Behaviour(norm=2.0), 409, "switch.not_normalised"),
        (Behaviour(status=500), 503, "switch.probe_failed"),
    ],
)
def test_a_server_that_is_not_the_profiles_refuses_the_start(
    bench: Bench, api: Api, behaviour: Behaviour, status: int, code: str
) -> None:
    bench.servers["beta"].behaviour = behaviour
    refused(start(api), status, code)
    assert bench.ai.switching.history() == []
    assert (bench.serving, bench.suspended) == (A, None)


@pytest.mark.parametrize(
    ("wish", "path"),
    [
        ({"target": B, "confirm": True, "dimensions": 24}, "dimensions"),
        ({"confirm": True}, "target"),
        ({"target": 3, "confirm": True}, "target"),
        ({"target": B, "confirm": "yes"}, "confirm"),
        ({"target": B, "confirm": True, "mode": "upside_down"}, "mode"),
        ({"target": B, "confirm": True, "epoch": "1"}, "epoch"),
        ({"target": "x" * 301}, "target"),
    ],
)
def test_input_that_does_not_fit_is_refused_by_field(
    bench: Bench, api: Api, wish: dict[str, object], path: str
) -> None:
    problem = refused(api.post(SWITCHES, json=wish), 422, "input.invalid")
    assert [error["path"] for error in problem["errors"]] == [path]
    assert bench.ai.switching.history() == []


@pytest.mark.parametrize("content", [b"{", b"", b"[1]", b"null"])
def test_a_body_that_is_no_object_is_refused(api: Api, content: bytes) -> None:
    answer = api.post(SWITCHES, data=content, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert answer.mimetype == "application/problem+json"


# --- resume, abandon, decide ---------------------------------------------------------------------------------------


def test_resume_and_abandon_say_what_stands_against_them(bench: Bench, api: Api) -> None:
    for action in ("resume", "abandon"):
        refused(api.post(f"{CURRENT}/{action}"), 409, "switch.nothing_running")
    bench.start()
    refused(api.post(f"{CURRENT}/resume"), 409, "switch.runs_normally")
    bench.settle()
    refused(api.post(f"{CURRENT}/abandon"), 409, "switch.already_activated")
    assert bench.serving == B


def test_abandon_leads_back_to_idle(bench: Bench, api: Api) -> None:
    bench.start()
    bench.run_to("verify")
    answer = api.post(f"{CURRENT}/abandon")
    assert answer.status_code == 202
    assert body(answer)["status"] == "idle"
    assert (bench.serving, bench.suspended) == (A, None)


def test_the_way_back_after_an_abandoned_switch_in_place_can_t_be_abandoned(bench: Bench, api: Api) -> None:
    bench.start(mode="in_place")
    bench.run_to("verify")
    answer = api.post(f"{CURRENT}/abandon")
    assert answer.status_code == 202
    assert (body(answer)["status"], body(answer)["kind"], body(answer)["to"]) == ("running", "return", A)
    refused(api.post(f"{CURRENT}/abandon"), 409, "switch.return_cannot_stop")
    bench.settle()
    assert (bench.serving, bench.suspended) == (A, None)


def test_a_failed_switch_is_decided_and_resumed(bench: Bench, api: Api) -> None:
    bench.servers["beta"].script(
        lambda number, texts: Behaviour(status=400) if any("record 3" in sent for sent in texts) else None
    )
    bench.start()
    bench.run_until(lambda: bench.ai.switching.status().status == "failed")
    bench.servers["beta"].reset()
    current = body(api.get(CURRENT))
    assert (current["status"], current["reason_code"]) == ("failed", "switch.failed.decisions")
    assert "could not be embedded and need a decision: 1" in current["reason"]
    (failure,) = current["failures"]
    assert (failure["record_id"], failure["resolution"]) == (3, None)
    assert "text of record" not in str(current)
    wish = {"resolution": "set_aside", "ids": [failure["id"]]}
    refused(api.post(f"{CURRENT}/failures", json=wish), 422, "input.required")
    answer = api.post(f"{CURRENT}/failures", json={**wish, "note": "a scan"})
    assert (answer.status_code, body(answer)["decided"]) == (200, 1)
    assert api.post(f"{CURRENT}/resume").status_code == 202
    bench.settle()
    assert bench.serving == B
    last = body(api.get(HISTORY))["items"][0]
    assert (last["status"], last["actuals"]["set_aside"]) == ("activated", 1)


def test_a_switch_that_stands_still_is_interrupted(bench: Bench, api: Api) -> None:
    bench.start()
    with bench.container.units() as unit:
        unit.session.execute(text("update switches set progress_at = progress_at - interval '31 minutes'"))
    assert body(api.get(CURRENT))["interrupted"] is True
    assert api.post(f"{CURRENT}/resume").status_code == 202


# --- history -------------------------------------------------------------------------------------------------------


def test_the_history_holds_who_when_and_the_estimate_against_what_it_took(bench: Bench, api: Api) -> None:
    assert body(api.get(HISTORY))["items"] == []
    assert start(api).status_code == 202
    assert api.post(f"{CURRENT}/abandon").status_code == 202
    bench.settle()
    assert start(api, C).status_code == 202
    bench.settle()
    first, second = body(api.get(HISTORY))["items"]
    assert (first["to"], first["status"], second["to"], second["status"]) == (C, "activated", B, "abandoned")
    assert (first["started_by"], first["from"], first["mode"]) == ("admin", A, "side_by_side")
    assert first["finished_at"] > first["started_at"]
    assert (first["estimate"]["documents"], first["actuals"]["embedded"]) == (8, 8)
    assert len(body(api.get(f"{HISTORY}?limit=1"))["items"]) == 1
    for limit in ("0", "-1", "x", "9999"):
        assert api.get(f"{HISTORY}?limit={limit}").status_code == 422


# --- who -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scope", "starts"), [("read", 403), ("write", 403), ("admin", 202), ("all", 202)])
def test_a_token_needs_the_scope_admin_to_start(
    bench: Bench, app: APIFlask, people: People, scope: str, starts: int
) -> None:
    script = Api(app, people.token(people.user("root", "administrator"), scope))
    for path in (MODELS, CURRENT, HISTORY):
        assert script.get(path).status_code == 200
    answer = start(script)
    assert answer.status_code == starts
    assert len(bench.ai.switching.history()) == (starts == 202)
    if starts == 403:
        refused(answer, 403, "access.scope")
        refused(script.post(f"{CURRENT}/abandon"), 403, "access.scope")


def test_a_scope_never_gives_what_the_owner_may_not(bench: Bench, app: APIFlask, people: People) -> None:
    script = Api(app, people.token(people.user("rita", "reader"), "all"))
    for path in (MODELS, CURRENT, HISTORY):
        refused(script.get(path), 403, "access.forbidden")
    for path, wish in (
        (SWITCHES, {"target": B}),
        (SWITCHES, {"target": B, "confirm": True}),
        (f"{CURRENT}/resume", None),
        (f"{CURRENT}/abandon", None),
        (f"{CURRENT}/failures", {"resolution": "retry"}),
    ):
        refused(script.post(path, json=wish), 403, "access.forbidden")
    assert bench.ai.switching.history() == []


def test_nobody_gets_nothing(app: APIFlask) -> None:
    stranger = Api(app, "chg_unknown")
    for path in (MODELS, CURRENT, HISTORY):
        refused(stranger.get(path), 401, "access.token_invalid")


def test_without_the_ai_packages_the_problem_says_what_is_missing(bench: Bench, api: Api) -> None:
    bench.container.ai = None
    for answer in (api.get(MODELS), api.get(CURRENT), start(api)):
        refused(answer, 503, "ai.absent")
