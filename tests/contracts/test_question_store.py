"""What every store of kept questions does, whichever it is (`app/documentation/analytics/ports.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256
from typing import Any
from uuid import uuid4

import pytest
from pydantic import SecretStr
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from structlog.testing import capture_logs

from app.container import Container, build_container
from app.core.config import Config
from app.core.contracts.actor import SYSTEM, Actor
from app.core.elasticsearch.client import Cluster
from app.core.errors import Conflict, Unavailable
from app.core.settings.schema import QUERY_DAYS, QUERY_LOG, QUERY_STORE, QUERY_TEXT
from app.documentation.analytics.log import Outcome, QuestionLog
from jobs import runtime, upkeep
from tests.conftest import SECRET_KEY
from tests.fakes.clock import FakeClock
from tests.fakes.queue import RecordingQueue
from tests.fixtures.elasticsearch import elasticsearch_container

SECONDS = 30.0
RITA, UGO = 41, 42
LATER_KEY = "another secret key"
LONG = "why does the boiler hum " * 60
"""Longer than the keyword of the index holds."""


class Kept:
    """A console that keeps questions, and what is in its store."""

    def __init__(self, container: Container) -> None:
        self.container = container
        for name, value in ((QUERY_LOG, True), (QUERY_STORE, self.name)):
            self.put(name, value)

    name = "postgres"

    def put(self, name: str, value: object) -> None:
        with self.container.units() as unit:
            self.container.settings.write_system(unit, name, value)

    @property
    def log(self) -> QuestionLog:
        return log_of(self.container)

    def record(self, person: int, question: str, log: QuestionLog | None = None) -> None:
        keep = log or self.log
        keep.record(Actor(person, "p", "P", tenant_id=7), "user", "it", question, Outcome(3, 2, True, 0.25))
        assert keep.writer.wait(SECONDS)

    def erase(self, person: int | None = None, question: str | None = None) -> int:
        with self.container.units() as unit:
            return self.log.erase(unit, SYSTEM, person, question)

    def ensure(self, *, anew: bool = False) -> tuple[str, str]:
        with self.container.units() as unit:
            return self.log.ensure(unit, anew=anew)

    def store(self, **changed: Any) -> None:
        """Hand the store one question, as it is after `log`, with some fields otherwise."""
        values: dict[str, Any] = {
            "id": uuid4(),
            "logged_at": self.container.clock.now(),
            "user_ref": sha256(b"somebody").hexdigest(),
            "tenant": "global",
            "profile": "user",
            "locale": "en",
            "query": "badge",
            "retrieved_count": 1,
            "citation_count": 1,
            "answered": True,
            "latency_ms": 1.5,
            "index": "documentation.user",
        }
        with self.container.units() as unit:
            self.log._stores[self.name].add(unit, values | changed, 10_000)

    def rows(self) -> list[dict[str, Any]]:
        """Everything that is kept, by question; ids and instants as text."""
        with self.container.units() as unit:
            found = unit.session.execute(text("select * from documentation_queries order by logged_at, query"))
            rows = [dict(row) for row in found.mappings()]
        return [{**row, "id": str(row["id"]), "logged_at": row["logged_at"].isoformat()} for row in rows]

    def questions(self) -> list[str]:
        return sorted(row["query"] for row in self.rows())

    def drop(self) -> None:
        self.sql("drop table documentation_queries")

    def change(self) -> None:
        """Give it a field that is none of its own."""
        self.sql("alter table documentation_queries add column answer text")

    def sql(self, statement: str) -> None:
        with self.container.units() as unit:
            unit.session.execute(text(statement))


class KeptInElasticsearch(Kept):
    """The same in an index of the test's own."""

    name = "elasticsearch"

    @property
    def cluster(self) -> Cluster:
        assert self.container.elasticsearch is not None
        return self.container.elasticsearch.cluster

    @property
    def alias(self) -> str:
        return f"{self.cluster.prefix}-documentation_queries"

    def rows(self) -> list[dict[str, Any]]:
        self.cluster.refresh(self.alias)
        body = {"query": {"match_all": {}}, "size": 100, "sort": [{"logged_at": "asc"}]}
        return [dict(hit["_source"]) for hit in self.cluster.search(self.alias, body)["hits"]["hits"]]

    def drop(self) -> None:
        self.cluster.drop(list(self.cluster.indexes(self.alias)))

    def change(self) -> None:
        (index,) = self.cluster.indexes(self.alias)
        self.cluster.note(index, {}, {"answer": {"type": "text"}})


