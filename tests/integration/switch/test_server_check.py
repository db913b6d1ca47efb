"""Is the server still the model that the vectors were made with? Asked every minute; a banner and the guard say no."""

from __future__ import annotations

import pytest

from app.core.contracts.actor import SYSTEM
from app.factory import create_app
from app.search.answer import SearchRequest
from jobs import runtime, schedule, upkeep
from tests.fakes.embedding_server import Behaviour
from tests.fixtures.bench import A, B, Bench
from tests.fixtures.clients import Api, Browser, People


@pytest.mark.parametrize(
    "behaviour", [Behaviour(noise=0.5), Behaviour(model="gamma"), Behaviour(dims=9)], ids=["weights", "name", "length"]
)
def test_a_changed_model_suspends_the_meaning_search_until_it_is_back(bench: Bench, behaviour: Behaviour) -> None:
    bench.servers["alpha"].behaviour = behaviour
    bench.ai.upkeep.check_server()
    assert bench.suspended == "model_changed"
    answer = bench.container.search.search(SYSTEM, SearchRequest(q="record"))
    assert (answer.total, answer.meta.vector_disabled) == (12, "suspended")
    bench.servers["alpha"].behaviour = Behaviour()
    bench.ai.upkeep.check_server()
    assert bench.suspended is None


def test_a_server_that_is_away_suspends_nothing(bench: Bench) -> None:
    bench.servers["alpha"].behaviour = Behaviour(status=503)
    assert bench.ai.upkeep.check_server() == "overloaded"
    assert bench.suspended is None
    assert bench.value("select check_result from vector_spaces where model_key = :key", key=A) == "overloaded"


def test_the_check_leaves_a_switch_in_place_alone_and_a_switch_away_from_the_lost_model_ends_it(bench: Bench) -> None:
    bench.servers["alpha"].behaviour = Behaviour(model="gamma")
    bench.ai.upkeep.check_server()
    bench.start(mode="in_place")
    assert bench.suspended == "switching"
    bench.ai.upkeep.check_server()
    assert bench.suspended == "switching"
    bench.settle()
    assert (bench.serving, bench.suspended) == (B, None)


def test_abandoning_a_switch_does_not_lift_what_the_check_suspended(bench: Bench) -> None:
    bench.servers["alpha"].behaviour = Behaviour(model="gamma")
    bench.ai.upkeep.check_server()
    bench.start()
    bench.ai.switching.abandon(SYSTEM)
    assert bench.suspended == "model_changed"


# --- through the front door ----------------------------------------------------------------------------------------


def minute(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> int:
    """Tick as the scheduler does for one minute, and run the checks that it sends; returns how many it sent."""
    monkeypatch.setattr(runtime, "container", lambda: bench.container)
    sent = 0
    for number in range(round(60 / schedule.TICK_SECONDS)):
        schedule.tick(bench.container, number)
        waiting = [wake for wake in bench.queue.sent if wake.job == "jobs.upkeep.check_server"]
        for wake in waiting:
            bench.queue.sent.remove(wake)
            upkeep.check_server()
        sent += len(waiting)
    return sent


@pytest.mark.parametrize("behaviour", [Behaviour(noise=0.5), Behaviour(model="gamma")], ids=["weights", "name"])
def test_a_silent_change_behind_the_servers_name_is_noticed_within_one_check_interval(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, behaviour: Behaviour
) -> None:
    """Within a minute of ticks a banner stands on every page, and search says that it answers by words only."""
    with bench.container.units() as unit:
        bench.container.access.ensure_roles(unit)
    people, app = People(bench.container), create_app(bench.config, bench.container)
    admin = people.user("admin", "administrator")
    page, api = Browser(app).login_as(admin), Api(app, people.token(admin, "all"))
    banner = "The model server answers from another model"

    assert minute(bench, monkeypatch) == 1
    assert banner not in page.get("/search").text
    assert api.get("/api/v1/search?q=record").json["meta"]["search"]["vector_disabled"] is None  # type: ignore[index]

    bench.servers["alpha"].behaviour = behaviour
    assert minute(bench, monkeypatch) == 1
    for path in ("/search?q=record", "/documentation", "/settings/ai", "/settings/ai/health"):
        assert banner in page.get(path).text, path
    meta = api.get("/api/v1/search?q=record").json["meta"]["search"]  # type: ignore[index]
    assert (meta["vector_disabled"], meta["degraded_reason"]) == ("suspended", "vectors_unavailable")
    assert api.get("/api/v1/vector-health").json["items"][0]["problems"] == ["probe"]  # type: ignore[index]

    bench.servers["alpha"].behaviour = Behaviour()
    assert minute(bench, monkeypatch) == 1
    assert banner not in page.get("/search").text
    assert api.get("/api/v1/search?q=record").json["meta"]["search"]["vector_disabled"] is None  # type: ignore[index]
