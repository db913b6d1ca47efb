"""The job queue: a door to Redis. Jobs are named, carry ids only, and may be lost: PostgreSQL holds the truth.

`libraries.md` ("RQ 3.0") says why each worker listens to one queue, why every job has a timeout and a fresh id, and
why nothing is ever read from RQ's registries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol
from uuid import uuid4

import structlog
from redis import Redis
from redis.exceptions import RedisError

log = structlog.get_logger(__name__)

EMBEDDINGS = "embeddings"
SWITCH = "embeddings-switch"
INDEX = "embeddings-index"
DEFAULT = "default"

QUEUES: Mapping[str, int] = {EMBEDDINGS: 900, SWITCH: 900, INDEX: 14_400, DEFAULT: 900}
"""Every queue and the timeout of its jobs in seconds (RQ's own default of 180 s is never used)."""


@dataclass(frozen=True)
class Wake:
    """One wake-up: a job's name (``jobs.<file>.<function>``), its queue and its ids."""

    job: str
    queue: str
    ids: Mapping[str, int | str] = field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Wake)
            and (self.job, self.queue) == (other.job, other.queue)
            and dict(self.ids) == dict(other.ids)
        )

    __hash__ = None  # type: ignore[assignment]


class JobQueue(Protocol):
    """Who sends: units after their commit, and the scheduler. A queue that is away never raises: it says False."""

    def send(self, wake: Wake) -> bool: ...

    def waiting(self, queue: str) -> int | None:
        """Jobs that wait in ``queue``; None when the queue can't be asked."""
        ...

    def alive(self) -> bool: ...


class RedisQueue:
    """RQ on Redis or Valkey."""

    def __init__(self, url: str, *, blocking: bool = False) -> None:
        """``blocking``: for workers, which wait for jobs longer than any answer may take elsewhere."""
        self.redis = Redis.from_url(url, socket_timeout=None if blocking else 5, socket_connect_timeout=2)

    def send(self, wake: Wake) -> bool:
        from rq import Queue

        try:
            Queue(wake.queue, connection=self.redis, serializer="json").enqueue_call(
                wake.job,
                kwargs=dict(wake.ids),
                timeout=QUEUES[wake.queue],
                job_id=uuid4().hex,
                result_ttl=0,
                failure_ttl=3600,
            )
        except (RedisError, OSError) as error:
            log.warning("queue_send_failed", queue=wake.queue, job=wake.job, error=type(error).__name__)
            return False
        return True

    def waiting(self, queue: str) -> int | None:
        try:
            return int(self.redis.llen(f"rq:queue:{queue}"))
        except (RedisError, OSError):
            return None

    def alive(self) -> bool:
        try:
            return bool(self.redis.ping())
        except (RedisError, OSError):
            return False