def log_of(container: Container) -> QuestionLog:
    assert container.answering is not None
    assert container.answering.questions is not None
    return container.answering.questions


@pytest.fixture(params=["postgres", "elasticsearch"])
def kept(request: pytest.FixtureRequest, clock: FakeClock, queue: RecordingQueue) -> Iterator[Kept]:
    if request.param == "postgres":
        kept = Kept(request.getfixturevalue("container"))
        yield kept
        kept.ensure(anew=True)
        return
    with elasticsearch_container(request.getfixturevalue("config"), clock, queue) as container:
        inside = KeptInElasticsearch(container)
        inside.ensure()
        yield inside


def test_a_question_is_kept_with_these_fields_only(kept: Kept, clock: FakeClock) -> None:
    kept.record(RITA, "  when does\tthe boiler stop ")
    (one,) = kept.rows()
    assert len(one.pop("id")) == 36
    assert len(one.pop("user_ref")) == 64
    assert one == {
        "logged_at": clock.now().isoformat(),
        "tenant": "7",
        "profile": "user",
        "locale": "it",
        "query": "when does the boiler stop",
        "retrieved_count": 3,
        "citation_count": 2,
        "answered": True,
        "latency_ms": 250.0,
        "index": "documentation.user",
    }


def test_without_texts_the_figures_stay(kept: Kept) -> None:
    kept.put(QUERY_TEXT, "off")
    kept.record(RITA, "badge")
    assert [(row["query"], row["retrieved_count"]) for row in kept.rows()] == [(None, 3)]
    assert kept.erase(question="badge") == 0
    assert kept.erase(RITA) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"answer": "a text"},
        {"retrieved_count": "many"},
        {"retrieved_count": 2**40},
        {"answered": "perhaps"},
        {"latency_ms": "fast"},
    ],
    ids=str,
)
def test_what_is_none_of_its_fields_is_refused(kept: Kept, changed: dict[str, Any]) -> None:
    kept.store()
    with pytest.raises((SQLAlchemyError, Unavailable)):
        kept.store(**changed)
    assert kept.questions() == ["badge"]


def test_one_id_is_kept_once(kept: Kept) -> None:
    one = uuid4()
    kept.store(id=one)
    with pytest.raises((SQLAlchemyError, Unavailable)):
        kept.store(id=one, query="another")
    assert kept.questions() == ["badge"]


def test_the_upkeep_deletes_what_was_kept_long_enough(
    kept: Kept, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "container", lambda: kept.container)
    monkeypatch.setattr("app.documentation.analytics.log.PRUNED", 2)
    kept.put(QUERY_DAYS, 2)
    for number in range(5):
        kept.record(RITA, f"old {number}")
    clock.advance(86_400)
    kept.record(RITA, "young")
    kept.rows()
    clock.advance(86_400 + 1)
    kept.put(QUERY_LOG, False)
    upkeep.tidy_core()
    assert kept.questions() == ["young"]


@pytest.fixture
def rotated(kept: Kept, config: Config, clock: FakeClock) -> Iterator[Container]:
    """The same console after its secret was changed."""
    keys = {"secret_key": SecretStr(LATER_KEY), "changeover_previous_secret_keys": SecretStr(SECRET_KEY)}
    parts = build_container(kept.container.config.model_copy(update=keys), clock=clock, queue=kept.container.queue)
    yield parts
    parts.engine.dispose()


