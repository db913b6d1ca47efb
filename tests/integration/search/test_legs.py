"""Both legs run side by side, over one snapshot, and within the budget."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from psycopg.errors import QueryCanceled
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from app.container import Container
from app.core.contracts.actor import SYSTEM
from app.core.contracts.documents import Document
from app.core.elasticsearch.client import SLOW
from app.core.errors import Unavailable
from app.embeddings.indexes.chosen import ChosenIndex
from app.embeddings.indexes.pgvector_nearest import PgvectorIndex
from app.search.answer import SearchRequest
from app.search.service import Search
from tests.integration.search.conftest import CONTENTS, PROFILE, Stage

NEAR = (1, 0, 0, 0)
BRIEF = 800
"""Milliseconds in which words answer on a busy machine, too, and that a test may wait for."""


def nothing() -> None:
    """Happens at once."""


class Watched:
    """The stage's vectors; ``before`` is called before the question's vector is given, ``looking`` before the leg."""

    def __init__(self, stage: Stage, before: Any = nothing, looking: Any = nothing) -> None:
        self.inner, self.before, self.looking, self.timeouts = stage.vectors, before, looking, list[float]()

    def guard(self, session: Any, export: bool = False) -> Any:
        return self.inner.guard(session, export)

    def known_vector(self, *asked: Any) -> Any:
        """Every question is asked of the model."""

    def query_vector(self, text: str, timeout: float, guard: Any) -> Any:
        self.timeouts.append(timeout)
        self.before()
        return self.inner.query_vector(text, timeout, guard)

    def settings(self, *asked: Any) -> str:
        settings: str = self.inner.settings(*asked)
        return settings

    def nearest(self, *asked: Any) -> Any:
        self.looking()
        return self.inner.nearest(*asked)


class Engine:
    """The word engine, held up before it looks for words the first time."""

    def __init__(self, inner: Any, before: Any) -> None:
        self.inner, self.before = inner, before

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def keyword(self, *asked: Any) -> Any:
        before, self.before = self.before, nothing
        before()
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
    words = search._finder._words
    words._engine = Engine(words._engine, met.wait)
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
    found = ask(stage.search(Watched(stage, looking=release.wait), budget_ms=BRIEF))
    assert [hit.id for hit in found.hits] == [1]
    assert found.meta.strategies == ("keyword",)
    assert (found.meta.degraded_reason, found.meta.mode_applied) == ("vector_timeout", "balanced")
    assert found.meta.model is None


def test_a_model_that_is_late_is_left_behind(stage: Stage, release: threading.Event) -> None:
    stage.put(1, NEAR, en="the printer")
    found = ask(stage.search(Watched(stage, release.wait), budget_ms=BRIEF))
    assert ([hit.id for hit in found.hits], found.meta.degraded_reason) == ([1], "embedder_timeout")


def test_no_transaction_is_open_while_the_model_is_asked(stage: Stage) -> None:
    stage.put(1, NEAR, en="the printer")
    seen: list[Any] = []
    busy = "select count(*) from pg_stat_activity where datname = current_database() and state like 'idle in trans%'"
    ask(stage.search(Watched(stage, lambda: seen.append(stage.execute(busy)))))
    assert seen == [0]


def test_the_model_gets_half_of_what_the_legs_have(stage: Stage) -> None:
    stage.put(1, NEAR, en="the printer")
    vectors = Watched(stage)
    ask(stage.search(vectors, budget_ms=1500))
    assert vectors.timeouts == [pytest.approx(0.675)]


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (OperationalError("select", {}, QueryCanceled()), "vector_timeout"),
        (Unavailable("engine.away", kind="away"), "vector_failed"),
        (KeyError("distance"), "vector_failed"),
    ],
)
def test_why_a_leg_has_nothing_is_told(stage: Stage, failure: Exception, reason: str) -> None:
    stage.put(1, NEAR, en="the printer")

    def fail() -> None:
        raise failure

    found = ask(stage.search(Watched(stage, looking=fail)))
    assert ([hit.id for hit in found.hits], found.meta.degraded_reason) == ([1], reason)


def test_a_leg_whose_database_fails_leaves_words(stage: Stage) -> None:
    stage.put(1, NEAR, en="the printer")

    def fail() -> None:
        raise OperationalError("select", {}, Exception("canceling statement due to statement timeout"))

    found = ask(stage.search(Watched(stage, looking=fail)))
    assert ([hit.id for hit in found.hits], found.meta.degraded_reason) == ([1], "vector_failed")


def switch_to(stage: Stage, space: int) -> None:
    """As activation does."""
    stage.execute("update serving set space_id = :space, model_key = 'm:other', epoch = epoch + 1", space=space)


@pytest.fixture
def other(stage: Stage) -> int:
    """Another space, in which record 2 is what record 1 is in the serving one."""
    stage.put(1, NEAR, en="nothing in common")
    stage.put(2, en="nothing at all")
    space = stage.add_space("m:other")
    stage.embed(CONTENTS, 2, "en", 0, 1, NEAR, space=space)
    return space


def test_a_switch_while_the_model_is_asked_is_noticed(stage: Stage, other: int) -> None:
    """The first vector is of the former space, and is compared with nothing."""
    switches = [other]
    found = ask(stage.search(Watched(stage, lambda: switches and switch_to(stage, switches.pop()))))
    assert ([hit.id for hit in found.hits], found.meta.model) == ([2], "m:other")
    assert len(stage.servers.asked) == 2


def test_a_known_vector_is_of_what_serves(stage: Stage, other: int) -> None:
    found = [ask(stage.search()) for _ in range(2)]
    assert [([hit.id for hit in one.hits], one.meta.model) for one in found] == [([1], PROFILE.key)] * 2
    assert len(stage.servers.asked) == 1
    switch_to(stage, other)
    found = [ask(stage.search()) for _ in range(2)]
    assert [([hit.id for hit in one.hits], one.meta.model) for one in found] == [([2], "m:other")] * 2
    assert len(stage.servers.asked) == 2


def test_who_looked_in_place_of_the_chosen_index_is_told(stage: Stage) -> None:
    """PostgreSQL's passages, and the reason that words have for it, too."""
    stage.put(1, NEAR, en="nothing in common")

    class Slow:
        def nearest(self, *asked: Any) -> Any:
            raise Unavailable("engine.away", kind=SLOW)

    slow: Any = Slow()
    stage.vectors._index = ChosenIndex(PgvectorIndex(), slow, lambda session: True, stage.container.clock)
    found = ask(stage.search())
    assert ([hit.id for hit in found.hits], found.meta.strategies) == ([1], ("keyword", "vector"))
    assert found.meta.degraded_reason == "engine_timeout"


