"""What finds the nearest passages, whichever it is (`app/embeddings/indexes/ports.py`): the same records in the same
order, with the same similarities."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import event

from app.container import Container
from app.core.clock import SystemClock
from app.core.contracts.actor import SYSTEM
from app.core.contracts.conditions import Condition, Group
from app.core.contracts.copies import Shape
from app.core.elasticsearch.reading import Reader
from app.core.settings.schema import SEARCH_ENGINE
from app.embeddings.indexes.elasticsearch import ElasticsearchPassages, Short
from app.embeddings.indexes.pgvector_nearest import PgvectorIndex
from tests.fakes.clock import FakeClock
from tests.fakes.queue import RecordingQueue
from tests.fixtures.databases import wait_until_nothing_is_older
from tests.fixtures.elasticsearch import elasticsearch_container
from tests.integration.search.conftest import CONTENTS, Stage

TICKETS = "sao.tickets"


def at(degrees: float) -> list[float]:
    """A unit vector so far from the question's."""
    return [math.cos(math.radians(degrees)), math.sin(math.radians(degrees)), 0, 0]


class PostgresStage(Stage):
    """The vectors in PostgreSQL answer."""

    def settle(self) -> None:
        """Everything that was written can be found from now on."""

    def built(self) -> None:
        """What was written is complete."""


class ElasticsearchStage(PostgresStage):
    """Elasticsearch proposes; no answer comes from PostgreSQL's own index."""

    def __init__(self, container: Container) -> None:
        super().__init__(container)
        assert container.elasticsearch is not None
        self.follower = container.elasticsearch
        reader = Reader(container.units, self.follower.cluster, self.follower.serving)
        self.vectors._index = ElasticsearchPassages(reader, container.registry)
        self.follower.reindex(lambda entity, done, total: None)
        with container.units() as unit:
            container.settings.write_system(unit, SEARCH_ENGINE, "elasticsearch")

    def embed(self, entity: str, record: int, *arguments: Any, **options: Any) -> None:
        """As whoever writes vectors does: with an event."""
        super().embed(entity, record, *arguments, **options)
        self.execute(
            "insert into index_events (entity, record_id, revision) values (:entity, :record, 0)",
            entity=entity, record=record,
        )  # fmt: skip

    def settle(self) -> None:
        wait_until_nothing_is_older(self.follower.units.engine)
        while self.follower.apply():
            pass
        self.follower.cluster.refresh(f"{self.follower.cluster.prefix}-*")

    def nearest(self, *arguments: Any, **options: Any) -> Any:
        self.settle()
        return super().nearest(*arguments, **options)


@pytest.fixture(params=["postgres", "elasticsearch"])
def stage(request: pytest.FixtureRequest, clock: FakeClock, queue: RecordingQueue) -> Iterator[PostgresStage]:
    if request.param == "postgres":
        yield PostgresStage(request.getfixturevalue("container"))
        return
    with elasticsearch_container(request.getfixturevalue("config"), clock, queue) as container:
        yield ElasticsearchStage(container)


def test_nearest_first_ties_by_id(stage: Stage) -> None:
    for number, degrees in ((3, 30), (1, 60), (7, 10), (5, 10)):
        stage.put(number, at(degrees))
    hits = stage.ask()
    assert [hit.record_id for hit in hits] == [5, 7, 3, 1]
    assert hits[0].similarity == pytest.approx(math.cos(math.radians(10)), abs=1e-5)
    assert hits[3].similarity == pytest.approx(math.cos(math.radians(60)), abs=1e-5)
    assert all(hit.current for hit in hits)


def test_the_best_passage_speaks_for_a_record(stage: Stage) -> None:
    stage.put(1, at(40), at(5), at(80))
    stage.put(2, at(20))
    first, second = stage.ask()
    assert (first.record_id, first.locale, first.start, first.end) == (1, "en", 1, 21)
    assert second.record_id == 2


def test_records_are_distinct_however_many_passages_they_have(stage: Stage) -> None:
    stage.put(1, *[at(1 + n / 100) for n in range(60)])
    for number in range(2, 8):
        stage.put(number, at(30 + number))
    assert [hit.record_id for hit in stage.ask(window=5)] == [1, 2, 3, 4, 5]


