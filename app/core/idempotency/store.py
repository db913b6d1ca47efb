"""Queries of answered requests."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete, select, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from app.core.idempotency.models import IdempotencyKey


def try_lock(session: Session, name: str) -> bool:
    """Take the transaction's lock of this name; False at once when another transaction holds it."""
    found = session.scalar(text("select pg_try_advisory_xact_lock(hashtextextended(:name, 0))"), {"name": name})
    return bool(found)


def wait_lock(session: Session, name: str, milliseconds: int) -> bool:
    """As :func:`try_lock`, waiting so long. False leaves the transaction aborted: the caller must raise."""
    session.execute(text("select set_config('lock_timeout', :limit, true)"), {"limit": f"{milliseconds}ms"})
    try:
        session.execute(text("select pg_advisory_xact_lock(hashtextextended(:name, 0))"), {"name": name})
    except OperationalError as error:
        if getattr(error.orig, "sqlstate", None) != "55P03":
            raise
        return False
    session.execute(text("select set_config('lock_timeout', '0', true)"))
    return True


def find(session: Session, actor_id: int, route: str, key: str) -> IdempotencyKey | None:
    return session.scalars(
        select(IdempotencyKey).where(
            IdempotencyKey.actor_id == actor_id, IdempotencyKey.route == route, IdempotencyKey.key == key
        )
    ).one_or_none()


def add(session: Session, row: IdempotencyKey) -> None:
    session.add(row)
    session.flush()


def forget(session: Session, row: IdempotencyKey) -> None:
    session.delete(row)
    session.flush()


def forget_before(session: Session, instant: datetime) -> None:
    session.execute(delete(IdempotencyKey).where(IdempotencyKey.created_at <= instant))
