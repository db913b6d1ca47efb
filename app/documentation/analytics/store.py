"""Kept questions in PostgreSQL. Every method runs in the caller's unit."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Table, delete, insert, inspect, select, text
from sqlalchemy.orm import Session

from app.core.errors import Conflict
from app.core.unit import Unit
from app.documentation.analytics.models import LoggedQuestion
from app.documentation.analytics.ports import Made

TABLE: Table = LoggedQuestion.__table__  # type: ignore[assignment]


class PostgresQuestions:
    """The :class:`~app.documentation.analytics.ports.QuestionStore` of the product."""

    place = f"the table {TABLE.name}"

    def add(self, unit: Unit, values: Mapping[str, Any], milliseconds: int) -> None:
        for limit in ("lock_timeout", "statement_timeout"):  # whether it works or waits for a lock
            unit.session.execute(text(f"select set_config('{limit}', :most, true)"), {"most": f"{milliseconds}ms"})
        unit.session.execute(insert(LoggedQuestion).values(**values))

    def prune(self, unit: Unit, before: datetime, most: int) -> int:
        if not _exists(unit.session):
            return 0
        old = select(LoggedQuestion.id).where(LoggedQuestion.logged_at < before).limit(most).scalar_subquery()
        return _deleted(unit.session, LoggedQuestion.id.in_(old))

    def erase(self, unit: Unit, references: Collection[str] | None, query: str | None) -> int:
        conditions: list[ColumnElement[bool]] = []
        if references is not None:
            conditions.append(LoggedQuestion.user_ref.in_(references))
        if query is not None:
            conditions.append(LoggedQuestion.query == query)
        if not conditions:
            raise ValueError("nothing says what to erase")
        return _deleted(unit.session, *conditions) if _exists(unit.session) else 0

    def ensure(self, unit: Unit, *, anew: bool) -> Made:
        made = _ensure(unit.session, anew)
        foreign = _foreign_columns(unit.session)
        if foreign:
            raise Conflict("documentation.query_table", columns=", ".join(foreign))
        return made


def _exists(session: Session) -> bool:
    """It may have been removed by hand."""
    return bool(session.scalar(text("select to_regclass(:name) is not null"), {"name": TABLE.name}))


def _deleted(session: Session, *conditions: ColumnElement[bool]) -> int:
    deleted = session.execute(delete(LoggedQuestion).where(*conditions).returning(LoggedQuestion.id))
    return len(deleted.all())


def _ensure(session: Session, anew: bool) -> Made:
    connection = session.connection()
    present = _exists(session)
    if present and anew:
        TABLE.drop(connection)
    if not present or anew:
        TABLE.create(connection)
        return "recreated" if present else "created"
    known = {str(one["name"]) for one in inspect(connection).get_indexes(TABLE.name)}
    missing = [one for one in TABLE.indexes if one.name not in known]
    for one in missing:
        one.create(connection)
    return "created" if missing else "there"


def _foreign_columns(session: Session) -> list[str]:
    """Columns of the table that are none of ours, or of another type, and ours that it lacks, by name."""
    connection = session.connection()
    present = {
        str(one["name"]): one["type"].compile(connection.dialect) for one in inspect(connection).get_columns(TABLE.name)
    }
    wanted = {one.name: one.type.compile(connection.dialect) for one in TABLE.columns}
    return sorted(name for name in present.keys() | wanted.keys() if present.get(name) != wanted.get(name))
