"""Both legs run side by side, over one snapshot, and within the budget."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from app.container import Container
from app.core.contracts.actor import SYSTEM
from app.core.contracts.documents import Document
from app.core.settings.schema import BUDGET_BALANCED
from app.search.answer import SearchRequest
from app.search.service import Search
from tests.integration.search.conftest import CONTENTS, Stage

NEAR = (1, 0, 0, 0)


def nothing() -> None:
    """Happens at once."""


class Watched:
    """The stage's vectors; ``before`` is called before the question's vector is given, ``looking`` before the leg."""

    def __init__(self, stage: Stage, before: Any = nothing, looking: Any = nothing) -> None:
        self.inner, self.before, self.looking, self.timeouts = stage.vectors, before, looking, list[float]()

    def unavailable(self, session: Any) -> Any:
        return self.inner.unavailable(session)

    def query_vector(self, text: str, timeout: float) -> Any:
        self.timeouts.append(timeout)
        self.before()
        return self.inner.query_vector(text, timeout)

    def nearest(self, *asked: Any) -> Any:
        self.looking()
        return self.inner.nearest(*asked)


class Engine:
    """The word engine, held up before it looks for words."""

    def __init__(self, inner: Any, before: Any) -> None:
        self.inner, self.before = inner, before

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def keyword(self, *asked: Any) -> Any:
        self.before()
        return self.inner.keyword(*asked)


@pytest.fixture
def release() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def ask(search: Search, q: str = "printer", **options: Any) -> Any:
    return search.search(SYSTEM, SearchRequest(q, **options))


def test_the_legs_run_at_the_same_time(stage: Stage) -> None:
    stage.put(1, NEAR, en="the printer")
    met = threading.Barrier(2, timeout=20)
    search = stage.search(Watched(stage, looking=met.wait))
    search._words._engine = Engine(search._words._engine, met.wait)
    found = ask(search)
    assert found.meta.strategies == ("keyword", "vector")
    assert (found.hits[0].words_rank, found.hits[0].vector_rank) == (1, 1)


def test_what_is_written_meanwhile_is_in_no_leg_and_on_no_page(stage: Stage) -> None:
    stage.put(1, NEAR, en="the printer, as it was")

    def write() -> None:
        stage.put(2, NEAR, en="another printer")
        stage.execute("update search_documents set body = 'rewritten' where record_id = 1")

    found = ask(stage.search(Watched(stage, looking=write)))
    assert [(hit.id, hit.vector_rank) for hit in found.hits] == [(1, 1)]
    assert "".join(text for text, _ in found.hits[0].snippet) == "the printer, as it was"
    assert {hit.id for hit in ask(stage.search()).hits} == {1, 2}


def test_a_leg_that_is_late_is_left_behind(stage: Stage, release: threading.Event) -> None:
    stage.put(1, NEAR, en="the printer")
    stage.put(2, NEAR, en="nothing in common")
    found = ask(stage.search(Watched(stage, looking=release.wait), budget_ms=50))
    assert [hit.id for hit in found.hits] == [1]
    assert found.meta.strategies == ("keyword",)
    assert (found.meta.degraded_reason, found.meta.mode_applied) == ("vector_timeout", "balanced")
    assert found.meta.model is None


def test_a_model_that_is_late_is_left_behind(stage: Stage, release: threading.Event) -> None:
    stage.put(1, NEAR, en="the printer")
    found = ask(stage.search(Watched(stage, release.wait), budget_ms=50))
    assert ([hit.id for hit in found.hits], found.meta.degraded_reason) == ([1], "embedder_timeout")


def test_no_transaction_is_open_while_the_model_is_asked(stage: Stage) -> None:
    stage.put(1, NEAR, en="the printer")
    seen: list[Any] = []
    busy = "select count(*) from pg_stat_activity where datname = current_database() and state like 'idle in trans%'"
    ask(stage.search(Watched(stage, lambda: seen.append(stage.execute(busy)))))
    assert seen == [0]


def test_the_model_gets_four_fifths_of_the_budget(stage: Stage) -> None:
    stage.put(1, NEAR, en="the printer")
    vectors = Watched(stage)
    ask(stage.search(vectors, budget_ms=1500))
    assert vectors.timeouts == [pytest.approx(1.2)]


def test_a_leg_whose_database_fails_leaves_words(stage: Stage) -> None:
    stage.put(1, NEAR, en="the printer")

    def fail() -> None:
        raise OperationalError("select", {}, Exception("canceling statement due to statement timeout"))

    found = ask(stage.search(Watched(stage, looking=fail)))
    assert ([hit.id for hit in found.hits], found.meta.degraded_reason) == ([1], "vector_failed")


def test_the_reason_of_the_strategy_comes_first(stage: Stage, release: threading.Event) -> None:
    stage.put(1, NEAR, en="the printer")
    found = ask(stage.search(Watched(stage, release.wait), budget_ms=50), cost="deep")
    assert found.meta.degraded_reason == "deep_unavailable"


def test_the_budget_is_a_setting(container: Container) -> None:
    assert container.settings.definitions[BUDGET_BALANCED].default == 1500
    with container.units() as unit:
        container.settings.write_system(unit, BUDGET_BALANCED, 700, SYSTEM.id)
        assert container.search._defaults.budget_ms(unit.session) == 700


def test_words_alone_export_nothing(container: Container) -> None:
    with container.units() as unit:
        container.outbox.put(unit, CONTENTS, 1, [Document(CONTENTS, 1, "en", "Printer", "x", 1)])
    assert [hit.id for hit in ask(container.search, cost="fast").hits] == [1]
