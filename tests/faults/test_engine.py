"""The switch where Elasticsearch keeps copies: both modes, killed at every point of its part, and edits meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.core.contracts.actor import SYSTEM
from app.core.contracts.documents import Document
from app.core.errors import Conflict, Unavailable
from app.core.settings.schema import SEARCH_ENGINE
from app.embeddings.checkpoints import ENGINE_NAMES
from app.embeddings.indexes.pgvector_nearest import PgvectorIndex
from app.search.answer import SearchRequest
from jobs import index_events, runtime, schedule
from tests.faults.engine import FOLLOW, EngineBench, engine_bench
from tests.faults.harness import MODES
from tests.fixtures.bench import ENTITY, A, B, fake_servers

SIDE_BY_SIDE_ONLY = ("copies.alias_moved", "copies.dropped")
"""In place the alias stays, and no generation goes."""
PRELIMINARY = ("indexes.dropped_serving", "indexes.built")
CASES = [
    (mode, point)
    for mode in MODES
    for point in (*ENGINE_NAMES, *PRELIMINARY)
    if mode == "in_place" or point != "indexes.dropped_serving"
    if mode == "side_by_side" or point not in SIDE_BY_SIDE_ONLY
]
UNINTERRUPTED: dict[str, Any] = {}


@pytest.fixture
def bench(database: str, tmp_path: Path) -> Iterator[EngineBench]:
    with fake_servers() as servers, engine_bench(database, tmp_path, servers) as made:
        yield made


def switched(bench: EngineBench, mode: str) -> list[str]:
    bench.start(B, mode)
    reasons = bench.finish()
    bench.age()
    bench.go_on()
    return reasons


def normal(bench: EngineBench) -> Any:
    """The documents, with the one thing in them that differs between databases named alike."""
    field = f"vector_{bench.space(B)}"
    documents = bench.documents(bench.live.index)
    return {
        key: {**document, "passages": [{**one, "vector": one[field], field: None} for one in document["passages"]]}
        for key, document in documents.items()
    }


def test_side_by_side_the_new_generation_answers_from_the_activation_on(bench: EngineBench) -> None:
    before = bench.live
    bench.start(B, "side_by_side")
    bench.run_to("verify")
    assert bench.live == before
    assert [one.number for one in bench.generations] == [before.number, before.number + 1]
    assert bench.finish() == []
    assert bench.live.number == before.number + 1
    assert before.index in {one.index for one in bench.generations}  # searches that began earlier still ask it
    bench.age()
    assert [one.number for one in bench.generations] == [before.number + 1]
    assert bench.engine_violations() == []


def test_in_place_the_words_are_never_emptied(bench: EngineBench) -> None:
    before = bench.live
    seen: list[int] = []

    def look() -> None:
        bench.engine.cluster.refresh(before.index)
        seen.append(bench.container.search.search(SYSTEM, SearchRequest(q="record", cost="fast")).total)

    for point in ("copies.before_bulk", "copies.bulk_written", "copies.copied", "copies.refreshed"):
        bench.points.once(point, look)
    assert switched(bench, "in_place") == []
    assert seen == [12, 12, 12, 12]
    assert (bench.live.number, len(bench.generations)) == (before.number, 1)
    assert bench.engine_violations() == []


def uninterrupted(bench: EngineBench) -> Any:
    """The documents of a switch that nothing stops, once per process; the bench is back at its first model then."""
    if not UNINTERRUPTED:
        assert switched(bench, "side_by_side") == []
        UNINTERRUPTED["documents"] = normal(bench)
        bench.start(A, "side_by_side")
        assert bench.finish() == []
        bench.age()
        bench.ai.upkeep.prune(B)
    return UNINTERRUPTED["documents"]


@pytest.mark.parametrize(("mode", "point"), CASES)
def test_a_kill_ends_as_if_nothing_had_happened(bench: EngineBench, mode: str, point: str) -> None:
    expected = uninterrupted(bench)
    bench.points.once(point, bench.die)
    assert switched(bench, mode) == []
    assert bench.deaths == 1
    assert not bench.points.waiting
    assert bench.serving == B
    assert bench.engine_violations() == []
    assert normal(bench) == expected


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("point", ["copies.before_bulk", "copies.bulk_written", "copies.copied", "copies.refreshed"])
def test_edits_amid_the_copy_arrive(bench: EngineBench, mode: str, point: str) -> None:
    def edit() -> None:
        bench.write(3, "text of record 3, edited")
        bench.write(40, "text of record 40, created")
        bench.delete(5)

    bench.points.once(point, edit)
    assert switched(bench, mode) == []
    assert bench.serving == B
    assert bench.engine_violations() == []
    assert bench.documents(bench.live.index)["3"]["body_en"] == "text of record 3 edited"


@pytest.mark.parametrize("phase", ["embeddings", "indexes", "verify", "activate"])
@pytest.mark.parametrize("mode", MODES)
def test_an_abandoned_switch_leaves_what_served(bench: EngineBench, mode: str, phase: str) -> None:
    before = bench.live
    bench.start(B, mode)
    bench.run_to(phase)
    bench.ai.switching.abandon(SYSTEM)
    bench.go_on()
    assert bench.serving == A
    assert bench.live.index == before.index
    assert bench.engine_violations() == []
    assert len(bench.generations) == 1


@pytest.mark.parametrize("mode", MODES)
def test_a_switch_waits_for_elasticsearch_and_names_it_in_the_end(
    bench: EngineBench, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    bench.start(B, mode)
    bench.run_to("indexes")

    def away(*arguments: Any, **options: Any) -> Any:
        raise Unavailable("engine.away", kind="ConnectionError")

    with monkeypatch.context() as patch:
        for name in ("bulk", "indexes", "create", "note", "search"):
            patch.setattr(bench.engine.cluster, name, away)
        for _ in range(4):
            bench.tick()
            bench.drain()
        assert bench.state == "running"
        assert [wait.kind for wait in bench.ai.switching.status().waiting if wait.kind != "worker"] == ["engine"]
        bench.execute("update switches set waiting_since = clock_timestamp() - interval '1 hour'")
        for _ in range(4):
            bench.tick()
            bench.drain()
        assert (bench.state, bench.last.error_code) == ("failed", "switch.failed.engine_away")
    bench.ai.switching.resume(SYSTEM)
    assert bench.finish() == []
    bench.age()
    assert bench.serving == B
    assert bench.engine_violations() == []


def test_indexes_that_were_deleted_or_made_by_hand_are_noticed(bench: EngineBench) -> None:
    """`faults.md` 39: a write after the deletion makes an index whose fields are guesses."""

    def spoil() -> None:
        index = next(one.index for one in bench.generations if one.building)
        bench.engine.cluster.drop([index])
        bench.engine.cluster._client.index(index=index, id="1", document={"title_en": "guess", "passages": [{"n": 1}]})

    bench.points.once("copies.copied", spoil)
    bench.start(B, "side_by_side")
    assert bench.finish() == ["switch.failed.verify"]
    bench.age()
    assert bench.serving == B
    assert bench.engine_violations() == []


def test_a_dry_run_leaves_no_index(bench: EngineBench) -> None:
    before = bench.live
    documents = bench.documents(before.index)
    bench.ai.switching.start(SYSTEM, B, "side_by_side", dry_run=True)
    bench.go_on()
    assert bench.serving == A
    assert bench.generations == [before]
    assert bench.documents(before.index) == documents


def test_the_way_back_takes_a_generation_of_its_own(bench: EngineBench) -> None:
    first = bench.live.number
    assert switched(bench, "side_by_side") == []
    bench.start(A, "side_by_side")
    assert bench.finish() == []
    bench.age()
    assert (bench.serving, bench.live.number) == (A, first + 2)
    assert bench.engine_violations() == []


def test_reindexing_waits_for_the_end_of_a_switch(bench: EngineBench) -> None:
    bench.start(B, "side_by_side")
    bench.run_to("indexes")
    with pytest.raises(Conflict) as refused:
        bench.engine.reindex(lambda entity, done, total: None)
    assert refused.value.code == "engine.switch_open"
    assert bench.finish() == []
    assert bench.engine.reindex(lambda entity, done, total: None).refused == []
    bench.age()
    assert bench.engine_violations() == []
    assert bench.live.entity == ENTITY


@pytest.mark.parametrize("mode", MODES)
def test_questions_are_answered_by_elasticsearch_before_and_after(
    bench: EngineBench, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """Both legs; PostgreSQL's own index of vectors is never asked, and would say the same."""

    def ask() -> tuple[list[int], Any]:
        bench.engine.cluster.refresh(f"{bench.prefix}-*")
        answer = bench.container.search.search(SYSTEM, SearchRequest(q="text of record 7", cost="balanced"))
        assert (answer.meta.mode_applied, answer.meta.degraded_reason) == ("balanced", None)
        return [hit.id for hit in answer.hits], answer.meta

    from_postgres: list[int] = []
    whole = PgvectorIndex.nearest

    def counted(*arguments: Any, **options: Any) -> Any:
        from_postgres.append(1)
        return whole(*arguments, **options)

    monkeypatch.setattr(PgvectorIndex, "nearest", counted)
    before, _ = ask()
    assert switched(bench, mode) == []
    after, _ = ask()
    assert from_postgres == []
    assert len(before) == len(after) == 12
    with bench.container.units() as unit:
        bench.container.settings.write_system(unit, SEARCH_ENGINE, "postgres")
    assert ask()[0] == after
    assert from_postgres == [1]


