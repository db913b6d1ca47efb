"""Single passages, whichever engine finds them: the same ones in the same order, with the same similarities."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy.orm import Session

from app.container import Container
from app.core.contracts.conditions import Condition
from app.core.contracts.vectors import PassageHit
from app.core.settings.schema import SEARCH_ENGINE
from app.core.unit import Unit
from app.documentation.pgvector_store import PgvectorPassages
from app.embeddings.indexes.elasticsearch_single import ElasticsearchSingle
from app.embeddings.passage_search import PassageQueries
from app.search.engines.schema import RowFilters
from tests.contracts.test_passage_index import ElasticsearchStage, PostgresStage, at, stage
from tests.integration.search.conftest import CONTENTS

__all__ = ["stage"]


class Counted(ElasticsearchSingle):
    """Notes what it could answer itself."""

    answered = 0

    def passages(self, *arguments: Any) -> list[PassageHit]:
        found = super().passages(*arguments)
        self.answered += 1
        return found


def ask(stage: PostgresStage, limit: int = 10, tree: Any = None, locale: str | None = None) -> list[PassageHit]:
    queries = PassageQueries(RowFilters(stage.container.registry))
    single = None
    if isinstance(stage, ElasticsearchStage):
        single = Counted(stage.vectors._index)  # type: ignore[arg-type]
        queries._elasticsearch, queries._is_chosen = single, _is_elasticsearch(stage.container)
    query = stage.vectors.query_vector("question", 1.0)
    stage.settle()
    with stage.units("REPEATABLE READ") as unit:
        found = queries.passages(unit.session, query, {CONTENTS: tree}, locale, limit)
    assert single is None or single.answered == 1
    return found


def _is_elasticsearch(container: Container) -> Callable[[Session], bool]:
    return lambda session: container.settings.value(Unit(session), SEARCH_ENGINE) == "elasticsearch"


def test_the_documentation_asks_the_engine_of_the_setting(stage: PostgresStage) -> None:
    assert stage.container.documentation is not None
    passages = stage.container.documentation.indexer.passages
    assert isinstance(passages, PgvectorPassages)
    queries = passages._vectors
    assert isinstance(queries, PassageQueries)
    with stage.units() as unit:
        assert queries._is_chosen(unit.session) == isinstance(stage, ElasticsearchStage)
    assert (queries._elasticsearch is not None) == isinstance(stage, ElasticsearchStage)


def test_a_record_may_give_several_passages(stage: PostgresStage) -> None:
    stage.put(1, at(40), at(5), at(80))
    stage.put(2, at(20), at(60))
    stage.put(3, at(50))
    found = ask(stage, limit=4)
    assert [hit.record_id for hit in found] == [1, 2, 1, 3]
    assert [hit.similarity for hit in found] == pytest.approx(
        [math.cos(math.radians(degrees)) for degrees in (5, 20, 40, 50)], abs=1e-5
    )
    assert len({(hit.record_id, hit.start) for hit in found}) == 4


def test_rows_and_locale_hold_for_passages_too(stage: PostgresStage) -> None:
    for number in range(1, 6):
        stage.put(number, en="a text", it="un testo")
        stage.embed(CONTENTS, number, "en", 0, 1, at(number))
        stage.embed(CONTENTS, number, "it", 0, 1, at(30 + number))
    stage.put(9, at(1), en="only english")
    found = ask(stage, 20, Condition("record_id", "in", (2, 4, 9)), "it")
    assert [(hit.record_id, hit.locale) for hit in found] == [(2, "en"), (4, "en"), (2, "it"), (4, "it")]