def test_how_many_passages_a_window_takes_is_remembered(container: Container) -> None:
    stage = PostgresStage(container)
    for number in range(1, 31):
        stage.put(number, *[at(number + n / 10) for n in range(3)])
    asked: list[int] = []

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        if "embeddings" in statement and "most" in str(parameters):
            asked.append(max(value for name, value in parameters.items() if name.startswith("most")))

    event.listen(container.engine, "before_cursor_execute", note)
    try:
        first = stage.ask(window=10)
        met, asked[:] = list(asked), []
        again = stage.ask(window=10)
    finally:
        event.remove(container.engine, "before_cursor_execute", note)
    assert [hit.record_id for hit in first] == list(range(1, 11))
    assert again == first
    assert met[0] == 10
    assert len(met) > 1
    assert asked == [max(asked)]
    assert 30 <= asked[0] < 40


def test_only_the_entities_in_scope_and_the_serving_space(stage: Stage) -> None:
    stage.put(1, at(50))
    stage.put(2, at(5), entity=TICKETS)
    other = stage.add_space("openai_compatible:other")
    stage.embed(CONTENTS, 1, "en", 0, 1, at(0), space=other)
    (hit,) = stage.ask()
    assert hit.similarity == pytest.approx(math.cos(math.radians(50)), abs=1e-5)
    assert [hit.record_id for hit in stage.ask({CONTENTS: None, TICKETS: None})] == [2, 1]


def test_a_locale_restricts_records_and_every_passage_competes(stage: Stage) -> None:
    stage.put(1, en="a text", it="un testo")
    stage.put(2, at(5), en="only english")
    stage.embed(CONTENTS, 1, "en", 0, 1, at(10))
    stage.embed(CONTENTS, 1, "it", 0, 1, at(90))
    (hit,) = stage.ask(locale="it")
    assert (hit.record_id, hit.locale) == (1, "en")


def test_rows_of_one_locale_let_no_passage_of_another_through(stage: Stage) -> None:
    for number in range(1, 9):
        stage.put(number, en="a text", it="un testo")
        stage.embed(CONTENTS, number, "en", 0, 1, at(number))
        stage.embed(CONTENTS, number, "it", 0, 1, at(50 + number))
    hits = stage.ask({CONTENTS: Condition("locale", "=", "it")}, window=5)
    assert [(hit.record_id, hit.locale) for hit in hits] == [(number, "it") for number in range(1, 6)]
    assert hits[0].similarity == pytest.approx(math.cos(math.radians(51)), abs=1e-5)


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (Condition("record_id", "in", (2, 4)), [2, 4]),
        (Condition("record_id", ">", 3), [4, 5]),
        (Group("or", (Condition("record_id", "=", 1), Condition("locale", "=", "it"))), [1]),
        (Group("or", ()), []),
    ],
)
def test_conditions(stage: Stage, tree: Any, expected: list[int]) -> None:
    for number in range(1, 6):
        stage.put(number, at(10 * number))
    assert [hit.record_id for hit in stage.ask({CONTENTS: tree})] == expected


def test_k_of_k_where_few_rows_are_visible_and_far_away(stage: Stage) -> None:
    for number in range(1, 301):
        stage.put(number, at(80 if number % 30 == 0 else number / 30))
    visible = Condition("record_id", "in", tuple(range(30, 301, 30)))
    hits = stage.ask({CONTENTS: visible}, window=10)
    assert [hit.record_id for hit in hits] == list(range(30, 301, 30))


def test_conditions_on_fields_of_the_record(stage: Stage) -> None:
    made = []
    for category in ("news", "policy", "news"):
        with stage.units() as unit:
            texts = {"en": {"title": "Printer", "body": "x"}}
            values = {"category": category, "status": "published", "translations": texts}
            made.append(stage.container.records.create(unit, SYSTEM, CONTENTS, values).id)
    for place, key in enumerate(made):
        stage.embed(CONTENTS, key, "en", 0, 1, at(10 + place))
    news = Condition("category", "=", "news")
    assert [hit.record_id for hit in stage.ask({CONTENTS: news})] == [made[0], made[2]]


def test_a_text_that_changed_is_findable_but_not_current(stage: Stage) -> None:
    stage.put(1, at(10))
    stage.put(1, en="Another text")
    (hit,) = stage.ask()
    assert not hit.current


