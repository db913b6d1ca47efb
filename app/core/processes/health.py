"""Whether the console can do its work: each part on its own, so that one that is away never hides the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy.exc import SQLAlchemyError

from app.core.contracts.actor import Actor
from app.core.errors import Forbidden, NotFound, Unavailable
from app.core.migrate import is_current
from app.core.processes import store
from app.core.processes.models import JobFailure, Process
from app.core.queue import EMBEDDINGS, QUEUES, JobQueue, Wake
from app.core.unit import Unit, Units

READ = "queues.select"
MANAGE = "queues.update"

ALIVE_SECONDS = 15.0
"""A process that was not seen for longer counts as dead; processes say that they live every few seconds."""

SILENT_SECONDS = 10.0
"""A process that missed two beats is shown as silent: with the page's polling a stopped worker is seen within 15 s."""

State = Literal["ok", "away", "behind", "none", "unknown"]


@dataclass(frozen=True)
class Part:
    """``state`` is ok, away (no answer), behind (migrations are missing), none (no process), unknown (can't be asked).

    ``alive`` counts processes where there may be several.
    """

    state: State
    alive: int | None = None


@dataclass(frozen=True)
class ProcessState:
    """A process that was started and did not end well, and what it holds; ``alive`` is false when it went silent."""

    process: Process
    alive: bool
    leases: Sequence[store.Lease]


@dataclass(frozen=True)
class QueueState:
    """One queue: its processes, ``expected`` of them, the jobs that wait (None when the queue can't be asked) and those
    that failed, the latest first."""

    name: str
    expected: int
    workers: Sequence[ProcessState]
    waiting: int | None
    failures: Sequence[JobFailure]

    @property
    def alive(self) -> int:
        """How many workers are alive."""
        return sum(worker.alive for worker in self.workers)

    @property
    def running(self) -> int:
        """How many of them work on a job."""
        return sum(worker.alive and worker.process.job is not None for worker in self.workers)


@dataclass(frozen=True)
class Overview:
    """Everything that works in the background, at the database's ``now``. ``loose`` leases have no process that is
    known: their holder died, or was another program."""

    now: datetime
    answers: bool
    queues: Sequence[QueueState]
    schedulers: Sequence[ProcessState]
    lags: Sequence[store.Lag]
    loose: Sequence[store.Lease]

    @property
    def problems(self) -> list[str]:
        """What is wrong: ``queue``, ``scheduler``, and ``worker:<name>`` for each queue that lacks one."""
        lacking = [f"worker:{queue.name}" for queue in self.queues if queue.alive < queue.expected]
        scheduler = [] if any(one.alive for one in self.schedulers) else ["scheduler"]
        return [*([] if self.answers else ["queue"]), *scheduler, *lacking]


class Health:
    """Asked by ``/readyz`` and by the page of the queues. ``embedding_workers`` are expected on their queue."""

    def __init__(self, units: Units, queue: JobQueue, embedding_workers: int = 1) -> None:
        self.units = units
        self.queue = queue
        self.embedding_workers = embedding_workers

    def parts(self) -> Mapping[str, Part]:
        """Every part by name: database, migrations, queue, scheduler and ``worker:<queue>`` for each queue."""
        return {**self._database(), "queue": Part("ok" if self.queue.alive() else "away"), **self._processes()}

    def overview(self) -> Overview:
        """The queues in the order of `core/queue.py`, and all else. Raises the driver's error when the database is
        away."""
        with self.units() as unit:
            session = unit.session
            now, known, failed = store.now(session), store.all_known(session), store.failed_jobs(session)
            leases, lags = store.leases(session), store.lags(session)
        held = [lease for lease in leases if lease.until > now]
        states = [_state(process, now, held) for process in known]
        names = {f"{process.host}#{process.pid}" for process in known}
        return Overview(
            now,
            self.queue.alive(),
            [self._queue(name, states, failed) for name in QUEUES],
            [state for state in states if state.process.kind == store.SCHEDULER],
            lags,
            [lease for lease in held if lease.holder not in names],
        )

    def _queue(self, name: str, states: Sequence[ProcessState], failed: Sequence[JobFailure]) -> QueueState:
        workers = [state for state in states if state.process.queue == name]
        failures = [failure for failure in failed if failure.queue == name]
        expected = self.embedding_workers if name == EMBEDDINGS else 1
        return QueueState(name, expected, workers, self.queue.waiting(name), failures)

    def send_again(self, actor: Actor, queue: str, job: str) -> None:
        """Send a failed job once more, with the ids that it failed with; it leaves the list. All jobs may run twice.

        Raises Forbidden, NotFound, and Unavailable when the queue is away: then it stays on the list.
        """
        _permit(actor)
        if not self.queue.alive():
            raise Unavailable("job.queue_away")
        with self.units() as unit:
            failure = self._take(unit, queue, job)
            unit.wakes.append(Wake(job, queue, failure.ids))

    def forget(self, actor: Actor, queue: str, job: str) -> None:
        """Take a failed job off the list. Raises Forbidden and NotFound."""
        _permit(actor)
        with self.units() as unit:
            self._take(unit, queue, job)

    @staticmethod
    def _take(unit: Unit, queue: str, job: str) -> JobFailure:
        failure = store.take_failure(unit.session, queue, job)
        if failure is None:
            raise NotFound("job.unknown")
        return failure

    def lags(self) -> Sequence[store.Lag]:
        """How far the consumers of index events are behind."""
        with self.units() as unit:
            return store.lags(unit.session)

    def _database(self) -> Mapping[str, Part]:
        try:
            current = is_current(self.units.engine)
        except SQLAlchemyError:
            return {"database": Part("away"), "migrations": Part("unknown")}
        return {"database": Part("ok"), "migrations": Part("ok" if current else "behind")}

    def _processes(self) -> Mapping[str, Part]:
        try:
            alive = self._alive()
        except SQLAlchemyError:
            return {"scheduler": Part("unknown")} | {f"worker:{name}": Part("unknown") for name in QUEUES}
        counts = {f"worker:{name}": sum(process.queue == name for process in alive) for name in QUEUES}
        counts["scheduler"] = sum(process.kind == store.SCHEDULER for process in alive)
        return {name: Part("ok" if count else "none", count) for name, count in counts.items()}

    def _alive(self) -> list[Process]:
        with self.units() as unit:
            return store.alive(unit.session, ALIVE_SECONDS)


def _permit(actor: Actor) -> None:
    if not actor.may(MANAGE):
        raise Forbidden("access.forbidden", permission=MANAGE)


def _state(process: Process, now: datetime, leases: Sequence[store.Lease]) -> ProcessState:
    holder = f"{process.host}#{process.pid}"
    alive = (now - process.seen_at).total_seconds() <= SILENT_SECONDS
    return ProcessState(process, alive, [lease for lease in leases if lease.holder == holder])
