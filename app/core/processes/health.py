"""Whether the console can do its work: each part on its own, so that one that is away never hides the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy.exc import SQLAlchemyError

from app.core.migrate import is_current
from app.core.processes import store
from app.core.processes.models import Process
from app.core.queue import QUEUES, JobQueue
from app.core.unit import Units

ALIVE_SECONDS = 15.0
"""A process that was not seen for longer counts as dead; processes say that they live every few seconds."""

State = Literal["ok", "away", "behind", "none", "unknown"]


@dataclass(frozen=True)
class Part:
    """``state`` is ok, away (no answer), behind (migrations are missing), none (no process), unknown (can't be asked).

    ``alive`` counts processes where there may be several.
    """

    state: State
    alive: int | None = None


@dataclass(frozen=True)
class QueueState:
    """One queue: its living workers and the jobs that wait (None when the queue can't be asked)."""

    name: str
    workers: Sequence[Process]
    waiting: int | None


class Health:
    """Asked by ``/readyz`` and by the page of the queues."""

    def __init__(self, units: Units, queue: JobQueue) -> None:
        self.units = units
        self.queue = queue

    def parts(self) -> Mapping[str, Part]:
        """Every part by name: database, migrations, queue, scheduler and ``worker:<queue>`` for each queue."""
        return {**self._database(), "queue": Part("ok" if self.queue.alive() else "away"), **self._processes()}

    def queues(self) -> Sequence[QueueState]:
        """The queues in the order of `core/queue.py`. Raises the driver's error when the database is away."""
        alive = self._alive()
        return [
            QueueState(name, [process for process in alive if process.queue == name], self.queue.waiting(name))
            for name in QUEUES
        ]

    def scheduler(self) -> Process | None:
        """The living scheduler, if there is one."""
        return next((process for process in self._alive() if process.kind == store.SCHEDULER), None)

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
