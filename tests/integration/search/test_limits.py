"""How long the word leg may take in PostgreSQL, and what is left of the transaction when it took longer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from sqlalchemy import text

from app.container import Container
from app.core.clock import SystemClock
from app.core.contracts.actor import SYSTEM
from app.core.contracts.documents import Document
from app.search.answer import SearchRequest
from app.search.engines.ports import LegFailed, TooSlow
from app.search.engines.postgres_limit import limited, paced
from tests.fakes.clock import FakeClock
from tests.integration.search.conftest import CONTENTS, Stage, StageParts

TIMEOUT = "select current_setting('statement_timeout')"


def test_a_statement_over_the_limit_leaves_no_trace(container: Container) -> None:
    with container.units("REPEATABLE READ") as unit:
        before = unit.session.scalar(text(TIMEOUT))
        with limited(unit.session, 5.0):
            assert unit.session.scalar(text(TIMEOUT)) == "5s"
        with pytest.raises(TooSlow), limited(unit.session, 0.05):
            unit.session.execute(text("select pg_sleep(60)"))
        assert unit.session.scalar(text(TIMEOUT)) == before
        assert unit.session.scalar(text("select 1")) == 1


def test_a_refused_statement_is_no_end_of_the_transaction(container: Container) -> None:
    with container.units("REPEATABLE READ") as unit:
        with pytest.raises(LegFailed) as raised, limited(unit.session, 5.0):
            unit.session.execute(text("select * from no_such_table"))
        assert type(raised.value) is LegFailed
        assert unit.session.scalar(text("select 1")) == 1


def test_within_the_limit_all_is_as_before(container: Container) -> None:
    with container.units("REPEATABLE READ") as unit:
        before = unit.session.scalar(text(TIMEOUT))
        for _ in range(2):
            with limited(unit.session, 5.0):
                assert unit.session.scalar(text("select 1")) == 1
        assert unit.session.scalar(text(TIMEOUT)) == before
        with limited(unit.session, None):
            assert unit.session.scalar(text(TIMEOUT)) == before


def test_many_statements_share_one_limit(container: Container) -> None:
    """Each of them alone is within it."""
    with container.units("REPEATABLE READ") as unit:
        before = unit.session.scalar(text(TIMEOUT))
        with pytest.raises(TooSlow), paced(unit.session, 0.4, SystemClock()):
            _sleep_thrice(unit.session)
        assert unit.session.scalar(text(TIMEOUT)) == before
        with paced(unit.session, 5.0, SystemClock()):
            assert unit.session.scalar(text("select 1")) == 1
        assert unit.session.scalar(text(TIMEOUT)) == before


def _sleep_thrice(session: Any) -> None:
    for _ in range(3):
        session.execute(text("select pg_sleep(0.3)"))


class Hurried:
    """The word engine, which has no time for what is beside the hits; ``given`` is what it was allowed."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.given = inner, list[float]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def corrections(self, session: Any, words: Any, scope: Any, seconds: float) -> Any:
        self.given.append(seconds)
        raise TooSlow

    def facets(self, *asked: Any) -> Any:
        self.given.append(asked[-1])
        raise TooSlow


@pytest.mark.parametrize("cost", ["fast", "balanced"])
def test_what_there_is_no_time_for_is_left_out_and_said(stage: Stage, cost: Any) -> None:
    stage.put(1, (1, 0, 0, 0), en="the printer and paper")
    engine = Hurried(stage.container.word_engine)
    search = stage.search(with_parts=StageParts(engine=engine), budget_ms=2_000)
    found = search.search(SYSTEM, SearchRequest("paper pritner", cost=cost, facets=True))
    assert [hit.id for hit in found.hits] == [1]
    assert (found.did_you_mean, found.facets, found.meta.degraded_reason) == (None, (), None)
    assert found.meta.as_json()["left_out"] == ["corrections", "facets"]
    assert engine.given == [pytest.approx(1.8), pytest.approx(2.0)], "the clock stands still"


def test_with_time_nothing_is_left_out(stage: Stage) -> None:
    stage.put(1, (1, 0, 0, 0), en="the printer and paper")
    found = stage.search().search(SYSTEM, SearchRequest("paper pritner", cost="fast", facets=True))
    assert (found.did_you_mean, [one.name for one in found.facets]) == ("paper printer", ["entity", "locale"])
    assert "left_out" not in found.meta.as_json()