@pytest.mark.parametrize("mode", MODES)
def test_a_switch_goes_on_without_an_engine_that_is_no_longer_used(bench: EngineBench, mode: str) -> None:
    bench.start(B, mode)
    bench.run_to("indexes")
    bench.points.once("copies.bulk_written", lambda: bench.engine.stop_following())
    with bench.container.units() as unit:
        bench.container.settings.write_system(unit, SEARCH_ENGINE, "postgres")
    bench.go_on()
    if bench.state == "failed":
        bench.ai.switching.resume(SYSTEM)
    assert bench.finish() == []
    assert bench.serving == B
    assert bench.checker.violations_at_rest() == []
    bench.choose()
    assert bench.engine_violations() == []


def test_the_job_of_a_write_brings_its_words_and_its_vectors(
    bench: EngineBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "container", lambda: bench.container)
    bench.write(50, "text of record 50, created")
    index_events.apply_serving()
    document = bench.documents(bench.live.index)["50"]
    assert document["body_en"] == "text of record 50 created"
    assert [one["n"] for one in document["passages"]] == [0]


def test_the_scheduler_wakes_who_follows(bench: EngineBench) -> None:
    bench.write(50, "text of record 50, created")
    bench.queue.sent.clear()  # the write's own wake-up was lost
    schedule.tick(bench.container, 1)
    assert FOLLOW in bench.queue.sent


def test_words_of_records_without_anything_to_embed_come_along(bench: EngineBench) -> None:
    with bench.container.units() as unit:
        marks = [Document("sao.tickets", 7, "en", "???", "!", 1)]
        bench.container.outbox.put(unit, "sao.tickets", 7, marks)
    assert switched(bench, "side_by_side") == []
    (index,) = (one.index for one in bench.engine.generations.all()["sao.tickets"] if one.serves)
    assert set(bench.documents(index)) == {"7"}
    assert bench.engine_violations() == []