MOST = {"fast": (8, 1), "balanced": (13, 2)}
"""Statements and transactions of a search by words alone, and of one by words and meaning whose vector is known."""


@pytest.mark.parametrize("cost", MOST)
def test_nothing_is_read_twice(container: Container, stage: Stage, cost: Any) -> None:
    """Each statement is a way to the database and back: what one search sends is bounded, settings are read once."""
    for number in range(1, 8):
        stage.put(number, NEAR, en="the printer")
    assert container.ai is not None
    container.ai.servers.client = lambda profile: stage.servers  # type: ignore[method-assign,assignment,return-value]
    both = ("keyword",) if cost == "fast" else ("keyword", "vector")
    assert ask(container.search, cost=cost).meta.strategies == both, "the question and its words are known from here on"
    statements: list[str] = []
    begun: list[object] = []

    def began(connection: Any) -> None:
        begun.append(connection)

    def note(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        statements.append(statement)

    event.listen(container.engine, "before_cursor_execute", note)
    event.listen(container.engine, "begin", began)
    try:
        assert ask(container.search, cost=cost).meta.strategies == both
    finally:
        event.remove(container.engine, "before_cursor_execute", note)
        event.remove(container.engine, "begin", began)
    assert sum("FROM settings" in one for one in statements) == 1
    vectors = [one for one in statements if "hnsw" in one or "from serving" in one]
    assert [one.split()[0] for one in vectors] == ([] if cost == "fast" else ["select", "begin"]), "guard, then the leg"
    most, transactions = MOST[cost]
    assert len(statements) <= most, "\n".join(statements)
    assert len(begun) == transactions


def test_words_alone_export_nothing(container: Container) -> None:
    with container.units() as unit:
        container.outbox.put(unit, CONTENTS, 1, [Document(CONTENTS, 1, "en", "Printer", "x", 1)])
    assert [hit.id for hit in ask(container.search, cost="fast").hits] == [1]
