"""The guard, the question's vector and the nearest passages on real pgvector."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event, text

from app.core.contracts.conditions import Condition, Group
from app.core.contracts.vectors import ServingChanged
from app.core.errors import Conflict, Unavailable
from tests.integration.search.conftest import CONTENTS, Stage

TICKETS = "sao.tickets"


def at(degrees: float) -> tuple[float, float, float, float]:
    """A vector at an angle to the question's."""
    return (math.cos(math.radians(degrees)), math.sin(math.radians(degrees)), 0, 0)


def reason(stage: Stage) -> str | None:
    with stage.units() as unit:
        return stage.vectors.guard(unit.session).reason


def test_the_guard_names_the_first_reason_that_holds(stage: Stage) -> None:
    assert reason(stage) == "no_vectors"
    stage.put(1, at(10))
    assert reason(stage) is None
    other = stage.add_space("openai_compatible:other")
    stage.execute("update serving set space_id = :other", other=other)
    assert reason(stage) == "no_vectors"
    stage.execute("update serving set dimensions = 5")
    assert reason(stage) == "dimension_mismatch"
    stage.execute("update serving set suspended_reason = 'maintenance'")
    assert reason(stage) == "suspended"
    stage.execute("update serving set suspended_reason = 'switching'")
    assert reason(stage) == "switching"
    stage.enabled = False
    assert reason(stage) == "disabled"
    stage.enabled = True
    stage.execute("delete from serving")
    assert reason(stage) == "no_vectors"


def test_the_question_is_embedded_as_the_space_declares_it_and_once(stage: Stage) -> None:
    first = stage.vectors.query_vector("  Where  is it? ", 0.7)
    again = stage.vectors.query_vector("Where is it?", 0.7)
    assert stage.servers.asked == [("Where is it?", "query", 0.7)]
    assert stage.servers.profiles[0].query_prefix == "query: "
    assert (first.space_id, first.epoch) == (again.space_id, again.epoch) == (stage.space, 1)
    other = stage.add_space("openai_compatible:other")
    stage.execute("update serving set space_id = :other, epoch = 2", other=other)
    stage.servers.vector = (0, 1, 0, 0)
    assert tuple(stage.vectors.query_vector("Where is it?", 0.7).vector) == (0, 1, 0, 0)


def test_a_server_that_is_not_configured_is_away(stage: Stage) -> None:
    stage.servers.failure = Conflict("switch.not_configured", profile="m", variable="X")
    with pytest.raises(Unavailable):
        stage.vectors.query_vector("x", 1.0)
    stage.execute("delete from serving")
    with pytest.raises(Unavailable):
        stage.vectors.query_vector("y", 1.0)


@pytest.mark.parametrize("indexed", [False, True])
def test_nearest_first_ties_by_id(stage: Stage, indexed: bool) -> None:
    for number, degrees in ((3, 30), (1, 60), (7, 10), (5, 10)):
        stage.put(number, at(degrees))
    if indexed:
        stage.index()
    hits = stage.ask()
    assert [hit.record_id for hit in hits] == [5, 7, 3, 1]
    assert hits[0].similarity == pytest.approx(math.cos(math.radians(10)), abs=1e-5)
    assert all(hit.current for hit in hits)
    assert [hit.record_id for hit in stage.ask(window=2)] == [5, 7]


def test_rows_of_other_spaces_and_entities_are_not_seen(stage: Stage) -> None:
    stage.put(1, at(50))
    stage.put(2, at(5), entity=TICKETS)
    other = stage.add_space("openai_compatible:other")
    stage.embed(CONTENTS, 1, "en", 0, 1, at(0), space=other)
    (hit,) = stage.ask()
    assert hit.similarity == pytest.approx(math.cos(math.radians(50)), abs=1e-5)
    assert [hit.record_id for hit in stage.ask({CONTENTS: None, TICKETS: None})] == [2, 1]
    assert stage.ask({}) == []


def test_the_best_passage_speaks_for_a_record(stage: Stage) -> None:
    stage.put(1, at(40), at(5), at(80))
    stage.put(2, at(20))
    first, second = stage.ask()
    assert (first.record_id, first.start, first.end) == (1, 1, 21)
    assert second.record_id == 2


def test_a_record_of_many_passages_does_not_fill_the_window(stage: Stage) -> None:
    stage.put(1, *[at(1 + n / 100) for n in range(60)])
    for number in range(2, 8):
        stage.put(number, at(30 + number))
    stage.index()
    assert [hit.record_id for hit in stage.ask(window=5)] == [1, 2, 3, 4, 5]


def fill(stage: Stage, count: int) -> None:
    """``count`` records near the question, every hundredth of them far away and even."""
    with stage.units() as unit:
        unit.session.execute(
            text(
                """insert into search_documents
                    (entity, record_id, locale, title, body, text_hash, embeddable, revision)
                select 'cms.contents', n, 'en', 't', 'b', 'x', true, 1 from generate_series(1, :count) n"""
            ),
            {"count": count},
        )
        unit.session.execute(
            text(
                """insert into embeddings (entity, record_id, locale, space_id, n, "of", start, "end", text_hash,
                    passage_hash, embedding)
                select 'cms.contents', n, 'en', :space, 0, 1, 0, 1, 'x', 'x', case when n % 100 = 0
                    then array[0, sin(n), cos(n), 0.01]::vector
                    else array[1, n::float / 1e6, random() * 0.2, random() * 0.2]::vector end
                from generate_series(1, :count) n"""
            ),
            {"count": count, "space": stage.space},
        )
    stage.index()