def test_what_is_removed_or_embedded_anew_is_what_is_found(stage: Stage) -> None:
    for number in (1, 2, 3):
        stage.put(number, at(10 * number), at(80))
    stage.ask()
    with stage.units() as unit:
        stage.container.outbox.remove(unit, CONTENTS, 1)
    stage.execute("delete from embeddings where record_id = 2")
    stage.embed(CONTENTS, 2, "en", 0, 1, at(60))
    assert [hit.record_id for hit in stage.ask()] == [3, 2]


def test_what_the_index_does_not_know_yet_is_decided_by_postgresql(stage: Stage) -> None:
    """The index is behind: a deleted record is no hit, and a passage that moved is as near as it is now."""
    for number in (1, 2, 3):
        stage.put(number, at(10 * number), at(80))
    query = stage.vectors.query_vector("question", 1.0)
    stage.nearest(query)
    with stage.units() as unit:
        stage.container.outbox.remove(unit, CONTENTS, 1)
    stage.execute("delete from embeddings where record_id = 2")
    Stage.embed(stage, CONTENTS, 2, "en", 0, 1, at(70))
    hits = Stage.nearest(stage, query)
    assert [hit.record_id for hit in hits] == [3, 2]
    assert hits[1].similarity == pytest.approx(math.cos(math.radians(70)), abs=1e-5)


def test_a_window_that_postgresql_thins_out_is_filled_again(
    config: Any, clock: FakeClock, queue: RecordingQueue
) -> None:
    with elasticsearch_container(config, clock, queue) as container:
        stage = ElasticsearchStage(container)
        for number in range(1, 41):
            stage.put(number, at(number))
        query = stage.vectors.query_vector("question", 1.0)
        stage.nearest(query)
        stage.execute("delete from search_documents where record_id <= 25")
        hits = Stage.nearest(stage, query, None, None, 5)
        assert [hit.record_id for hit in hits] == [26, 27, 28, 29, 30]


def test_an_index_that_can_not_show_the_end_gives_way(
    config: Any, clock: FakeClock, queue: RecordingQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.embeddings.indexes.elasticsearch.WIDENED", (1,))
    with elasticsearch_container(config, clock, queue) as container:
        stage = ElasticsearchStage(container)
        for number in range(1, 21):
            stage.put(number, at(number))
        query = stage.vectors.query_vector("question", 1.0)
        stage.nearest(query)
        stage.execute("delete from search_documents where record_id <= 12")
        with pytest.raises(Short):
            Stage.nearest(stage, query, None, None, 5)
        stage.vectors._index = chosen(container)
        assert [hit.record_id for hit in Stage.nearest(stage, query, None, None, 5)] == [13, 14, 15, 16, 17]


def chosen(container: Container) -> Any:
    """The index as the product wires it."""
    from app.embeddings.indexes.chosen import ChosenIndex

    assert container.elasticsearch is not None
    reader = Reader(container.units, container.elasticsearch.cluster, container.elasticsearch.serving)
    passages = ElasticsearchPassages(reader, container.registry)
    return ChosenIndex(PgvectorIndex(), passages, lambda session: True, SystemClock())


@pytest.mark.parametrize("similarity", ["cosine", "l2", "ip"])
def test_every_similarity(config: Any, clock: FakeClock, queue: RecordingQueue, similarity: str) -> None:
    with elasticsearch_container(config, clock, queue) as parts:
        stage = ElasticsearchStage(parts)
        stage.execute(f"update vector_spaces set similarity = '{similarity}'")
        stage.execute(f"update serving set similarity = '{similarity}'")
        stage.follower.reindex(lambda entity, done, total: None)
        for number in (1, 2, 3):
            stage.put(number, at(20 * number))
        hits = stage.ask()
        assert [hit.record_id for hit in hits] == [1, 2, 3]
        assert [hit.similarity for hit in hits] == pytest.approx(
            [math.cos(math.radians(20 * number)) for number in (1, 2, 3)], abs=1e-5
        )
        with parts.units() as unit:
            assert parts.elasticsearch is not None
            assert parts.elasticsearch.vectors is not None
            assert parts.elasticsearch.vectors.serving(unit.session) == Shape(stage.space, 4, similarity)
