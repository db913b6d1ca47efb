"""Queries of the stored settings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ARRAY, Text, any_, bindparam, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.core.access.models import User
from app.core.settings.models import Setting

STORED = select(Setting.name, Setting.value).where(Setting.name == any_(bindparam("names", type_=ARRAY(Text))))


@dataclass(frozen=True)
class Change:
    """When a value was stored last; ``by`` is the person's name, None for the program."""

    at: datetime
    by: str | None


def stored(session: Session, names: Collection[str]) -> Mapping[str, Any]:
    """The stored values among ``names``; a name that holds its default is missing."""
    return dict(session.connection().execute(STORED, {"names": list(names)}).all())


def changes(session: Session) -> Mapping[str, Change]:
    """Who stored each value last, by name of the setting."""
    rows = session.execute(
        select(Setting.name, Setting.updated_at, User.display_name).outerjoin(User, User.id == Setting.updated_by)
    )
    return {name: Change(at, by) for name, at, by in rows}


def put(session: Session, name: str, value: object, by: int | None, at: datetime) -> None:
    """Store ``value``; ``by`` is the id of the user, None for the program."""
    statement = insert(Setting).values(name=name, value=value, updated_by=by, updated_at=at)
    changed = {column: statement.excluded[column] for column in ("value", "updated_by", "updated_at")}
    session.execute(statement.on_conflict_do_update(index_elements=[Setting.name], set_=changed))


def one_writer(session: Session, name: str) -> None:
    """Wait until no other unit writes this setting; held until the unit ends. Take several in the order of names."""
    session.execute(text("select pg_advisory_xact_lock(hashtextextended(:name, 0))"), {"name": f"setting {name}"})