def test_k_of_k_with_one_percent_visible_far_from_the_question(stage: Stage) -> None:
    fill(stage, 6000)
    visible = Condition("record_id", "in", tuple(range(100, 6001, 100)))
    hits = stage.ask({CONTENTS: visible}, window=50)
    assert len(hits) == 50
    assert all(hit.record_id % 100 == 0 for hit in hits)
    exact = stage.ask({CONTENTS: Group("and", (visible,))}, window=60)
    assert len(exact) == 60


@contextmanager
def looks(stage: Stage) -> Iterator[list[str]]:
    """The statements that look for passages, as they are sent."""
    seen: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if "<=>" in statement:
            seen.append("exact" if "<=>" in statement and "+ 0" in statement else "index")

    event.listen(stage.units.engine, "before_cursor_execute", note)
    yield seen
    event.remove(stage.units.engine, "before_cursor_execute", note)


def test_whoever_sees_less_than_a_window_is_asked_for_all_of_it_at_once(stage: Stage) -> None:
    fill(stage, 3000)
    few = {CONTENTS: Condition("record_id", "in", tuple(range(100, 3001, 100)))}
    first = stage.ask(few, window=50)
    with looks(stage) as seen:
        assert stage.ask(few, window=50) == first
        assert seen == ["exact"]
        assert len(first) == 30

        stage.ask({CONTENTS: None}, window=50)
        assert seen[1:] == ["index"]


def test_when_they_see_more_the_index_is_asked_again(stage: Stage) -> None:
    for number in range(1, 4):
        stage.put(number, at(number))
    stage.index()
    visible = {CONTENTS: Condition("record_id", ">", 0)}
    assert len(stage.ask(visible, window=5)) == 3
    for number in range(4, 9):
        stage.put(number, at(number))
    assert [hit.record_id for hit in stage.ask(visible, window=5)] == [1, 2, 3, 4, 5]
    with looks(stage) as seen:
        assert [hit.record_id for hit in stage.ask(visible, window=5)] == [1, 2, 3, 4, 5]
    assert seen == ["index"]


def test_a_full_window_comes_from_the_index(stage: Stage) -> None:
    fill(stage, 3000)
    query = stage.vectors.query_vector("question", 1.0)
    with stage.units("REPEATABLE READ") as unit:
        unit.session.execute(text("set local enable_seqscan = off"))
        hits = stage.vectors.nearest(unit.session, query, {CONTENTS: None}, None, 200)
        scan = unit.session.scalar(text("show hnsw.ef_search"))
        way = unit.session.scalar(text("show hnsw.iterative_scan"))
    assert (len(hits), scan, way) == (200, "200", "strict_order")


def test_the_partial_index_is_used(stage: Stage) -> None:
    fill(stage, 3000)
    scans = "select idx_scan from pg_stat_user_indexes where indexrelname like 'emb\\_%'"
    before = stage.execute(scans)
    query = stage.vectors.query_vector("question", 1.0)
    with stage.units("REPEATABLE READ") as unit:
        unit.session.execute(text("set local enable_seqscan = off"))
        stage.vectors.nearest(unit.session, query, {CONTENTS: None}, None, 200)
        unit.session.execute(text("select pg_stat_force_next_flush()"))
    assert stage.execute(scans) == before + 1


def test_a_locale_restricts_records_and_every_passage_competes(stage: Stage) -> None:
    stage.put(1, at(10), en="a text", it="un testo")
    stage.put(2, at(5), en="only english")
    stage.execute("update embeddings set embedding = '[0,1,0,0]' where record_id = 1 and locale = 'it'")
    (hit,) = stage.ask(locale="it")
    assert (hit.record_id, hit.locale) == (1, "en")


def test_a_text_that_changed_is_findable_but_not_current(stage: Stage) -> None:
    stage.put(1, at(10))
    stage.put(1, en="Another text")
    (hit,) = stage.ask()
    assert not hit.current


def test_a_removed_document_is_gone_at_once(stage: Stage) -> None:
    stage.put(1, at(10))
    with stage.units() as unit:
        stage.container.outbox.remove(unit, CONTENTS, 1)
    assert stage.ask() == []


@pytest.mark.parametrize("change", ["epoch = epoch + 1", "suspended_reason = 'switching'"])
def test_a_change_of_the_serving_row_is_noticed(stage: Stage, change: str) -> None:
    stage.put(1, at(10))
    query = stage.vectors.query_vector("question", 1.0)
    stage.execute(f"update serving set {change}")
    with pytest.raises(ServingChanged):
        stage.nearest(query)


def test_a_quote_in_an_entity_can_not_break_out(stage: Stage) -> None:
    query = stage.vectors.query_vector("question", 1.0)
    stage.put(1, at(10))
    assert stage.nearest(query, {"x' or true --%": None}) == []
