"""A real worker on a real queue tells what failed, and that it works again; never a text."""

from __future__ import annotations

import threading

import pytest
from redis import Redis
from rq import Queue

from app.container import Container
from app.core.errors import Conflict
from app.core.processes import store
from app.core.queue import RedisQueue, Wake
from jobs import runtime, upkeep, worker

SECRET = "a text that must not be kept"


@pytest.fixture
def real_queue(redis_url: str) -> RedisQueue:
    found = RedisQueue(redis_url)
    found.redis.flushdb()
    return found


@pytest.fixture(autouse=True)
def this_process(container: Container, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "container", lambda: container)
    monkeypatch.setattr(worker, "HELD", worker.Held())
    monkeypatch.setattr(runtime, "STOPPING", threading.Event())


def work(queue: RedisQueue, redis_url: str) -> None:
    """Run what waits, in this process, and beat once."""
    connection = Redis.from_url(redis_url)
    found = worker.QueueWorker(
        [Queue("default", connection=connection, serializer="json")], connection=connection, serializer="json"
    )
    found.work(burst=True, logging_level="CRITICAL")
    runtime.STOPPING.set()
    worker.beat("default", "w")


def test_a_failed_job_is_noted_until_it_works(
    container: Container, real_queue: RedisQueue, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise Conflict("prune.serving", profile=SECRET)

    monkeypatch.setattr(upkeep, "tidy", broken)
    real_queue.send(Wake("jobs.upkeep.tidy", "default"))
    work(real_queue, redis_url)
    with container.units() as unit:
        (failed,) = store.failed_jobs(unit.session)
        (process,) = store.all_known(unit.session)
    assert (failed.queue, failed.job, failed.error, failed.code, failed.times) == (
        "default", "jobs.upkeep.tidy", "Conflict", "prune.serving", 1,
    )  # fmt: skip
    assert SECRET not in str(vars(failed))
    assert (process.last_error, process.job) == ("Conflict", None)

    monkeypatch.setattr(upkeep, "tidy", lambda: None)
    real_queue.send(Wake("jobs.upkeep.tidy", "default"))
    work(real_queue, redis_url)
    with container.units() as unit:
        (over,) = store.failed_jobs(unit.session)
    assert over.worked_at is not None
    assert over.worked_at > over.last_at
