"""A worker whose queue is away asks again every two seconds at most, however often it was away before."""

from __future__ import annotations

import pytest
import redis
from rq import Queue
from rq.utils import now

from jobs.worker import QueueWorker


def test_pauses_do_not_grow_beyond_two_seconds(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = redis.Redis.from_url(redis_url)
    worker = QueueWorker([Queue("default", connection=connection)], connection=connection)
    worker.last_cleaned_at = now()
    failures = [redis.ConnectionError("away")] * 8
    pauses: list[float] = []

    def dequeue(*args: object, **options: object) -> None:
        if failures:
            raise failures.pop()

    monkeypatch.setattr(Queue, "dequeue_any", dequeue)
    monkeypatch.setattr("rq.worker.base.time.sleep", pauses.append)
    assert worker.dequeue_job_and_maintain_ttl(1) is None
    assert len(pauses) == 8
    assert max(pauses) == 2.0
