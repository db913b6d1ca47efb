"""The index of a model that serves waits until an entity is loaded: rows that come before it cost far less."""

from __future__ import annotations

from app.embeddings.consumers import PAGE
from app.embeddings.indexes import pgvector
from tests.fixtures.bench import ENTITY, A, Bench


def without_index(bench: Bench) -> None:
    pgvector.drop_space(bench.container.units.engine, bench.space(A))
    assert bench.indexes() == set()


def write(bench: Bench, first: int, count: int) -> None:
    with bench.container.units() as unit:
        for number in range(first, first + count):
            bench.write(number, f"more text of record {number}", unit=unit)


def test_no_index_is_built_while_more_than_a_tenth_is_missing(bench: Bench) -> None:
    without_index(bench)
    write(bench, 100, 2)
    assert bench.ai.upkeep.build_missing_indexes() == 0
    assert bench.indexes() == set()


def test_an_index_is_built_when_a_tenth_is_missing_at_most(bench: Bench) -> None:
    without_index(bench)
    write(bench, 100, 1)
    assert bench.ai.upkeep.build_missing_indexes() == 1
    assert bench.indexes() == {pgvector.index_name(bench.space(A), ENTITY)}


def test_nobody_is_woken_for_an_index_while_more_events_wait_than_are_read_at_once(bench: Bench) -> None:
    without_index(bench)
    write(bench, 1000, PAGE + 1)
    bench.tick()
    assert "jobs.embeddings_index.build_missing" not in [wake.job for wake in bench.queue.sent]
    bench.pass_events()
    bench.settle()
    assert bench.indexes() == {pgvector.index_name(bench.space(A), ENTITY)}
    assert bench.violations(A) == []
