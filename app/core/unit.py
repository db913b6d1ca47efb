"""Units of work. Opening a unit is the right to commit: one per request (edge), per job (runtime), per command.

Jobs are enqueued after the commit and by name. When the queue is away the commit stands all the same: jobs are
wake-ups only, and the scheduler sends again whatever the tables say is due (`product.md`, decision 2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from app.core.queue import JobQueue, Wake

Isolation = Literal["READ COMMITTED", "REPEATABLE READ"]

BEGUN = "begun"


@dataclass(frozen=True)
class Origin:
    """Where a unit's work was asked for: ``channel`` is page, api, command or job; the rest is of a request only."""

    channel: str = "job"
    address: str | None = None
    request_id: str | None = None


@dataclass
class Unit:
    """A database session and the wake-ups to send once it has committed."""

    session: Session
    wakes: list[Wake] = field(default_factory=list)
    origin: Origin = Origin()

    def wake(self, job: str, queue: str, **ids: int | str) -> None:
        """Send ``job`` to ``queue`` after the commit; the same one is sent once."""
        wake = Wake(job=job, queue=queue, ids=ids)
        if wake not in self.wakes:
            self.wakes.append(wake)


class Units:
    """Opens units on one engine. ``origin`` answers where the work of now was asked for, when the opener says nothing.

    The web application sets it to what the request says; in a worker it stays a job.
    """

    def __init__(self, engine: Engine, queue: JobQueue) -> None:
        self.engine = engine
        self.queue = queue
        self.origin: Callable[[], Origin] = Origin

    @contextmanager
    def __call__(
        self, isolation: Isolation = "READ COMMITTED", origin: Origin | None = None, begin: str | None = None
    ) -> Iterator[Unit]:
        """Commit at the end, roll back on any error; wake-ups go out after the commit only.

        ``begin`` are statements that begin the transaction, whatever ``isolation`` says, and go on: the driver would
        send its own `BEGIN` before them, and wait for the answer. They stand in the session's ``info`` as ``begun``.
        """
        with self.engine.connect() as connection:
            connection = connection.execution_options(isolation_level="AUTOCOMMIT" if begin else isolation)
            with Session(bind=connection, expire_on_commit=False, autoflush=True) as session:
                unit = Unit(session, origin=origin or self.origin())
                try:
                    if begin:
                        session.connection().exec_driver_sql(begin)
                        session.info[BEGUN] = begin
                    yield unit
                    session.commit()
                except BaseException:
                    session.rollback()
                    raise
        for wake in unit.wakes:
            self.queue.send(wake)
