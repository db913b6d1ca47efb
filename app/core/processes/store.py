"""Queries of the background processes. Time is the database's: processes of several hosts compare by one clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_, case, delete, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.core.processes.models import Process

WORKER = "worker"
SCHEDULER = "scheduler"

_NOW = func.clock_timestamp()

_LAGS = text(
    """
    select c.consumer, count(e.id), min(e.created_at)
    from index_cursors c
    left join lateral (
        select e.id, e.created_at from index_events e
        where (e.xid, e.id) > (c.xid, c.event_id) order by e.xid, e.id limit 10000
    ) e on true
    group by c.consumer order by c.consumer
    """
)


@dataclass(frozen=True)
class Lag:
    """Index events that ``consumer`` has not applied, counted up to 10,000, and since when the oldest waits."""

    consumer: str
    waiting: int
    oldest_at: datetime | None


def seen(
    session: Session,
    name: str,
    kind: str,
    queue: str | None,
    pid: int,
    host: str,
    job: str | None = None,
    error: str | None = None,
) -> None:
    """Say that the process ``name`` is alive. ``job`` is what it works on now, ``error`` the class of its last failure.

    A new pid or host under the same name is a new process: it starts now. An earlier ``error`` stays while the process
    lives.
    """
    row = insert(Process).values(name=name, kind=kind, queue=queue, pid=pid, host=host, job=job, last_error=error)
    same = and_(Process.pid == row.excluded.pid, Process.host == row.excluded.host)
    session.execute(
        row.on_conflict_do_update(
            index_elements=[Process.name],
            set_={
                "kind": row.excluded.kind,
                "queue": row.excluded.queue,
                "pid": row.excluded.pid,
                "host": row.excluded.host,
                "job": row.excluded.job,
                "last_error": case(
                    (same, func.coalesce(row.excluded.last_error, Process.last_error)), else_=row.excluded.last_error
                ),
                "started_at": case((same, Process.started_at), else_=_NOW),
                "seen_at": _NOW,
            },
        )
    )


def gone(session: Session, name: str) -> None:
    """The process ends well: it is no longer expected."""
    session.execute(delete(Process).where(Process.name == name))


def alive(session: Session, within_seconds: float) -> list[Process]:
    """The processes that were seen in the last ``within_seconds``, by name."""
    limit = _NOW - func.make_interval(0, 0, 0, 0, 0, 0, within_seconds)
    return list(session.scalars(select(Process).where(Process.seen_at >= limit).order_by(Process.name)))


def all_known(session: Session) -> list[Process]:
    """Every process that is still expected, dead ones included, by name."""
    return list(session.scalars(select(Process).order_by(Process.name)))


def remove_dead(session: Session, after_seconds: float) -> int:
    """Forget processes that were not seen for ``after_seconds``; returns how many."""
    limit = _NOW - func.make_interval(0, 0, 0, 0, 0, 0, after_seconds)
    removed = session.execute(delete(Process).where(Process.seen_at < limit).returning(Process.name))
    return len(removed.all())


def lags(session: Session) -> list[Lag]:
    """How far each consumer of index events is behind, by its name."""
    return [Lag(consumer, waiting, oldest_at) for consumer, waiting, oldest_at in session.execute(_LAGS)]
