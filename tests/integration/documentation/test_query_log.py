"""Kept questions: these fields and no other, of nobody who is not to be kept, and never at an answer's cost."""

from __future__ import annotations

import hmac
import threading
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pytest
from apiflask import APIFlask
from pydantic import SecretStr
from sqlalchemy import text
from sqlalchemy.exc import DataError, IntegrityError, ProgrammingError
from structlog.testing import capture_logs

from app.container import Container, build_container
from app.core.access.models import User
from app.core.config import Config
from app.core.contracts.actor import SYSTEM, Actor
from app.core.settings.schema import QUERY_DAYS, QUERY_LOG, QUERY_TEXT
from app.documentation.analytics.log import Outcome, QuestionLog
from app.documentation.analytics.writer import LaterWriter
from app.documentation.answering import Answering
from jobs import runtime, upkeep
from tests.conftest import SECRET_KEY
from tests.fakes.chat_model import FakeChatModel
from tests.fakes.clock import FakeClock
from tests.fixtures.clients import Api, Browser, People
from tests.integration.documentation.conftest import AddPage

QUESTION = "when does the boiler stop"
OTHER_KEY = "the secret key before this one"
SECONDS = 10.0


@pytest.fixture(autouse=True)
def _documented(container: Container, add_page: AddPage) -> None:
    add_page("climate", "The boiler does stop at night.")
    put(container, QUERY_LOG, True)


@pytest.fixture
def log(answering: Answering) -> QuestionLog:
    assert answering.questions is not None
    return answering.questions


@pytest.fixture
def rita(people: People) -> User:
    return people.user("rita", "reader", tenant_id=7)


@pytest.fixture
def reader(app: APIFlask, people: People, rita: User) -> Api:
    return Api(app, people.token(rita, "read", "write"))


def put(container: Container, name: str, value: object) -> None:
    with container.units() as unit:
        container.settings.write_system(unit, name, value)


def ask(api: Api, question: str = QUESTION, **more: Any) -> Any:
    answer = api.post("/api/v1/documentation/answer", json={"question": question, **more})
    assert answer.status_code == 200
    return answer.json


def kept(container: Container) -> list[dict[str, Any]]:
    """Every kept question once all that waits is written, oldest first."""
    assert container.answering is not None
    assert container.answering.questions is not None
    assert container.answering.questions.writer.wait(SECONDS)
    return rows(container)


def rows(container: Container) -> list[dict[str, Any]]:
    with container.units() as unit:
        found = unit.session.execute(text("select * from documentation_queries order by logged_at, query"))
        return [dict(row) for row in found.mappings()]


def reference(key: str, user_id: int) -> str:
    return hmac.new(key.encode(), str(user_id).encode(), sha256).hexdigest()


def test_an_answered_question_is_kept_with_these_fields_only(
    container: Container, reader: Api, rita: User, clock: FakeClock
) -> None:
    answer = ask(reader, "  when does\tthe boiler stop ")
    (one,) = kept(container)
    assert one.pop("id").version == 4
    assert one == {
        "logged_at": clock.now(),
        "user_ref": reference(SECRET_KEY, rita.id),
        "tenant": "7",
        "profile": "user",
        "locale": "en",
        "query": QUESTION,
        "retrieved_count": 1,
        "citation_count": len(answer["sources"]),
        "answered": True,
        "latency_ms": 0.0,
        "index": "documentation.user",
    }


def test_the_retrieval_alone_is_timed_and_cited_passages_are_counted(
    container: Container, reader: Api, add_page: AddPage, clock: FakeClock
) -> None:
    add_page("other", "The boiler does stop by day.")
    answering = container.answering
    assert answering is not None

    class SlowChat(FakeChatModel):
        def complete(self, *arguments: Any, **options: Any) -> Any:
            clock.advance(20)
            return super().complete(*arguments, **options)

    answering.chat = SlowChat("It stops at night [1].")
    retrieve = answering.retrieval.retrieve

    def slowly(*arguments: Any) -> Any:
        clock.advance(0.25)
        return retrieve(*arguments)

    answering.retrieval.retrieve = slowly  # type: ignore[method-assign]
    ask(reader)
    (one,) = kept(container)
    assert (one["latency_ms"], one["retrieved_count"], one["citation_count"]) == (250.0, 2, 1)


def test_what_is_not_documented_is_kept_as_unanswered(container: Container, reader: Api) -> None:
    ask(reader, "how do I cook risotto with mushrooms")
    (one,) = kept(container)
    assert (one["answered"], one["retrieved_count"], one["citation_count"]) == (False, 0, 0)


def test_without_texts_the_figures_stay(container: Container, reader: Api) -> None:
    put(container, QUERY_TEXT, "off")
    ask(reader)
    assert [(one["query"], one["retrieved_count"]) for one in kept(container)] == [(None, 1)]


def test_nothing_is_kept_unless_it_is_switched_on(container: Container, reader: Api) -> None:
    put(container, QUERY_LOG, False)
    ask(reader)
    assert kept(container) == []


def test_a_new_installation_keeps_nothing(container: Container) -> None:
    assert container.settings.definition(QUERY_LOG).default is False


