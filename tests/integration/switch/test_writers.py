"""Writes during a switch are not lost: right in the serving model at once, in the target after activation."""

from __future__ import annotations

import threading

import pytest

from app.core.contracts.documents import Document
from tests.fakes.embedding_server import Behaviour
from tests.fixtures.bench import ENTITY, A, B, Bench

PHASES = ("preflight", "embeddings", "indexes", "verify", "activate")


def edit_everything(bench: Bench, mark: str) -> None:
    """Edit, create, delete and add a locale: four records of their own for each mark."""
    first = 100 + 10 * PHASES.index(mark)
    bench.write(first, f"edited in {mark}")
    bench.delete(first + 1)
    bench.write(first + 2, f"created in {mark}")
    bench.write(first + 3, f"translated in {mark}", locales=("en", "it"))


@pytest.fixture
def many(bench: Bench) -> Bench:
    for phase in range(len(PHASES)):
        for number in (0, 1, 3):
            bench.write(100 + 10 * phase + number, "as it was")
    bench.settle()
    bench.pass_events()
    return bench


@pytest.mark.parametrize("mode", ["side_by_side", "in_place"])
def test_edits_in_every_phase_reach_both_models(many: Bench, mode: str) -> None:
    many.start(mode=mode)
    for phase in PHASES:
        many.run_to(phase)
        edit_everything(many, phase)
        many.ai.consumers.apply("serving")
        assert many.violations(A) == []
    many.settle()
    assert many.serving == B
    assert many.violations(B) == []
    assert many.value("select count(*) from embeddings where record_id in (101, 111, 121, 131, 141)") == 0


@pytest.mark.parametrize("mode", ["side_by_side", "in_place"])
def test_a_transaction_held_open_across_activation_loses_nothing(bench: Bench, mode: str) -> None:
    bench.start(mode=mode)
    bench.run_to("verify")
    with bench.container.units() as unit:
        bench.write(3, "written before the activation, committed after it", unit=unit)
        bench.write(77, "created before the activation, committed after it", unit=unit)
        unit.session.flush()
        for number in range(4, 9):
            bench.write(number, "committed meanwhile")
        bench.run_until(lambda: bench.serving == B)
        bench.settle()
        assert bench.value("select count(*) from index_events") > 0
    bench.settle()
    assert bench.violations(B) == []
    assert bench.value("select count(*) from embeddings where record_id = 77 and space_id = :s", s=bench.space(B)) == 1


def test_an_event_that_commits_late_is_not_skipped(bench: Bench) -> None:
    """A bigserial is not commit order: the early id commits after a later one was applied."""
    with bench.container.units() as unit:
        bench.write(3, "the early id", unit=unit)
        unit.session.flush()
        bench.write(4, "the late id")
        bench.settle()
    bench.settle()
    assert bench.violations(A) == []


def test_a_slow_answer_never_overwrites_newer_vectors(bench: Bench) -> None:
    bench.servers["alpha"].behaviour = Behaviour(delay=0.6)
    bench.write(3, "the older text")
    worker = threading.Thread(target=lambda: bench.ai.consumers.apply("serving"))
    worker.start()
    bench.servers["alpha"].behaviour = Behaviour()
    bench.write(3, "the newer text")
    bench.ai.upkeep.repair(ENTITY)
    worker.join()
    bench.settle()
    assert bench.violations(A) == []


def test_a_record_deleted_while_it_is_embedded_does_not_come_back(bench: Bench) -> None:
    bench.servers["alpha"].behaviour = Behaviour(delay=0.6)
    bench.write(3, "soon gone")
    worker = threading.Thread(target=lambda: bench.ai.consumers.apply("serving"))
    worker.start()
    bench.delete(3)
    worker.join()
    bench.servers["alpha"].behaviour = Behaviour()
    bench.settle()
    assert bench.value("select count(*) from embeddings where record_id = 3") == 0
    assert bench.violations(A) == []


def test_a_write_that_rolls_back_leaves_no_event(bench: Bench) -> None:
    before = bench.value("select count(*) from index_events")

    def write_and_fail() -> None:
        with bench.container.units() as unit:
            bench.write(3, "never", unit=unit)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_and_fail()
    assert bench.value("select count(*) from index_events") == before


def test_blank_texts_are_not_embedded_and_long_ones_are_cut(bench: Bench) -> None:
    with bench.container.units() as unit:
        bench.container.outbox.put(unit, ENTITY, 50, [Document(ENTITY, 50, "en", "\u200b", " \x00\n", 1)])
        bench.container.outbox.put(unit, ENTITY, 51, [Document(ENTITY, 51, "en", "– –", "…", 1)])
        bench.container.outbox.put(unit, ENTITY, 52, [Document(ENTITY, 52, "en", "long", "word \ud800" * 60_000, 1)])
    bench.settle()
    assert bench.violations(A) == []
    assert bench.value("select count(*) from search_documents where record_id = 50") == 0
    assert bench.value("select embeddable from search_documents where record_id = 51") is False
    assert bench.value("select cut from search_documents where record_id = 52") is True
    assert bench.value("select count(*) from embeddings where record_id in (50, 51)") == 0


def test_several_writers_at_once_during_a_whole_switch(bench: Bench) -> None:
    done = threading.Event()

    def writer(offset: int) -> None:
        number = 0
        while not done.wait(0.02):
            number += 1
            bench.write(1 + (number * 7 + offset) % 30, f"writer {offset} text {number}")
            if number % 5 == 0:
                bench.delete(1 + (number + offset) % 30)

    threads = [threading.Thread(target=writer, args=(offset,)) for offset in range(3)]
    for thread in threads:
        thread.start()
    try:
        bench.start()
        bench.run_until(lambda: bench.serving == B or bench.ai.switching.status().status == "failed", limit=3000)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert bench.serving == B
    bench.settle()
    assert bench.violations(B) == []


def test_a_database_restored_into_another_cluster_is_reconciled_without_help(bench: Bench) -> None:
    """Its cursor stands above every transaction id of the new cluster, so nothing seems to lag (I3)."""
    bench.execute("update index_cursors set xid = '999999999', system_identifier = 'another cluster'")
    bench.execute("delete from embeddings where record_id in (2, 3)")
    bench.write(5, "written after the restore")
    bench.queue.sent.clear()
    bench.settle()
    assert bench.violations(A) == []
    bench.write(6, "written later")
    bench.settle()
    assert bench.violations(A) == []
    assert bench.value("select count(*) from index_cursors where system_identifier = 'another cluster'") == 0
