"""A dry run takes every step but the activation, and leaves nothing: rows, indexes, settings and serving as before."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.contracts.actor import SYSTEM
from app.core.errors import Conflict, Invalid
from tests.fakes.embedding_server import Behaviour
from tests.fixtures.bench import A, B, Bench, C


def dry_run(bench: Bench, target: str = B) -> int:
    return bench.ai.switching.start(SYSTEM, target, dry_run=True).id


def rows(bench: Bench, key: str) -> int:
    return int(bench.value("select count(*) from embeddings where space_id = :space", space=bench.space(key)))


def chosen(bench: Bench) -> list[tuple[Any, ...]]:
    return bench.rows("select name, value::text from settings order by name")


def report(bench: Bench, switch_id: int) -> dict[str, Any]:
    found = bench.ai.switching.find(switch_id)
    assert found is not None
    return bench.ai.views.dry_run(found, bench.ai.switching.left_of_dry_run(switch_id))


def is_as_before(bench: Bench) -> None:
    assert bench.serving == A
    assert bench.suspended is None
    assert bench.violations(A) == []
    assert rows(bench, B) == 0
    assert bench.indexes() == {f"emb_{bench.space(A)}_cms_contents"}
    assert bench.value("select count(*) from index_cursors where consumer = 'target'") == 0
    assert bench.ai.switching.status().status == "idle"


def test_it_runs_to_the_end_shows_the_figures_and_leaves_nothing(bench: Bench) -> None:
    before = (chosen(bench), bench.rows("select * from serving"))
    switch = dry_run(bench)
    bench.settle()
    is_as_before(bench)
    assert (chosen(bench), bench.rows("select * from serving")) == before
    shown = report(bench, switch)
    assert (shown["outcome"], shown["activated"], shown["verified"], shown["left"]) == ("finished", False, True, 0)
    count = bench.value("select count(*) from search_documents")
    assert (shown["documents"], shown["already_done"], shown["embedded"], shown["passages"]) == (count, 0, count, count)
    assert 1 <= shown["calls"] <= bench.servers["beta"].counters.calls
    assert set(shown["phases"]) >= {"preflight", "embeddings", "indexes", "verify"}
    assert [(index["entity"], index["recall"]) for index in shown["indexes"]] == [("cms.contents", 1.0)]
    assert shown["bytes_removed"] == shown["bytes_written"] > count * 24 * 4
    assert shown["estimated"]["documents"] == count
    assert bench.last.status == "finished"


def test_a_switch_is_refused_meanwhile_and_works_afterwards(bench: Bench) -> None:
    dry_run(bench)
    bench.run_to("embeddings")
    with pytest.raises(Conflict) as refused:
        bench.start(C)
    assert refused.value.code == "switch.not_idle"
    bench.settle()
    bench.start(B)
    bench.settle()
    assert bench.serving == B
    assert bench.violations(B) == []


@pytest.mark.parametrize("phase", ["preflight", "embeddings", "indexes", "verify", "activate"])
def test_stopping_it_undoes_it(bench: Bench, phase: str) -> None:
    switch = dry_run(bench)
    bench.run_to(phase)
    bench.ai.switching.abandon(SYSTEM)
    bench.settle()
    is_as_before(bench)
    assert report(bench, switch)["outcome"] == "stopped"


def test_a_failure_undoes_it_by_itself_and_keeps_the_reason(bench: Bench) -> None:
    switch = dry_run(bench)
    bench.run_to("embeddings")
    bench.run_one()
    bench.servers["beta"].behaviour = Behaviour(model="delta")
    bench.settle()
    is_as_before(bench)
    shown = report(bench, switch)
    assert (shown["outcome"], shown["verified"]) == ("failed", False)
    assert "another model" in shown["reason"]


def test_texts_that_would_need_a_decision_are_counted_and_do_not_stop_it(bench: Bench) -> None:
    bench.servers["beta"].script(
        lambda number, texts: Behaviour(status=400) if any("record 3" in sent for sent in texts) else None
    )
    switch = dry_run(bench)
    bench.settle()
    is_as_before(bench)
    shown = report(bench, switch)
    assert (shown["outcome"], shown["undecided"]) == ("finished", 1)
    assert bench.value("select count(*) from switch_failures") == 0


def test_vectors_that_stood_before_stay_as_long_as_they_would_have(bench: Bench) -> None:
    bench.start(B)
    bench.settle()
    bench.start(A)
    bench.settle()
    until = bench.value("select retained_until from vector_spaces where id = :id", id=bench.space(B))
    kept = rows(bench, B)
    switch = dry_run(bench)
    counters = bench.servers["beta"].counters = type(bench.servers["beta"].counters)()
    bench.settle()
    shown = report(bench, switch)
    assert (shown["outcome"], shown["embedded"], shown["passages"], shown["rows_kept"]) == ("finished", 0, 0, kept)
    assert rows(bench, B) == kept
    assert bench.value("select retained_until from vector_spaces where id = :id", id=bench.space(B)) == until
    assert bench.indexes() == {f"emb_{bench.space(A)}_cms_contents"}
    assert not [text for text in counters.embedded if "Record" in text]


def test_it_goes_side_by_side_only(bench: Bench) -> None:
    with pytest.raises(Invalid) as refused:
        bench.ai.switching.start(SYSTEM, B, "in_place", dry_run=True)
    assert refused.value.code == "switch.dry_run_mode"
    assert bench.ai.switching.history() == []
