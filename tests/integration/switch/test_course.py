"""The course of a switch in both modes, and the ways out of it (`switch.md`)."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from app.core.contracts.actor import SYSTEM
from app.core.errors import Conflict
from tests.fakes.embedding_server import Behaviour
from tests.fixtures.bench import A, B, Bench

C = "openai_compatible:gamma"
MODES = ("side_by_side", "in_place")
PHASES = ("preflight", "embeddings", "indexes", "verify", "activate")


@pytest.mark.parametrize("mode", MODES)
def test_a_switch_ends_with_the_target_serving_and_every_vector_right(bench: Bench, mode: str) -> None:
    bench.start(mode=mode)
    bench.settle()
    assert bench.serving == B
    assert bench.suspended is None
    assert bench.last.status == "activated"
    assert bench.violations(B) == []
    assert bench.indexes() == {f"emb_{bench.space(B)}_cms_contents"}
    assert bench.last.actuals["embedded"] == 12
    assert bench.rows("select consumer from index_cursors") == [("serving",)]


@pytest.mark.parametrize("mode", MODES)
def test_a_switch_may_be_the_first_to_make_a_model_serve(bench: Bench, mode: str) -> None:
    with bench.container.units() as unit:
        for table in ("embeddings", "index_cursors", "serving", "vector_spaces"):
            unit.session.execute(text(f"delete from {table}"))
    bench.start(mode=mode)
    bench.settle()
    assert (bench.last.status, bench.serving) == ("activated", B)
    assert bench.violations(B) == []
    assert bench.rows("select consumer from index_cursors") == [("serving",)]


@pytest.mark.parametrize("mode", MODES)
def test_until_activation_the_serving_model_answers_and_nothing_of_it_changes(bench: Bench, mode: str) -> None:
    before = bench.rows("select * from embeddings where space_id = :space", space=bench.space(A))
    bench.start(mode=mode)
    seen = set()
    while bench.ai.switching.status().status == "running":
        seen.add(bench.ai.switching.status().phase)
        assert bench.serving == A
        assert bench.suspended == ("switching" if mode == "in_place" else None)
        assert bench.run_one()
    assert seen == set(PHASES)
    assert bench.rows("select * from embeddings where space_id = :space", space=bench.space(A)) == before


def test_side_by_side_keeps_the_serving_index_until_activation(bench: Bench) -> None:
    bench.start()
    bench.run_to("activate")
    assert bench.indexes() == {f"emb_{bench.space(key)}_cms_contents" for key in (A, B)}


def test_in_place_never_holds_two_indexes(bench: Bench) -> None:
    bench.start(mode="in_place")
    while bench.ai.switching.status().status == "running":
        assert len(bench.indexes()) <= 1
        bench.run_one()


def test_nothing_is_embedded_twice(bench: Bench) -> None:
    bench.start()
    bench.servers["beta"].counters = type(bench.servers["beta"].counters)()  # the preview measures on a few texts
    bench.settle()
    texts = {text: count for text, count in bench.servers["beta"].counters.embedded.items() if "Record" in text}
    assert len(texts) == 12
    assert set(texts.values()) == {1}


def test_switching_back_embeds_only_what_changed_and_the_preview_says_so(bench: Bench) -> None:
    bench.start()
    bench.settle()
    bench.write(3, "another text")
    bench.delete(4)
    bench.write(99, "a new record")
    bench.settle()
    preview = bench.ai.switching.preview(SYSTEM, A)
    assert (preview.already_done, preview.to_embed) == (10, 2)
    bench.servers["alpha"].counters = type(bench.servers["alpha"].counters)()
    bench.start(A)
    bench.settle()
    assert bench.serving == A
    assert bench.violations(A) == []
    sent = [text for text in bench.servers["alpha"].counters.embedded if "Record" in text]
    assert len(sent) == 2


def test_rows_of_the_previous_model_end_with_their_retention(bench: Bench) -> None:
    bench.start()
    bench.settle()
    space = bench.space(A)
    assert bench.value("select count(*) from embeddings where space_id = :space", space=space) == 12
    bench.execute("update vector_spaces set retained_until = clock_timestamp() where id = :id", id=space)
    bench.settle()
    assert bench.value("select count(*) from embeddings where space_id = :space", space=space) == 0


def test_prune_deletes_kept_rows_but_never_those_that_serve(bench: Bench) -> None:
    bench.start()
    with pytest.raises(Conflict):
        bench.ai.upkeep.prune(A)
    bench.settle()
    with pytest.raises(Conflict):
        bench.ai.upkeep.prune(B)
    assert bench.ai.upkeep.prune(A) == 12
    assert bench.violations(B) == []


@pytest.mark.parametrize("phase", PHASES)
def test_abandon_side_by_side_leaves_the_serving_model_as_it_was(bench: Bench, phase: str) -> None:
    bench.start()
    bench.run_to(phase)
    bench.ai.switching.abandon(SYSTEM)
    bench.settle()
    assert (bench.serving, bench.suspended) == (A, None)
    assert bench.ai.switching.status().status == "idle"
    assert bench.last.status == "abandoned"
    assert bench.indexes() == {f"emb_{bench.space(A)}_cms_contents"}
    assert bench.violations(A) == []


@pytest.mark.parametrize("phase", ["preflight", "embeddings"])
def test_abandon_in_place_before_indexes_lifts_the_suspension_at_once(bench: Bench, phase: str) -> None:
    bench.start(mode="in_place")
    bench.run_to(phase)
    bench.ai.switching.abandon(SYSTEM)
    assert (bench.serving, bench.suspended) == (A, None)
    assert bench.ai.switching.status().status == "idle"


@pytest.mark.parametrize("phase", ["indexes", "verify", "activate"])
def test_abandon_in_place_from_indexes_on_rebuilds_the_way_back(bench: Bench, phase: str) -> None:
    bench.start(mode="in_place")
    bench.run_to(phase)
    bench.ai.switching.abandon(SYSTEM)
    status = bench.ai.switching.status()
    assert status.switch is not None
    assert (status.status, status.switch.to_key, bench.suspended) == ("running", A, "switching")
    with pytest.raises(Conflict) as caught:
        bench.ai.switching.abandon(SYSTEM)
    assert caught.value.code == "switch.return_cannot_stop"
    bench.write(2, "edited on the way back")
    bench.settle()
    assert (bench.serving, bench.suspended) == (A, None)
    assert bench.indexes() == {f"emb_{bench.space(A)}_cms_contents"}
    assert bench.violations(A) == []


def test_a_second_try_after_abandon_starts_from_the_rows_of_the_first(bench: Bench) -> None:
    bench.start()
    bench.run_to("indexes")
    bench.ai.switching.abandon(SYSTEM)
    bench.settle()
    assert bench.ai.switching.preview(SYSTEM, B).already_done == 12
    bench.servers["beta"].counters = type(bench.servers["beta"].counters)()
    bench.start()
    bench.settle()
    assert bench.serving == B
    assert [text for text in bench.servers["beta"].counters.embedded if "Record" in text] == []


def test_abandon_after_activation_says_to_switch_back(bench: Bench) -> None:
    bench.start()
    bench.settle()
    with pytest.raises(Conflict) as caught:
        bench.ai.switching.abandon(SYSTEM)
    assert caught.value.code == "switch.already_activated"


def test_resume_refuses_a_switch_that_runs_normally_and_one_that_is_not_there(bench: Bench) -> None:
    with pytest.raises(Conflict):
        bench.ai.switching.resume(SYSTEM)
    bench.start()
    with pytest.raises(Conflict) as caught:
        bench.ai.switching.resume(SYSTEM)
    assert caught.value.code == "switch.runs_normally"


@pytest.mark.parametrize("mode", MODES)
def test_a_server_that_becomes_another_model_stops_the_switch_and_resume_ends_it(bench: Bench, mode: str) -> None:
    bench.start(mode=mode)
    bench.run_to("embeddings")
    bench.run_one()
    bench.servers["beta"].behaviour = Behaviour(model="gamma")
    bench.run_until(lambda: bench.ai.switching.status().status == "failed")
    assert bench.last.error_code == "switch.failed.server_changed"
    assert bench.serving == A
    bench.servers["beta"].behaviour = Behaviour()
    bench.ai.switching.resume(SYSTEM)
    bench.settle()
    assert bench.serving == B
    assert bench.violations(B) == []


def test_a_silent_change_of_weights_behind_the_name_stops_the_switch(bench: Bench) -> None:
    bench.start()
    bench.run_to("embeddings")
    bench.servers["beta"].behaviour = Behaviour(noise=0.5)
    bench.run_until(lambda: bench.ai.switching.status().status == "failed")
    assert bench.last.error_code == "switch.failed.server_changed"


def test_a_text_that_cannot_be_embedded_is_named_and_needs_a_decision(bench: Bench) -> None:
    bench.write(5, "this one is poison")
    bench.settle()
    bench.servers["beta"].behaviour = Behaviour(poison="poison")
    bench.start()
    bench.run_until(lambda: bench.ai.switching.status().status == "failed")
    status = bench.ai.switching.status()
    assert bench.last.error_code == "switch.failed.decisions"
    assert [(failure.record_id, failure.locale) for failure in status.failures] == [(5, "en")]
    assert bench.value("select count(distinct record_id) from embeddings where space_id = :s", s=bench.space(B)) == 11
    bench.ai.switching.decide(SYSTEM, [status.failures[0].id], "set_aside", "the vendor looks into it")
    bench.ai.switching.resume(SYSTEM)
    bench.settle()
    assert bench.serving == B
    assert bench.last.actuals["set_aside"] == 1
    bench.servers["beta"].behaviour = Behaviour()
    bench.write(5, "harmless now")
    bench.settle()
    assert bench.violations(B) == []


def test_a_failed_text_can_be_tried_again(bench: Bench) -> None:
    bench.write(5, "this one is poison")
    bench.settle()
    bench.servers["beta"].behaviour = Behaviour(poison="poison")
    bench.start()
    bench.run_until(lambda: bench.ai.switching.status().status == "failed")
    bench.servers["beta"].behaviour = Behaviour()
    assert bench.ai.switching.decide(SYSTEM, None, "retry", None) == 1
    bench.ai.switching.resume(SYSTEM)
    bench.settle()
    assert bench.serving == B
    assert bench.violations(B) == []
    assert bench.rows("select * from switch_failures") == []


def test_a_job_that_comes_late_or_twice_has_no_effect(bench: Bench) -> None:
    bench.start()
    first = bench.last.id
    bench.run_to("embeddings")
    bench.ai.switching.abandon(SYSTEM)
    before = bench.rows("select count(*) from embeddings")
    for _ in range(2):
        assert bench.ai.machine.advance(first) is False
        assert bench.ai.chunks.work(first, bench.stop) is False
        assert bench.ai.index_chunks.work(first) is False
    assert bench.rows("select count(*) from embeddings") == before
    assert bench.ai.switching.status().status == "idle"


def test_losing_every_job_is_only_a_delay(bench: Bench) -> None:
    bench.start()
    for _ in range(60):
        bench.queue.sent.clear()
        bench.tick()
        woken, bench.queue.sent = bench.queue.sent, []
        for wake in woken:
            bench.job(wake)()
    assert bench.serving == B
    assert bench.violations(B) == []


def test_three_models_in_turn_each_keep_their_own_retention(bench: Bench) -> None:
    for target in (B, C, A):
        bench.start(target)
        bench.settle()
        assert bench.serving == target
        assert bench.violations(target) == []
    kept = {row["key"] for row in bench.ai.switching.retained()}
    assert kept == {B, C}


def test_work_that_fails_again_and_again_for_an_unknown_reason_stops_the_switch_and_resume_goes_on(
    bench: Bench,
) -> None:
    bench.start()
    for _ in range(4):
        bench.ai.machine.trouble(bench.last.id, ValueError("anything"))
    assert bench.ai.switching.status().status == "running"
    bench.ai.machine.trouble(bench.last.id, ValueError("anything"))
    assert (bench.last.error_code, bench.last.error_values) == ("switch.failed.unexpected", {"kind": "ValueError"})
    assert bench.serving == A
    bench.ai.switching.resume(SYSTEM)
    bench.settle()
    assert bench.serving == B


def test_troubles_that_are_over_are_forgotten(bench: Bench) -> None:
    bench.start()
    for phase in ("embeddings", "indexes", "verify"):
        for _ in range(3):
            bench.ai.machine.trouble(bench.last.id, ValueError("anything"))
        bench.run_to(phase)
    bench.settle()
    assert bench.serving == B
