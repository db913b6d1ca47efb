"""Is the server still the model that the vectors were made with? Asked every minute; a banner and the guard say no."""

from __future__ import annotations

import pytest

from app.core.contracts.actor import SYSTEM
from app.search.answer import SearchRequest
from tests.fakes.embedding_server import Behaviour
from tests.fixtures.bench import A, B, Bench


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
