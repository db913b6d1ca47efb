"""The queues as JSON: workers, what they hold, silence, failed jobs."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from app.container import Container
from app.core.processes import store
from app.core.processes.health import ALIVE_SECONDS, SILENT_SECONDS
from app.core.queue import Wake
from app.web.queues import IDLE_SECONDS
from tests.fakes.queue import RecordingQueue
from tests.fixtures.clients import Api, People

QUEUES = "/api/v1/queues"
JOB = "jobs.embeddings.embed_chunk"


def body(api: Api) -> dict[str, Any]:
    answer = api.get(QUEUES)
    assert answer.status_code == 200
    found: Any = answer.json
    return dict(found)


def queue_of(api: Api, name: str) -> dict[str, Any]:
    return next(queue for queue in body(api)["queues"] if queue["name"] == name)


def everybody(container: Container) -> None:
    """A process for every queue, two for embeddings, and the scheduler."""
    with container.units() as unit:
        for pid, queue in enumerate(("embeddings", "embeddings", "embeddings-switch", "embeddings-index", "default")):
            store.seen(unit.session, f"w{pid}", store.WORKER, queue, 10 + pid, "host")
        store.seen(unit.session, "s", store.SCHEDULER, None, 20, "host")


def fail(container: Container, times: int = 1, code: str | None = None) -> None:
    for _ in range(times):
        with container.units() as unit:
            store.note_failure(unit.session, "embeddings", JOB, {"switch_id": 4, "slot": 0}, "ValueError", code)


def age(container: Container, seconds: float, name: str = "%") -> None:
    with container.units() as unit:
        unit.session.execute(
            text("update processes set seen_at = seen_at - make_interval(secs => :age) where name like :name"),
            {"age": seconds, "name": name},
        )


def test_all_is_well_when_everybody_is_alive(container: Container, api: Api) -> None:
    everybody(container)
    shown = body(api)
    assert (shown["problems"], shown["queue_server"]) == ([], "ok")
    assert [(queue["name"], queue["workers_alive"], queue["workers_expected"]) for queue in shown["queues"]] == [
        ("embeddings", 2, 2), ("embeddings-switch", 1, 1), ("embeddings-index", 1, 1), ("default", 1, 1),
    ]  # fmt: skip
    assert [one["alive"] for one in shown["schedulers"]] == [True]


def test_a_worker_that_stopped_is_seen_within_fifteen_seconds(container: Container, api: Api) -> None:
    """It is silent after ten, and the page asks again after four at the latest."""
    assert SILENT_SECONDS + IDLE_SECONDS < ALIVE_SECONDS == 15
    everybody(container)
    age(container, SILENT_SECONDS + 0.5, "w1")
    shown = body(api)
    assert shown["problems"] == ["worker:embeddings"]
    assert [worker["alive"] for worker in shown["queues"][0]["workers"]] == [True, False]
    age(container, SILENT_SECONDS + 0.5)
    assert body(api)["problems"] == [
        "scheduler", "worker:embeddings", "worker:embeddings-switch", "worker:embeddings-index", "worker:default",
    ]  # fmt: skip


def test_what_a_worker_works_on_and_holds(container: Container, api: Api) -> None:
    with container.units() as unit:
        store.seen(
            unit.session, "w", store.WORKER, "embeddings", 10, "host", store.Work(JOB, {"switch_id": 4}, seconds=90)
        )
        unit.session.execute(
            text(
                """
                insert into switches (id, status, phase, mode, from_key, to_key, started_by)
                values (4, 'running', 'embeddings', 'side_by_side', 'a', 'b', 'admin');
                insert into switch_chunks (switch_id, phase, entity, seq, status, lease_token, lease_until, documents,
                    done) values
                (4, 'embeddings', 'cms.contents', 0, 'leased', 'host#10.abc', clock_timestamp() + interval '9 s', 250,
                    64),
                (4, 'embeddings', 'cms.contents', 1, 'leased', 'gone#7.abc', clock_timestamp() + interval '9 s', 9, 0),
                (4, 'embeddings', 'cms.contents', 2, 'leased', 'gone#8.abc', clock_timestamp() - interval '1 s', 9, 0)
                """
            )
        )
    (worker,) = queue_of(api, "embeddings")["workers"]
    assert (worker["job"], worker["job_ids"]) == (JOB, {"switch_id": 4})
    assert worker["job_since"] < worker["seen_at"]
    (lease,) = worker["leases"]
    assert (lease["kind"], lease["switch"], lease["entity"], lease["done"], lease["documents"]) == (
        "chunk", 4, "cms.contents", 64, 250,
    )  # fmt: skip
    assert [lease["holder"] for lease in body(api)["leases_of_the_dead"]] == ["gone#7"]


def test_failures_are_counted_until_the_job_works_again(container: Container, api: Api) -> None:
    fail(container, 2, "server.timeout")
    (failed,) = queue_of(api, "embeddings")["failed_jobs"]
    assert (failed["job"], failed["error"], failed["code"], failed["times"], failed["worked_at"]) == (
        JOB, "ValueError", "server.timeout", 2, None,
    )  # fmt: skip
    with container.units() as unit:
        store.note_worked(unit.session, "embeddings", JOB, seconds_ago=60)
    assert queue_of(api, "embeddings")["failed_jobs"][0]["worked_at"] is None
    with container.units() as unit:
        store.note_worked(unit.session, "embeddings", JOB, seconds_ago=0)
    assert queue_of(api, "embeddings")["failed_jobs"][0]["worked_at"] is not None
    fail(container)
    (failed,) = queue_of(api, "embeddings")["failed_jobs"]
    assert (failed["times"], failed["worked_at"]) == (1, None)


def test_a_failed_job_is_sent_again_with_its_ids(container: Container, queue: RecordingQueue, api: Api) -> None:
    fail(container)
    wish = {"queue": "embeddings", "job": JOB, "action": "send"}
    assert api.post(f"{QUEUES}/failures", json=wish).status_code == 200
    assert queue.sent == [Wake(JOB, "embeddings", {"switch_id": 4, "slot": 0})]
    assert queue_of(api, "embeddings")["failed_jobs"] == []
    again = api.post(f"{QUEUES}/failures", json=wish)
    assert (again.status_code, again.json["code"], len(queue.sent)) == (404, "job.unknown", 1)  # type: ignore[index]


def test_a_failed_job_is_forgotten(container: Container, queue: RecordingQueue, api: Api) -> None:
    fail(container)
    wish = {"queue": "embeddings", "job": JOB, "action": "forget"}
    assert api.post(f"{QUEUES}/failures", json=wish).status_code == 200
    assert (queue.sent, queue_of(api, "embeddings")["failed_jobs"]) == ([], [])


def test_nothing_is_sent_or_lost_while_the_queue_is_away(container: Container, queue: RecordingQueue, api: Api) -> None:
    fail(container)
    queue.away = True
    refused = api.post(f"{QUEUES}/failures", json={"queue": "embeddings", "job": JOB, "action": "send"})
    assert (refused.status_code, refused.json["code"]) == (503, "job.queue_away")  # type: ignore[index]
    shown = queue_of(api, "embeddings")
    assert (len(shown["failed_jobs"]), shown["waiting"]) == (1, None)
    assert body(api)["queue_server"] == "away"


@pytest.mark.parametrize("wish", [{"action": "send"}, {"queue": "q", "job": "j", "action": "run"}, {}])
def test_a_wish_must_be_complete(api: Api, wish: dict[str, str]) -> None:
    assert api.post(f"{QUEUES}/failures", json=wish).status_code == 422


def test_who_may_look_may_not_send(container: Container, people: People, api: Api) -> None:
    reader = Api(api.client.application, people.token(people.user("reader", "reader"), "all"))
    assert reader.get(QUEUES).status_code == 403
    with container.units() as unit:
        unit.session.execute(text("update roles set permissions = '{queues.select}' where name = 'reader'"))
    fail(container)
    assert reader.get(QUEUES).status_code == 200
    wish = {"queue": "embeddings", "job": JOB, "action": "forget"}
    assert reader.post(f"{QUEUES}/failures", json=wish).status_code == 403
    assert len(queue_of(api, "embeddings")["failed_jobs"]) == 1
