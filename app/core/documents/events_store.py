"""Queries of index events and cursors (`switch.md`, `index_events`): a cursor is (xid, id), in that order.

A bigserial is not commit order, so a cursor moves only through events whose transaction is below the oldest one still
running; visible events above that horizon are applied too, without moving it. Applying twice is free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session


@dataclass(frozen=True, order=True)
class Position:
    """A place in the order of events."""

    xid: int
    event_id: int


@dataclass(frozen=True)
class Event:
    """One visible event; ``settled`` means that nothing can appear before it any more."""

    position: Position
    entity: str
    record_id: int
    settled: bool


@dataclass(frozen=True)
class CursorClaim:
    """The right to apply events for one consumer."""

    consumer: str
    space_id: int
    position: Position
    system_identifier: str
    token: str


def system_identifier(session: Session) -> str:
    """The identity of the database cluster; another one means that this database was restored elsewhere."""
    return str(session.scalar(text("select system_identifier from pg_control_system()")))


def now(session: Session) -> Position:
    """*Now* for a cursor that begins: nothing that commits later can stand before it."""
    return Position(int(str(session.scalar(text("select pg_snapshot_xmin(pg_current_snapshot())::text")))), 0)


def begin_cursor(session: Session, consumer: str, space_id: int, position: Position) -> None:
    """Make the cursor of ``consumer``, or set it anew."""
    session.execute(
        text(
            """
            insert into index_cursors (consumer, space_id, xid, event_id, system_identifier)
            values (:consumer, :space, cast(:xid as xid8), :event, :system)
            on conflict (consumer) do update set space_id = excluded.space_id, xid = excluded.xid,
                event_id = excluded.event_id, system_identifier = excluded.system_identifier,
                lease_token = null, lease_until = null, waiting_since = null
            """
        ),
        {
            "consumer": consumer,
            "space": space_id,
            "xid": str(position.xid),
            "event": position.event_id,
            "system": system_identifier(session),
        },
    )


def end_cursor(session: Session, consumer: str) -> None:
    """Remove a cursor."""
    session.execute(text("delete from index_cursors where consumer = :consumer"), {"consumer": consumer})


def rename_cursor(session: Session, old: str, new: str) -> None:
    """Let one consumer's cursor become another's (activation)."""
    end_cursor(session, new)
    session.execute(
        text(
            "update index_cursors set consumer = :new, lease_token = null, lease_until = null, waiting_since = null "
            "where consumer = :old"
        ),
        {"old": old, "new": new},
    )


def claim_cursor(session: Session, consumer: str, token: str, seconds: int) -> CursorClaim | None:
    """Take the lease of a consumer for so many seconds, unless somebody holds it or there is no such consumer."""
    row = session.execute(
        text(
            """
            update index_cursors set lease_token = :token,
                lease_until = clock_timestamp() + make_interval(secs => :seconds)
            where consumer = :consumer and (lease_until is null or lease_until < clock_timestamp())
            returning space_id, xid::text, event_id, system_identifier
            """
        ),
        {"consumer": consumer, "token": token, "seconds": seconds},
    ).one_or_none()
    if row is None:
        return None
    return CursorClaim(consumer, row[0], Position(int(row[1]), row[2]), row[3], token)


def release_cursor(session: Session, claim: CursorClaim) -> None:
    """Give the lease back."""
    session.execute(
        text(
            "update index_cursors set lease_token = null, lease_until = null "
            "where consumer = :consumer and lease_token = :token"
        ),
        {"consumer": claim.consumer, "token": claim.token},
    )


def move_cursor(session: Session, claim: CursorClaim, position: Position) -> bool:
    """Move forward, never back; False when the consumer is no longer ours or works for another space."""
    result: Any = session.execute(
        text(
            """
            update index_cursors set xid = cast(:xid as xid8), event_id = :event, moved_at = clock_timestamp()
            where consumer = :consumer and lease_token = :token and space_id = :space
              and (xid, event_id) <= (cast(:xid as xid8), :event)
            """
        ),
        {
            "consumer": claim.consumer,
            "token": claim.token,
            "space": claim.space_id,
            "xid": str(position.xid),
            "event": position.event_id,
        },
    )
    return bool(result.rowcount)


def note_waiting(session: Session, consumer: str, waiting: bool) -> None:
    """Note since when a consumer waits for its model server, or that it no longer does."""
    since = "coalesce(waiting_since, clock_timestamp())" if waiting else "null"
    changes = "" if waiting else " and waiting_since is not null"
    session.execute(
        text(f"update index_cursors set waiting_since = {since} where consumer = :consumer{changes}"),
        {"consumer": consumer},
    )


def read_events(session: Session, after: Position, limit: int) -> Sequence[Event]:
    """Visible events after a position, in order.

    The order names the table: a bare ``xid`` would be the text of the answer, in which 1000 comes before 999.
    """
    rows = session.execute(
        text(
            """
            select e.xid::text, e.id, e.entity, e.record_id, e.xid < pg_snapshot_xmin(pg_current_snapshot())
            from index_events e where (e.xid, e.id) > (cast(:xid as xid8), :event) order by e.xid, e.id limit :limit
            """
        ),
        {"xid": str(after.xid), "event": after.event_id, "limit": limit},
    )
    return [Event(Position(int(xid), key), entity, record, settled) for xid, key, entity, record, settled in rows]


def lag(session: Session, consumer: str, limit: int = 1001) -> int | None:
    """Visible events that a consumer has not passed, counted up to ``limit``; None without such a consumer."""
    count = session.scalar(
        text(
            """
            select (select count(*) from (
                select 1 from index_events i where (i.xid, i.id) > (c.xid, c.event_id) limit :limit) as sample)
            from index_cursors c where c.consumer = :consumer
            """
        ),
        {"consumer": consumer, "limit": limit},
    )
    return None if count is None else int(count)


def follows(session: Session, consumer: str) -> bool:
    """Whether there is such a consumer, and its cursor began in this database cluster."""
    return bool(
        session.scalar(
            text(
                "select 1 from index_cursors where consumer = :consumer and system_identifier = "
                "(select system_identifier::text from pg_control_system())"
            ),
            {"consumer": consumer},
        )
    )


def restored(session: Session, consumer: str) -> bool:
    """Whether this database was restored into another cluster since the cursor began: its position means nothing."""
    return bool(
        session.scalar(
            text(
                "select 1 from index_cursors where consumer = :consumer and system_identifier <> "
                "(select system_identifier::text from pg_control_system())"
            ),
            {"consumer": consumer},
        )
    )


def is_free(session: Session, consumer: str) -> bool:
    """Whether there is such a consumer and nobody applies its events."""
    return bool(
        session.scalar(
            text(
                "select 1 from index_cursors where consumer = :consumer "
                "and (lease_until is null or lease_until < clock_timestamp())"
            ),
            {"consumer": consumer},
        )
    )


def prune_events(session: Session) -> int:
    """Delete events that every cursor has passed; nothing while there is no cursor."""
    result: Any = session.execute(
        text(
            """
            delete from index_events i where exists (select 1 from index_cursors)
              and not exists (select 1 from index_cursors c where (i.xid, i.id) > (c.xid, c.event_id))
            """
        )
    )
    return int(result.rowcount)


def forget_events(session: Session) -> None:
    """Delete every event: after a restore their transaction ids mean nothing; the anti-join finds what is missing.

    Only the first consumer that notices does so: afterwards there are events of this cluster that it has yet to apply.
    """
    session.execute(
        text(
            "delete from index_events where not exists (select 1 from index_cursors where system_identifier = "
            "(select system_identifier::text from pg_control_system()))"
        )
    )
