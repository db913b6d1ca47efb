"""Questions that are to be kept in Elasticsearch while it can't: no answer fails or waits, erasing is refused."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from apiflask import APIFlask
from structlog.testing import capture_logs

from app.container import Container, build_container
from app.core.config import Config
from app.core.contracts.actor import SYSTEM, Actor
from app.core.errors import Unavailable
from app.core.settings.schema import QUERY_LOG, QUERY_STORE
from app.documentation.analytics.elasticsearch_questions import FIELDS
from app.documentation.analytics.log import QuestionLog
from app.documentation.analytics.models import LoggedQuestion
from jobs import runtime, upkeep
from tests.fakes.clock import FakeClock
from tests.integration.documentation.conftest import AddPage
from tests.integration.documentation.test_query_log import QUESTION, SECONDS, put, record, rows

RITA = 41


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        yield f"http://127.0.0.1:{door.getsockname()[1]}"


@pytest.fixture
def closed() -> str:
    """An address where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        return f"http://127.0.0.1:{door.getsockname()[1]}"


@pytest.fixture(params=["closed", None], ids=["away", "without an address"])
def unkept(
    request: pytest.FixtureRequest, container: Container, config: Config, clock: FakeClock
) -> Iterator[Container]:
    """A console whose questions go to Elasticsearch, which is not there; one of before is in PostgreSQL."""
    put(container, QUERY_LOG, True)
    record(container, RITA, "before")
    put(container, QUERY_STORE, "elasticsearch")
    url = request.param and request.getfixturevalue(request.param)
    parts = build_container(config.model_copy(update={"elasticsearch_url": url}), clock=clock, queue=container.queue)
    yield parts
    parts.engine.dispose()


def log_of(container: Container) -> QuestionLog:
    assert container.answering is not None
    assert container.answering.questions is not None
    return container.answering.questions


def test_a_server_that_never_answers_neither_fails_nor_delays_an_answer(
    container: Container,
    config: Config,
    clock: FakeClock,
    silent: str,
    add_page: AddPage,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An answer that waited for it would wait for longer than the test may take."""
    monkeypatch.setattr("app.documentation.analytics.log.WRITE_MILLISECONDS", 200)
    add_page("climate", "The boiler does stop at night.")
    put(container, QUERY_LOG, True)
    put(container, QUERY_STORE, "elasticsearch")
    parts = build_container(config.model_copy(update={"elasticsearch_url": silent}), clock=clock, queue=container.queue)
    answering, log = parts.answering, log_of(parts)
    assert answering is not None
    with capture_logs() as logs:
        reader = Actor(RITA, "rita", "Rita", permissions=frozenset({"documentation.user.select"}))
        answer = answering.answer(reader, answering.request(QUESTION))
        assert answer.outcome == "passages"
        assert log.writer.wait(SECONDS)
    parts.engine.dispose()
    assert [one["error"] for one in logs if one["event"] == "question_not_logged"] == ["Unavailable"]
    assert QUESTION not in str(logs)


def test_what_cannot_be_erased_everywhere_is_refused_and_erased_nowhere(
    container: Container, unkept: Container
) -> None:
    with pytest.raises(Unavailable), unkept.units() as unit:
        log_of(unkept).erase(unit, SYSTEM, RITA)
    assert [one["query"] for one in rows(container)] == ["before"]


def test_the_upkeep_goes_on_and_deletes_what_is_old_elsewhere(
    container: Container, unkept: Container, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "container", lambda: unkept)
    clock.advance(86_400 * 31)
    with capture_logs() as logs:
        upkeep.tidy_core()
    assert rows(container) == []
    assert [one["event"] for one in logs if one["event"].startswith("questions_")] == ["questions_not_pruned"]


def test_a_question_is_not_kept_and_told(unkept: Container) -> None:
    with capture_logs() as logs:
        record(unkept, RITA, QUESTION)
    assert [one["error"] for one in logs if one["event"] == "question_not_logged"] == ["Unavailable"]
    assert QUESTION not in str(logs)


def test_without_an_address_the_commands_say_so(app: APIFlask, container: Container) -> None:
    put(container, QUERY_STORE, "elasticsearch")
    for command in (["create-query-index"], ["erase-queries", "41"], ["prune-queries"]):
        done = app.test_cli_runner().invoke(args=["docs", *command])
        assert (done.exit_code, "set ELASTICSEARCH_URL" in done.output) == (1, True), command


def test_both_stores_have_the_same_fields() -> None:
    assert list(FIELDS) == list(LoggedQuestion.__table__.columns.keys())