class Late:
    """The word engine, whose leg with corrections is late, or whose looser questions are."""

    def __init__(self, inner: Any, first: int) -> None:
        self.inner, self.left = inner, first

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def keyword(self, *asked: Any) -> Any:
        if not self.left:
            raise TooSlow
        self.left -= 1
        return self.inner.keyword(*asked)


def test_corrections_that_are_late_leave_what_was_typed(stage: Stage) -> None:
    stage.put(1, (1, 0, 0, 0), en="the printer and paper")
    search = stage.search(with_parts=StageParts(engine=Late(stage.container.word_engine, 1)))
    found = search.search(SYSTEM, SearchRequest("paper pritner", cost="fast"))
    assert ([hit.id for hit in found.hits], found.did_you_mean) == ([1], "paper printer")
    assert (found.meta.degraded_reason, found.meta.strategies) == ("words_timeout", ("keyword",))


def test_advice_for_an_empty_page_is_given_as_far_as_time_allows(stage: Stage) -> None:
    stage.put(1, (1, 0, 0, 0), en="the printer")
    request = SearchRequest("printer", cost="fast", locale="it", entities=(CONTENTS,))
    whole = stage.search().search(SYSTEM, request)
    assert [one.change for one in whole.relaxations] == ["locale"]
    late = stage.search(with_parts=StageParts(engine=Late(stage.container.word_engine, 1))).search(SYSTEM, request)
    assert (late.hits, late.relaxations, late.meta.degraded_reason) == ((), (), None)


@dataclass
class Counted:
    """The engine of words that counts for an explanation: ``answers`` times, then it is late.

    ``given`` is what each count was allowed.
    """

    inner: Any
    answers: int
    given: list[float] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def keyword(self, session: Any, query: Any, scope: Any, locale: Any, window: int, seconds: float) -> Any:
        if window > 1:
            return self.inner.keyword(session, query, scope, locale, window, seconds)
        self.given.append(seconds)
        if len(self.given) > self.answers:
            raise TooSlow
        return self.inner.keyword(session, query, scope, locale, window, seconds)


def explaining(stage: Stage, answers: int) -> tuple[Any, Counted]:
    engine = Counted(stage.container.word_engine, answers)
    return stage.search(with_parts=StageParts(engine=engine)), engine


def test_an_explanation_counts_as_far_as_there_is_time(stage: Stage) -> None:
    stage.put(1, (1, 0, 0, 0), en="the printer")
    stage.put(2, (1, 0, 0, 0), en="the printer", it="la stampante printer")
    request = SearchRequest("printer", cost="fast", locale="it", entities=(CONTENTS,), explain=True, facets=True)
    whole, engine = explaining(stage, 9)
    found = whole.search(SYSTEM, request)
    assert (found.explain or {})["removed"] == {"locale": 1, "entity": 0}
    assert ("left_out" in found.meta.as_json(), engine.given) == (False, [pytest.approx(60.0)] * 2)
    for answers, removed in ((1, {"locale": 1}), (0, {})):
        late, engine = explaining(stage, answers)
        found = late.search(SYSTEM, request)
        assert [hit.id for hit in found.hits] == [2]
        assert (found.explain or {})["removed"] == removed
        assert (found.meta.as_json()["left_out"], found.meta.degraded_reason) == (["explain"], None)
        assert len(engine.given) == answers + 1, "nothing is asked for after what was late"


def test_why_a_leg_is_empty_is_not_guessed(stage: Stage) -> None:
    stage.put(1, (1, 0, 0, 0), en="the printer")
    request = SearchRequest("printer", cost="fast", locale="it", explain=True)
    found = explaining(stage, 9)[0].search(SYSTEM, request)
    assert (found.explain or {})["legs"][0]["empty_because"] == "locale_filter"
    search, engine = explaining(stage, 1)
    found = search.search(SYSTEM, request)
    assert (found.hits, [one.change for one in found.relaxations]) == ((), ["locale"])
    assert (found.explain or {})["legs"][0]["empty_because"] == "no_time"
    assert (found.meta.as_json()["left_out"], len(engine.given)) == (["explain"], 2)


