"""The page of the queues: silence, what is held, failed jobs and their buttons."""

from __future__ import annotations

import re
from html import unescape

from sqlalchemy import text
from werkzeug.test import TestResponse

from app.container import Container
from app.core.processes import store
from app.core.queue import Wake
from tests.fakes.queue import RecordingQueue
from tests.fixtures.clients import Browser, People

JOB = "jobs.upkeep.tidy"


def words(answer: TestResponse) -> str:
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.text)))


def fail(container: Container, code: str | None = "ai.absent") -> None:
    with container.units() as unit:
        store.note_failure(unit.session, "default", JOB, {"switch_id": 4}, "Unavailable", code)


def test_what_is_missing_is_said_with_its_consequence(admin_client: Browser) -> None:
    said = words(admin_client.get("/queues"))
    assert "5 things are not running" in said
    assert "No worker of the queue embeddings-switch is alive: its work waits until one is started." in said
    assert "The scheduler is not running" in said


def test_a_silent_worker_is_told_from_a_living_one(container: Container, admin_client: Browser) -> None:
    with container.units() as unit:
        for pid in (10, 11):
            store.seen(unit.session, f"w{pid}", store.WORKER, "embeddings", pid, "host", store.Work("jobs.upkeep.tidy"))
        unit.session.execute(text("update processes set seen_at = seen_at - interval '11 s' where pid = 11"))
    said = words(admin_client.get("/queues"))
    assert "1 of 2 workers of the queue embeddings are alive: its work goes on, more slowly." in said
    assert said.count("Clear away what nobody reads") == 1
    assert "process 11 on host Silent" in said


def test_what_is_held_is_said_in_words(container: Container, admin_client: Browser) -> None:
    with container.units() as unit:
        store.seen(unit.session, "w", store.WORKER, "embeddings", 10, "host")
        unit.session.execute(
            text(
                """
                insert into switches (id, status, phase, mode, from_key, to_key, started_by, lease_token, lease_until)
                values (4, 'running', 'embeddings', 'side_by_side', 'a', 'b', 'admin', 'gone#9.x',
                    clock_timestamp() + interval '9 s');
                insert into switch_chunks (switch_id, phase, entity, seq, status, lease_token, lease_until, documents,
                    done) values (4, 'embeddings', 'cms.contents', 0, 'leased', 'host#10.abc',
                        clock_timestamp() + interval '9 s', 250, 64)
                """
            )
        )
    said = words(admin_client.get("/queues"))
    assert "Holds switch 4, Embeddings: a chunk of Contents, 64 of 250 documents" in said
    assert "Held by a process that is gone: the step Embeddings of switch 4" in said


def test_a_failed_job_is_listed_and_sent_again(
    container: Container, queue: RecordingQueue, admin_client: Browser
) -> None:
    fail(container)
    page = admin_client.get("/queues")
    assert "Clear away what nobody reads" in words(page)
    assert "The AI packages are not installed" in words(page)
    answer = admin_client.post("/queues/failures", {"queue": "default", "job": JOB, "action": "send"})
    assert answer.status_code == 303
    assert queue.sent == [Wake(JOB, "default", {"switch_id": 4})]
    said = words(admin_client.get("/queues"))
    assert "Sent again: Clear away what nobody reads." in said
    assert "None. A job that fails is listed here" in said


def test_an_error_without_its_values_is_shown_by_its_code(container: Container, admin_client: Browser) -> None:
    fail(container, "prune.serving")
    page = admin_client.get("/queues")
    assert "prune.serving" in page.text
    assert "%(profile)s" not in page.text


def test_a_failed_job_is_forgotten(container: Container, queue: RecordingQueue, admin_client: Browser) -> None:
    fail(container)
    admin_client.post("/queues/failures", {"queue": "default", "job": JOB, "action": "forget"})
    assert queue.sent == []
    assert "None. A job that fails is listed here" in words(admin_client.get("/queues"))


def test_buttons_need_their_permission_and_the_form_token(
    container: Container, people: People, queue: RecordingQueue, admin_client: Browser
) -> None:
    fail(container)
    wish = {"queue": "default", "job": JOB, "action": "send"}
    assert admin_client.post("/queues/failures", wish, csrf=False).status_code in (400, 403)
    reader = Browser(admin_client.app).login_as(people.user("reader", "reader"))
    with container.units() as unit:
        unit.session.execute(text("update roles set permissions = '{queues.select}' where name = 'reader'"))
    assert reader.get("/queues").status_code == 200
    assert "/queues/failures" not in reader.get("/queues").text
    assert reader.post("/queues/failures", wish).status_code == 403
    assert admin_client.post("/queues/failures", {**wish, "action": "run"}).status_code == 422
    assert queue.sent == []