def test_a_refused_question_is_not_kept(container: Container, reader: Api) -> None:
    refused = reader.post("/api/v1/documentation/answer", json={"question": "x", "corpus": "developer"})
    assert refused.status_code == 403
    assert reader.post("/api/v1/documentation/answer", json={"question": " "}).status_code == 422
    assert kept(container) == []


def test_a_policy_violation_is_not_kept(container: Container, reader: Api, add_page: AddPage) -> None:
    add_page("bad", "The boiler does stop.", version=None)
    refused = reader.post("/api/v1/documentation/answer", json={"question": QUESTION})
    assert refused.status_code == 503
    assert kept(container) == []


def test_guests_and_who_is_viewed_as_are_not_kept(app: APIFlask, container: Container, people: People) -> None:
    guest = Browser(app).login_as(people.user("gil", "reader", is_guest=True))
    assert guest.get("/documentation/ask", query_string={"q": QUESTION}).status_code == 200
    viewer = Browser(app).login_as(people.user("ada", "administrator"))
    other = people.user("ugo", "reader")
    with viewer.client.session_transaction() as session:
        session["viewing_as"] = f"{other.id}:{other.session_version}"
    page = viewer.get("/documentation/ask", query_string={"q": QUESTION}).get_data(as_text=True)
    assert "The boiler does stop at night." in page
    assert "Questions are kept" not in page
    assert kept(container) == []


def test_the_program_itself_and_other_corpora_are_not_kept(
    answering: Answering, container: Container, add_page: AddPage, rita: User
) -> None:
    add_page("internals", "The boiler does stop.", corpus="developer")
    answering.answer(SYSTEM, answering.request(QUESTION))
    developer = Actor(rita.id, "d", "D", permissions=frozenset({"documentation.developer.select"}))
    answering.answer(developer, answering.request(QUESTION, "developer"))
    assert kept(container) == []


def test_the_page_tells_for_how_long_questions_are_kept(app: APIFlask, container: Container, rita: User) -> None:
    browser = Browser(app).login_as(rita)
    shown = "Questions are kept for 30 days, under a code in place of your name"
    assert shown in browser.get("/documentation/ask").get_data(as_text=True)
    put(container, QUERY_LOG, False)
    assert "Questions are kept" not in browser.get("/documentation/ask").get_data(as_text=True)


def test_a_locked_table_neither_fails_nor_delays_an_answer(container: Container, reader: Api, log: QuestionLog) -> None:
    """The lock is held until the answer is there: an answer that waited for it would wait for ever."""
    with container.engine.connect() as other, capture_logs() as logs:
        other.execute(text("lock table documentation_queries in access exclusive mode"))
        assert ask(reader)["outcome"] == "passages"
        assert log.writer.wait(SECONDS)  # gives up by itself while the lock is still held
        other.rollback()
    assert [(one["event"], one["error"]) for one in logs if one["event"] == "question_not_logged"] == [
        ("question_not_logged", "OperationalError")
    ]
    assert QUESTION not in str(logs)
    ask(reader)
    assert len(kept(container)) == 1


def test_a_table_that_is_gone_fails_no_answer(container: Container, reader: Api, log: QuestionLog) -> None:
    execute(container, "alter table documentation_queries rename to elsewhere")
    try:
        with capture_logs() as logs:
            assert ask(reader)["outcome"] == "passages"
            assert log.writer.wait(SECONDS)
            with container.units() as unit:
                assert (log.prune(unit), log.erase(unit, SYSTEM, 1)) == (0, 0)
        assert "ProgrammingError" in [one.get("error") for one in logs]
        assert QUESTION not in str(logs)
    finally:
        execute(container, "alter table elsewhere rename to documentation_queries")


def execute(container: Container, sql: str) -> None:
    with container.units() as unit:
        unit.session.execute(text(sql))