def test_a_person_is_erased_under_every_secret(kept: Kept, rotated: Container) -> None:
    later = log_of(rotated)
    kept.record(RITA, "before")
    kept.record(UGO, "of another")
    kept.record(RITA, "after", later)
    assert len({row["user_ref"] for row in kept.rows()}) == 3
    with rotated.units() as unit:
        assert later.erase(unit, SYSTEM, RITA) == 2
        assert later.erase(unit, SYSTEM, RITA) == 0
    assert kept.questions() == ["of another"]


@pytest.mark.parametrize("question", ["where is my badge", LONG, "?! ... ?!", "C++ *"])
def test_a_question_is_erased_by_its_very_text(kept: Kept, question: str) -> None:
    near = [question.upper() + "x", question.strip() + " ?", "is my badge where"]
    for person, asked in [(RITA, question), (UGO, question), *((UGO, one) for one in near)]:
        kept.record(person, asked)
    assert kept.erase(RITA, question) == 1
    assert kept.erase(question=question) == 1
    assert kept.erase(question=question) == 0
    assert kept.questions() == sorted(near)


def test_erasing_looks_at_all_that_is_kept(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.documentation.analytics.elasticsearch_questions.PAGE", 2)
    for number in range(5):
        kept.record(RITA, "badge")
        kept.record(RITA, f"badge {number}")
    assert kept.erase(question="badge") == 5
    assert kept.erase(RITA) == 5
    assert kept.rows() == []


def test_it_is_made_once_and_anew_only_by_force(kept: Kept) -> None:
    kept.record(RITA, "badge")
    assert kept.ensure()[0] == "there"
    assert kept.questions() == ["badge"]
    made, place = kept.ensure(anew=True)
    assert (made, place.endswith("documentation_queries")) == ("recreated", True)
    assert kept.rows() == []
    kept.drop()
    assert kept.ensure()[0] == "created"
    kept.record(RITA, "badge")
    assert kept.questions() == ["badge"]


def test_one_of_another_form_is_refused_until_it_is_made_anew(kept: Kept) -> None:
    kept.change()
    with pytest.raises(Conflict) as refused:
        kept.ensure()
    assert "answer" in refused.value.values.values()
    assert kept.ensure(anew=True)[0] == "recreated"
    assert kept.ensure()[0] == "there"


def test_what_was_kept_elsewhere_before_is_erased_and_deleted_too(kept: Kept, clock: FakeClock) -> None:
    with kept.container.units() as unit:
        kept.log._stores["postgres"].ensure(unit, anew=True)
    kept.put(QUERY_STORE, "postgres")
    kept.record(RITA, "here")
    kept.record(UGO, "here")
    kept.put(QUERY_STORE, kept.name)
    kept.record(RITA, "there")
    kept.record(UGO, "there")
    assert kept.erase(RITA) == 2
    kept.rows()
    clock.advance(86_400 * 31)
    deleted: list[int] = []
    while not deleted or deleted[-1]:
        with kept.container.units() as unit:
            deleted.append(kept.log.prune(unit))
    assert sum(deleted) == 2


def test_one_that_was_never_made_fails_nothing_and_is_not_made_by_a_question(kept: Kept) -> None:
    kept.drop()
    with capture_logs() as logs:
        kept.record(RITA, "where is my badge")
        with kept.container.units() as unit:
            assert kept.log.prune(unit) == 0
        assert kept.erase(RITA) == 0
    assert [one["event"] for one in logs if one["event"] == "question_not_logged"] == ["question_not_logged"]
    assert "badge" not in str(logs)
    assert kept.ensure()[0] == "created"
    assert kept.rows() == []


def test_what_is_older_by_a_second_goes_and_what_is_younger_by_one_stays(kept: Kept, clock: FakeClock) -> None:
    kept.store(logged_at=clock.now() - timedelta(days=30, seconds=1), query="over")
    kept.store(logged_at=clock.now() - timedelta(days=30) + timedelta(seconds=1), query="under")
    kept.rows()
    with kept.container.units() as unit:
        assert kept.log.prune(unit) == 1
    assert kept.questions() == ["under"]
