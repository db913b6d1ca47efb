"""Refusals of a start: in the seed's order, naming both sides, and nothing is changed (`seed-facts.md` 2.5)."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from app.core.contracts.actor import ANONYMOUS, SYSTEM
from app.core.errors import ChangeoverError, Conflict, Forbidden, Invalid, NotFound, Unavailable
from tests.fakes.embedding_server import Behaviour
from tests.fixtures.bench import A, B, Bench


def state(bench: Bench) -> list[Any]:
    return [
        bench.rows("select * from serving"),
        bench.rows("select * from switches"),
        bench.rows("select consumer, space_id from index_cursors"),
        bench.rows("select * from settings"),
    ]


def refused(bench: Bench, target: str = B, **values: Any) -> ChangeoverError:
    before = state(bench)
    with pytest.raises(ChangeoverError) as caught:
        bench.ai.switching.start(SYSTEM, target, **values)
    assert state(bench) == before
    return caught.value


def test_somebody_without_the_permission_is_refused(bench: Bench) -> None:
    with pytest.raises(Forbidden):
        bench.ai.switching.start(ANONYMOUS, B)


def test_an_unknown_profile_is_refused_with_the_known_ones(bench: Bench) -> None:
    error = refused(bench, "openai_compatible:nobody")
    assert isinstance(error, NotFound)
    assert error.code == "profile.unknown"
    assert "openai_compatible:beta" in str(error)


def test_the_active_profile_is_refused_even_when_its_server_is_away(bench: Bench) -> None:
    bench.servers["alpha"].behaviour = Behaviour(status=503)
    assert refused(bench, A).code == "switch.already_active"


def test_an_unknown_mode_is_refused(bench: Bench) -> None:
    assert isinstance(refused(bench, mode="sideways"), Invalid)


def test_a_second_start_is_refused_while_one_runs_and_after_it_failed(bench: Bench) -> None:
    bench.start()
    error = refused(bench, "openai_compatible:gamma")
    assert (error.code, error.values["target"], error.values["status"]) == ("switch.not_idle", B, "running")
    bench.servers["beta"].behaviour = Behaviour(model="another")
    bench.run_until(lambda: bench.ai.switching.status().status == "failed")
    assert refused(bench, "openai_compatible:gamma").values["status"] == "failed"


def test_a_server_that_is_away_is_refused_naming_it(bench: Bench) -> None:
    bench.servers["beta"].behaviour = Behaviour(status=503)
    error = refused(bench)
    assert isinstance(error, Unavailable)
    assert (error.code, error.values["profile"]) == ("switch.probe_failed", B)


def test_other_dimensions_are_refused_naming_both_numbers(bench: Bench) -> None:
    bench.servers["beta"].behaviour = Behaviour(dims=3)
    error = refused(bench)
    assert (error.code, error.values["declared"], error.values["measured"]) == ("switch.dimensions", 24, 3)


def test_another_model_of_the_same_length_is_refused_naming_both(bench: Bench) -> None:
    bench.servers["beta"].behaviour = Behaviour(model="gamma")
    error = refused(bench)
    assert (error.code, error.values["measured"], error.values["declared"]) == ("switch.other_model", "gamma", "beta")


def test_a_server_that_names_no_model_is_refused(bench: Bench) -> None:
    bench.servers["beta"].behaviour = Behaviour(name_model=False, info=False)
    assert refused(bench).code == "switch.names_no_model"


def test_vectors_that_are_not_normalised_are_refused_with_their_length(bench: Bench) -> None:
    bench.servers["beta"].behaviour = Behaviour(norm=5.0)
    error = refused(bench)
    assert (error.code, error.values["norm"]) == ("switch.not_normalised", "5.000")


def test_figures_that_are_out_of_date_are_refused(bench: Bench) -> None:
    epoch = bench.ai.switching.preview(SYSTEM, B).serving_epoch
    assert refused(bench, epoch=epoch + 1).code == "switch.changed_since_preview"
    bench.ai.switching.start(SYSTEM, B, epoch=epoch)


def test_a_refusal_is_stored_only_on_request_and_can_be_cleared(bench: Bench) -> None:
    bench.servers["beta"].behaviour = Behaviour(dims=3)
    with pytest.raises(Conflict):
        bench.ai.switching.start(SYSTEM, B, report=True)
    status = bench.ai.switching.status()
    assert (status.status, status.phase) == ("failed", "preflight")
    assert bench.suspended is None
    bench.ai.switching.abandon(SYSTEM)
    assert bench.ai.switching.status().status == "idle"
    assert bench.last.status == "cleared"


def test_two_administrators_at_once_start_one_switch(bench: Bench) -> None:
    outcomes: list[str] = []
    barrier = threading.Barrier(2)

    def start(target: str) -> None:
        barrier.wait()
        try:
            bench.ai.switching.start(SYSTEM, target)
            outcomes.append("started")
        except Conflict as error:
            outcomes.append(error.code)

    threads = [threading.Thread(target=start, args=(key,)) for key in (B, "openai_compatible:gamma")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    started, refused_with = sorted(outcomes)
    assert started == "started"
    assert refused_with in ("switch.being_started", "switch.not_idle")
    assert bench.value("select count(*) from switches") == 1


def test_the_preview_counts_what_there_is_to_do_and_changes_nothing(bench: Bench) -> None:
    before = state(bench)
    preview = bench.ai.switching.preview(SYSTEM, B)
    assert (preview.documents, preview.to_embed, preview.already_done) == (12, 12, 0)
    assert preview.change == "dimensions_differ"
    assert bench.ai.switching.preview(SYSTEM, "openai_compatible:gamma").change == "dimensions_equal"
    assert preview.seconds is not None
    assert preview.seconds[0] < preview.seconds[1]
    costs = {cost.mode: cost for cost in preview.costs}
    assert costs["in_place"].bytes_needed <= costs["side_by_side"].bytes_needed
    assert (costs["side_by_side"].vectors_off, costs["in_place"].vectors_off) == (False, True)
    assert preview.bytes_free is None or preview.bytes_free > 0
    assert state(bench) == before


def test_a_preview_of_a_server_that_is_away_has_no_time_but_says_why(bench: Bench) -> None:
    bench.servers["beta"].behaviour = Behaviour(status=503)
    preview = bench.ai.switching.preview(SYSTEM, B)
    assert preview.seconds is None
    assert preview.probe is not None
