"""Queries of what people chose for themselves."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.core.access.models import UserPreference


def value(session: Session, user_id: int, name: str) -> Any:
    """The stored value; None when there is none."""
    return session.scalar(
        select(UserPreference.value).where(UserPreference.user_id == user_id, UserPreference.name == name)
    )


def put(session: Session, user_id: int, name: str, value: object, at: datetime) -> None:
    """Store the value in the place of the one before."""
    statement = insert(UserPreference).values(user_id=user_id, name=name, value=value, updated_at=at)
    changed = {column: statement.excluded[column] for column in ("value", "updated_at")}
    session.execute(statement.on_conflict_do_update(index_elements=["user_id", "name"], set_=changed))


def remove(session: Session, user_id: int, name: str) -> None:
    session.execute(delete(UserPreference).where(UserPreference.user_id == user_id, UserPreference.name == name))