class Sleeping(Counted):
    """It counts with a statement that would take a minute."""

    def keyword(self, session: Any, query: Any, scope: Any, locale: Any, window: int, seconds: float) -> Any:
        with limited(session, seconds if window == 1 else None):
            session.execute(text("select pg_sleep(60)") if window == 1 else text("select 1"))
        return self.inner.keyword(session, query, scope, locale, window, seconds)


def test_a_count_ends_with_the_budget_and_the_page_is_read_all_the_same(stage: Stage) -> None:
    stage.put(1, (1, 0, 0, 0), en="the printer")
    parts = StageParts(engine=Sleeping(stage.container.word_engine, 0))
    request = SearchRequest("printer", cost="fast", entities=(CONTENTS,), explain=True)
    found = stage.search(with_parts=parts, budget_ms=2_000).search(SYSTEM, request)
    assert ([hit.id for hit in found.hits], found.meta.as_json()["left_out"]) == ([1], ["explain"])


def test_with_the_budget_spent_nothing_is_counted(stage: Stage) -> None:
    stage.put(1, (1, 0, 0, 0), en="the printer")
    engine = Counted(stage.container.word_engine, 9)
    clock = FakeClock()
    parts = StageParts(engine=Spent(engine, clock), clock=clock)
    request = SearchRequest("printer", cost="fast", entities=(CONTENTS,), explain=True)
    found = stage.search(with_parts=parts).search(SYSTEM, request)
    assert ([hit.id for hit in found.hits], (found.explain or {})["removed"]) == ([1], {})
    assert (found.meta.as_json()["left_out"], engine.given) == (["explain"], [])


class Spent:
    """An engine whose texts for the page come when the budget is over."""

    def __init__(self, inner: Any, clock: FakeClock) -> None:
        self.inner, self.clock = inner, clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def documents(self, *asked: Any) -> Any:
        self.clock.advance(61)
        return self.inner.documents(*asked)


@pytest.mark.parametrize(
    ("q", "matching", "answers", "reason"),
    [
        ("scanner", None, 9, "no_term"),
        ("scanner", None, 0, "no_time"),
        ("paper scanner toner", "strict", 9, "matching"),
        ("paper scanner toner", "strict", 1, "no_time"),
        ("paper", None, 0, "found"),
    ],
)
def test_why_a_record_is_not_there_keeps_to_the_budget(
    stage: Stage, q: str, matching: Any, answers: int, reason: str
) -> None:
    with stage.container.units() as unit:
        texts = {"en": {"title": "Paper", "body": "x"}}
        values = {"status": "published", "category": "x", "translations": texts}
        record = stage.container.records.create(unit, SYSTEM, CONTENTS, values).id
    search, engine = explaining(stage, answers)
    request = SearchRequest(q, cost="fast", matching=matching or "auto")
    assert search.why(SYSTEM, request, CONTENTS, record).reason == reason
    assert engine.given == [pytest.approx(60.0)] * len(engine.given)


def test_nothing_more_is_asked_of_words_that_are_late(stage: Stage) -> None:
    stage.put(1, (1, 0, 0, 0), en="the printer")
    search = stage.search(with_parts=StageParts(engine=Late(stage.container.word_engine, 0)))
    request = SearchRequest("printer", cost="balanced", facets=True, explain=True, locale="en")
    found = search.search(SYSTEM, request)
    assert [hit.id for hit in found.hits] == [1]
    assert (found.total, found.total_relation, found.facets) == (0, "gte", ())
    assert found.explain is not None
    assert [leg["empty_because"] for leg in found.explain["legs"]] == ["words_timeout", None]
    assert (found.explain["removed"], found.meta.strategies) == ({}, ("vector",))
    empty = search.search(SYSTEM, SearchRequest("printer", cost="fast"))
    assert (empty.hits, empty.meta.strategies, empty.meta.degraded_reason) == ((), (), "words_timeout")


def test_a_whole_search_keeps_to_the_limit_of_a_real_statement(container: Container, stage: Stage) -> None:
    """A lock on the table of texts: words wait for it, and the search does not."""
    with container.units() as unit:
        container.outbox.put(unit, CONTENTS, 1, [Document(CONTENTS, 1, "en", "Printer", "x", 1)])
    with container.units() as unit:
        unit.session.execute(text("lock table search_documents in access exclusive mode"))
        found = stage.search(budget_ms=500).search(SYSTEM, SearchRequest("printer", cost="fast"))
    assert (found.hits, found.meta.degraded_reason) == ((), "words_timeout")