def test_a_thread_that_cannot_start_fails_no_answer(
    reader: Api, container: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch, capture_logs() as logs:
        patch.setattr(threading.Thread, "start", refuse)
        assert ask(reader)["outcome"] == "passages"
    assert [one["error"] for one in logs if one["event"] == "question_not_logged"] == ["RuntimeError"]
    assert kept(container) == []
    ask(reader)
    assert len(kept(container)) == 1


def test_what_does_not_fit_is_dropped_and_told(container: Container, rita: User) -> None:
    gate = threading.Event()
    writer = LaterWriter(most=2)
    log = QuestionLog(container.units, container.clock, container.audit, [SECRET_KEY], writer=writer)
    person = Actor(rita.id, "rita", "Rita")
    assert writer.put(lambda: _wait(gate))
    with capture_logs() as logs:
        for _ in range(4):
            log.record(person, "user", "en", QUESTION, Outcome(1, 1, True, 0.1))
    gate.set()
    assert writer.wait(SECONDS)
    dropped = [one for one in logs if one["event"] == "question_not_logged"]
    assert len(dropped) in (2, 3)  # the thread may or may not have taken the first piece by then
    assert {one["error"] for one in dropped} == {"TooManyWaiting"}


def _wait(gate: threading.Event) -> None:
    assert gate.wait(SECONDS)


def test_a_piece_that_fails_stops_nothing() -> None:
    done: list[int] = []
    writer = LaterWriter()
    assert writer.put(lambda: done.append(1 // 0))
    assert writer.put(lambda: done.append(2))
    assert writer.wait(SECONDS)
    assert done == [2]


def test_the_thread_ends_when_there_is_nothing_to_do_and_starts_again() -> None:
    done: list[threading.Thread] = []
    writer = LaterWriter(idle=0.01)
    for _ in range(2):
        assert writer.put(lambda: done.append(threading.current_thread()))
        assert writer.wait(SECONDS)
        done[-1].join(SECONDS)
        assert not done[-1].is_alive()
    assert done[0] is not done[1]


@pytest.mark.parametrize(
    ("column", "value", "failure"),
    [
        ("answer", "a text", ProgrammingError),
        ("user_ref", "7", IntegrityError),
        ("retrieved_count", -1, IntegrityError),
        ("latency_ms", "fast", DataError),
    ],
)
def test_the_table_refuses_what_is_none_of_its_fields(
    container: Container, reader: Api, column: str, value: object, failure: type[Exception]
) -> None:
    ask(reader)
    kept(container)
    with pytest.raises(failure), container.units() as unit:
        unit.session.execute(text(f"update documentation_queries set {column} = :value"), {"value": value})


def test_what_was_kept_long_enough_is_deleted_by_the_upkeep(
    container: Container, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "container", lambda: container)
    put(container, QUERY_DAYS, 2)
    record(container, 1, "the boiler one")
    clock.advance(86_400 * 1.5)
    record(container, 1, "the boiler two")
    upkeep.tidy_core()
    assert [one["query"] for one in rows(container)] == ["the boiler one", "the boiler two"]
    put(container, QUERY_LOG, False)  # what was kept goes all the same
    clock.advance(86_400)
    upkeep.tidy_core()
    assert [one["query"] for one in rows(container)] == ["the boiler two"]


@pytest.fixture
def rotated(config: Config, clock: FakeClock, container: Container) -> Iterator[Container]:
    """The same console after its secret was changed."""
    later = config.model_copy(
        update={"secret_key": SecretStr("another secret key"),
                "changeover_previous_secret_keys": SecretStr(f"{SECRET_KEY} , {OTHER_KEY}")}
    )  # fmt: skip
    parts = build_container(later, clock=clock, queue=container.queue)
    yield parts
    parts.engine.dispose()


def record(container: Container, user_id: int, question: str, key: str | None = None) -> None:
    """Keep a question under ``key``, as a console with that secret would."""
    answering = container.answering
    assert answering is not None
    log = answering.questions
    assert log is not None
    if key is not None:
        log = QuestionLog(container.units, container.clock, container.audit, [key], log._rules)
    log.record(Actor(user_id, "u", "U"), "user", "en", question, Outcome(1, 1, True, 0.1))
    assert log.writer.wait(SECONDS)


def test_a_person_is_erased_under_every_secret(container: Container, rotated: Container, rita: User) -> None:
    record(container, rita.id, "old", OTHER_KEY)
    record(container, rita.id, "middle")
    record(rotated, rita.id, "new")
    record(rotated, rita.id + 1, "somebody else")
    assert len({one["user_ref"] for one in rows(container)}) == 4
    log = rotated.answering and rotated.answering.questions
    assert log is not None
    with rotated.units() as unit:
        assert log.erase(unit, SYSTEM, rita.id) == 3
        assert log.erase(unit, SYSTEM, rita.id) == 0
    assert [one["query"] for one in rows(container)] == ["somebody else"]


def test_erasing_over_the_api(container: Container, api: Api, reader: Api, rita: User) -> None:
    for user_id, question in ((rita.id, "one"), (rita.id, "two"), (rita.id + 1, "one"), (rita.id + 1, "three")):
        record(container, user_id, question)
    url = "/api/v1/documentation/queries/erase"
    assert reader.post(url, json={"user_id": rita.id}).status_code == 403
    assert api.post(url, json={}).status_code == 422
    assert api.post(url, json={"question": " "}).status_code == 422
    assert api.post(url, json={"user_id": 0}).status_code == 422
    assert api.post(url, json={"user_id": rita.id, "answer": "x"}).status_code == 422
    assert len(rows(container)) == 4
    assert api.post(url, json={"user_id": rita.id, "question": "two"}).json == {"erased": 1}
    assert api.post(url, json={"question": "one"}).json == {"erased": 2}
    assert api.post(url, json={"user_id": rita.id}).json == {"erased": 0}
    assert [one["query"] for one in rows(container)] == ["three"]
    with container.units() as unit:
        entries = unit.session.execute(
            text(
                "select actor_login, record_id, changes from audit_entries where action = 'erase_questions' order by id"
            )
        ).all()
    assert [tuple(entry) for entry in entries] == [
        ("admin", rita.id, {"questions": [1, 0]}),
        ("admin", None, {"questions": [2, 0]}),
    ]
