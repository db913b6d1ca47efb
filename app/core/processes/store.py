"""Queries of the background processes. Time is the database's: processes of several hosts compare by one clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import and_, case, delete, func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.core.processes.models import JobFailure, Process

WORKER = "worker"
SCHEDULER = "scheduler"

_NOW = func.clock_timestamp()
_TOLD = ("kind", "queue", "pid", "host")

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


_LEASES = text(
    """
    select 'step' as kind, s.lease_token, s.lease_until, s.id, s.phase, null, null, null
    from switches s where s.lease_token is not null and s.status in ('running', 'failed')
    union all
    select 'chunk', c.lease_token, c.lease_until, c.switch_id, c.phase, c.entity, c.done, c.documents
    from switches s join switch_chunks c on c.switch_id = s.id
    where s.status in ('running', 'failed') and c.status = 'leased'
    union all
    select 'events', i.lease_token, i.lease_until, null, i.consumer, null, null, null
    from index_cursors i where i.lease_token is not null
    order by 1, 3
    """
)


@dataclass(frozen=True)
class Lease:
    """Work that a process holds until ``until``: a ``step`` or ``chunk`` of a switch, or the ``events`` of a consumer.

    ``holder`` is ``host#pid``. ``phase`` is the switch's, or the consumer's name; ``done`` of ``documents`` are a
    chunk's.
    """

    kind: str
    holder: str
    until: datetime
    switch_id: int | None
    phase: str
    entity: str | None
    done: int | None
    documents: int | None


@dataclass(frozen=True)
class Lag:
    """Index events that ``consumer`` has not applied, counted up to 10,000, and since when the oldest waits."""

    consumer: str
    waiting: int
    oldest_at: datetime | None


@dataclass(frozen=True)
class Work:
    """The job that a worker does: its name, its ids, and for how many seconds already."""

    job: str
    ids: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0


def seen(
    session: Session,
    name: str,
    kind: str,
    queue: str | None,
    pid: int,
    host: str,
    work: Work | None = None,
    error: str | None = None,
) -> None:
    """Say that the process ``name`` is alive. ``work`` is what it does now, ``error`` the class of its last failure.

    A new pid or host under the same name is a new process: it starts now. An earlier ``error`` stays while the process
    lives.
    """
    row = insert(Process).values(
        name=name,
        kind=kind,
        queue=queue,
        pid=pid,
        host=host,
        job=work.job if work else None,
        job_ids=dict(work.ids) if work else None,
        job_since=_NOW - func.make_interval(0, 0, 0, 0, 0, 0, work.seconds) if work else None,
        last_error=error,
    )
    same = and_(Process.pid == row.excluded.pid, Process.host == row.excluded.host)
    session.execute(
        row.on_conflict_do_update(
            index_elements=[Process.name],
            set_={
                **{
                    name: row.excluded[name] for name in ("kind", "queue", "pid", "host", "job", "job_ids", "job_since")
                },
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


def now(session: Session) -> datetime:
    """The database's clock, by which processes are seen and leases end."""
    found: datetime = session.scalars(select(_NOW)).one()
    return found


def leases(session: Session) -> list[Lease]:
    """What is held now, or was when its holder died."""
    return [
        Lease(kind, token.rpartition(".")[0], until, *rest) for kind, token, until, *rest in session.execute(_LEASES)
    ]


# --- failed jobs ---------------------------------------------------------------------------------------------------


def note_failure(session: Session, queue: str, job: str, ids: Mapping[str, Any], error: str, code: str | None) -> None:
    """A job failed: count it with earlier failures since it last worked."""
    row = insert(JobFailure).values(queue=queue, job=job, ids=dict(ids), error=error, code=code)
    again = JobFailure.worked_at.is_(None)
    session.execute(
        row.on_conflict_do_update(
            index_elements=[JobFailure.queue, JobFailure.job],
            set_={
                "ids": row.excluded.ids,
                "error": row.excluded.error,
                "code": row.excluded.code,
                "times": case((again, JobFailure.times + 1), else_=1),
                "first_at": case((again, JobFailure.first_at), else_=_NOW),
                "last_at": _NOW,
                "worked_at": None,
            },
        )
    )


def note_worked(session: Session, queue: str, job: str, seconds_ago: float) -> None:
    """A job of this name worked so long ago: if its failures are older, they are over."""
    at = _NOW - func.make_interval(0, 0, 0, 0, 0, 0, seconds_ago)
    session.execute(
        update(JobFailure)
        .where(
            JobFailure.queue == queue, JobFailure.job == job, JobFailure.worked_at.is_(None), JobFailure.last_at < at
        )
        .values(worked_at=at)
    )


def failed_jobs(session: Session) -> list[JobFailure]:
    """Jobs that failed, the latest first."""
    return list(session.scalars(select(JobFailure).order_by(JobFailure.last_at.desc(), JobFailure.job)))


def take_failure(session: Session, queue: str, job: str) -> JobFailure | None:
    """Remove a failed job from the list and return it; None when it is not there."""
    found = session.get(JobFailure, (queue, job), with_for_update=True)
    if found is not None:
        session.delete(found)
    return found


def forget_old_failures(session: Session, after_days: int) -> None:
    """Forget failures that are over, or whose job was not tried again, for so long."""
    limit = _NOW - func.make_interval(0, 0, 0, after_days)
    session.execute(delete(JobFailure).where(func.coalesce(JobFailure.worked_at, JobFailure.last_at) < limit))
