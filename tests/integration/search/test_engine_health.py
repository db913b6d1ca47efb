"""What is told of the engines' indexes, by the indexes themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from app.core.config import Config
from app.core.contracts.documents import Document
from app.core.settings.schema import SEARCH_ENGINE
from app.core.unit import Unit
from app.search.engine_health import EngineHealth, engine_health
from tests.contracts.test_passage_index import CONTENTS, ElasticsearchStage, Stage, at
from tests.fakes.clock import FakeClock
from tests.fakes.queue import RecordingQueue
from tests.fixtures.elasticsearch import elasticsearch_container


@pytest.fixture
def engine(config: Config, clock: FakeClock, queue: RecordingQueue) -> Iterator[ElasticsearchStage]:
    with elasticsearch_container(config, clock, queue) as container:
        yield ElasticsearchStage(container)


def health(stage: Stage) -> Sequence[EngineHealth]:
    parts = stage.container

    def chosen(session: Any) -> str:
        return str(parts.settings.value(Unit(session), SEARCH_ENGINE))

    return engine_health(parts.units, chosen, parts.elasticsearch)


def contents(found: EngineHealth) -> Any:
    (one,) = (index for index in found.indexes if index.entity == CONTENTS)
    return one


def test_postgresql_alone(stage: Stage) -> None:
    for number in (1, 2, 3):
        stage.put(number, at(number))
    stage.index()
    (postgres,) = health(stage)
    assert (postgres.engine, postgres.chosen, postgres.lag, postgres.problems) == ("postgres", True, 0, [])
    assert postgres.version is not None
    vectors = contents(postgres)
    assert (vectors.kind, vectors.documents, vectors.vectors, vectors.dimensions) == ("vectors", 3, 3, 4)
    assert (vectors.state, vectors.valid, vectors.ready) == ("serving", True, True)
    words = [index for index in postgres.indexes if index.kind == "words"]
    assert words
    assert {index.documents for index in words} == {3}
    assert postgres.size == sum(index.size for index in postgres.indexes) > 0


def test_elasticsearch_beside_it(engine: ElasticsearchStage) -> None:
    for number in (1, 2, 3):
        engine.put(number, at(number))
    engine.put(4)
    engine.settle()
    postgres, elasticsearch = health(engine)
    assert (postgres.chosen, elasticsearch.chosen, elasticsearch.lag) == (False, True, 0)
    assert elasticsearch.problems == []
    assert elasticsearch.version.startswith("9.")
    one = contents(elasticsearch)
    assert (one.generation, one.state, one.kind) == (elasticsearch.generation, "serving", "words_and_vectors")
    assert (one.documents, one.expected, one.vectors, one.expected_vectors, one.dimensions) == (4, 4, 3, 3, 4)
    assert one.valid
    assert one.size > 0


def test_what_is_wrong_is_named(engine: ElasticsearchStage) -> None:
    engine.put(1, at(1))
    engine.settle()
    cluster = engine.follower.cluster
    index = contents(health(engine)[1]).name
    cluster._client.delete(index=index, id="1", refresh=True)
    assert list(health(engine)[1].problems) == ["incomplete", "vectors_incomplete"]
    cluster.drop([index])
    assert list(health(engine)[1].problems) == ["not_built"]
    engine.follower.stop_following()
    assert list(health(engine)[1].problems) == ["not_built", "not_followed"]
    assert health(engine)[1].lag is None


def test_a_model_that_was_set_up_after_the_indexes_were_built(engine: ElasticsearchStage) -> None:
    other = engine.add_space("openai_compatible:other")
    engine.put(1)
    engine.embed(CONTENTS, 1, "en", 0, 1, at(1), space=other)
    engine.settle()
    engine.execute(f"update serving set space_id = {other}")
    found = health(engine)[1]
    assert (contents(found).vectors, contents(found).expected_vectors) == (0, 1)
    assert list(found.problems) == ["vectors_incomplete"]
    engine.follower.reindex(lambda entity, done, total: None)
    assert health(engine)[1].problems == []


def test_a_server_that_is_away_is_part_of_the_answer(
    engine: ElasticsearchStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    from app.core.errors import Unavailable

    def away() -> str:
        raise Unavailable("engine.away", kind="ConnectionError")

    monkeypatch.setattr(engine.follower.cluster, "version", away)
    found = health(engine)[1]
    assert (found.version, found.indexes, found.problems) == (None, (), ["away"])


def test_vectors_of_the_same_revision_are_not_lost_to_a_late_writer(
    engine: ElasticsearchStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record was read before its vectors were there, and that reading is sent last."""
    with engine.units() as unit:
        documents = [Document(CONTENTS, 1, "en", "Title", "Body", 1)]
        engine.container.outbox.put(unit, CONTENTS, 1, documents)
    held: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(
            engine.follower.cluster, "bulk", lambda items: held.extend(items) or type("R", (), {"refused": ()})
        )
        engine.follower.writer.write([(CONTENTS, 1)])
    engine.embed(CONTENTS, 1, "en", 0, 1, at(5))
    engine.settle()
    assert engine.follower.cluster.bulk(held).superseded == 1
    assert [hit.record_id for hit in engine.ask()] == [1]
