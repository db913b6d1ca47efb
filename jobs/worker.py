"""A worker process: one queue each, never two (a killed worker on several queues loses jobs; `libraries.md`, "RQ 3.0").

Jobs run in the worker's own process, without a fork: there is no orphaned work-horse that outlives a killed parent, the
database connections stay warm, and a kill takes everything at once, which leases and epochs then mend (ADR 0004).
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import structlog
from redis.exceptions import RedisError
from rq import Queue
from rq.worker import SimpleWorker
from sqlalchemy.exc import SQLAlchemyError

from app.core.errors import ConfigurationError
from app.core.processes import store as processes
from app.core.queue import QUEUES, RedisQueue
from app.edge.logs import configure
from jobs import runtime

log = structlog.get_logger(__name__)

BEAT_SECONDS = 4.0
IDLE_TTL = 30


@dataclass
class Held:
    """What this process works on now (name, ids, since when), what worked since it last told, its last failure."""

    job: tuple[str, Mapping[str, Any], float] | None = None
    worked: dict[str, float] = field(default_factory=dict)
    error: str | None = None

    def work(self) -> processes.Work | None:
        job = self.job
        return None if job is None else processes.Work(job[0], job[1], runtime.container().clock.monotonic() - job[2])


HELD = Held()


class QueueWorker(SimpleWorker):
    """RQ's in-process worker that also says in PostgreSQL that it is alive and what it holds."""

    max_connection_wait_time = 2.0
    """RQ's own pause grows to 60 s, over all outages of an idle worker: it would sleep on when the queue is back."""

    def perform_job(self, job: Any, queue: Any, execution: Any = None) -> Any:
        HELD.job = job.func_name, dict(job.kwargs or {}), runtime.container().clock.monotonic()
        try:
            worked = super().perform_job(job, queue, execution)
            if worked:
                HELD.worked[job.func_name] = runtime.container().clock.monotonic()
            return worked
        finally:
            HELD.job = None

    def handle_exception(self, job: Any, *exc_info: Any) -> None:
        HELD.error = exc_info[0].__name__ if exc_info and exc_info[0] else None
        log.error("job_failed", job=job.func_name, error=HELD.error, exc_info=exc_info)
        HELD.worked.pop(job.func_name, None)
        code = getattr(exc_info[1], "code", None) if len(exc_info) > 1 else None
        with suppress(SQLAlchemyError), runtime.container().units() as unit:
            processes.note_failure(
                unit.session,
                job.origin,
                job.func_name,
                job.kwargs or {},
                HELD.error or "Exception",
                code if isinstance(code, str) else None,
            )
        super().handle_exception(job, *exc_info)

    def request_stop(self, signum: Any, frame: Any) -> None:
        runtime.STOPPING.set()
        super().request_stop(signum, frame)  # type: ignore[no-untyped-call]


def beat(queue: str, name: str) -> None:
    """Say every few seconds that this process is alive; a database that is away is tried again."""
    units, clock = runtime.container().units, runtime.container().clock
    while True:
        worked = dict(HELD.worked)
        try:
            with units() as unit:
                processes.seen(
                    unit.session,
                    name,
                    "worker",
                    queue,
                    os.getpid(),
                    socket.gethostname(),
                    HELD.work(),
                    HELD.error,
                )
                for job, at in worked.items():
                    processes.note_worked(unit.session, queue, job, clock.monotonic() - at)
            for job, at in worked.items():
                if HELD.worked.get(job) == at:
                    HELD.worked.pop(job, None)
        except SQLAlchemyError as error:
            log.warning("heartbeat_failed", error=type(error).__name__)
        if runtime.STOPPING.wait(BEAT_SECONDS):
            return


def main(arguments: list[str] | None = None) -> int:
    """Work on one queue until told to stop; waits for Redis and starts over when it goes away."""
    parser = argparse.ArgumentParser(prog="python -m jobs.worker", description=__doc__.splitlines()[0])
    parser.add_argument("--queue", required=True, choices=sorted(QUEUES))
    queue = parser.parse_args(arguments).queue
    try:
        parts = runtime.container()
    except ConfigurationError as error:
        print("\n".join(error.problems), file=sys.stderr)
        return 2
    configure(parts.config.changeover_log_level)
    name = runtime.own_name(queue)
    assert isinstance(parts.queue, RedisQueue)
    threading.Thread(target=beat, args=(queue, name), name="beat", daemon=True).start()
    runtime.warm_up(parts, queue)
    while not runtime.STOPPING.is_set():
        try:
            connection = RedisQueue(parts.config.redis_url, blocking=True).redis
            worker = QueueWorker(
                [Queue(queue, connection=connection, serializer="json")],
                connection=connection,
                name=f"{name}.{os.urandom(3).hex()}",
                serializer="json",
                worker_ttl=IDLE_TTL,
                maintenance_interval=15,
                job_monitoring_interval=5,
            )
            worker.work(logging_level="WARNING")
            if worker._stop_requested or runtime.STOPPING.is_set():
                break
        except (RedisError, OSError) as error:
            log.warning("queue_away", queue=queue, error=type(error).__name__)
        parts.clock.sleep(1.0)
    with parts.units() as unit:
        processes.gone(unit.session, name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
