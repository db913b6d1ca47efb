"""What PostgreSQL keeps passages in: which tables and indexes there are, and those that are missing."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Table, func, inspect, select
from sqlalchemy.orm import Session

from app.core.db import Base

MODELS = "app.documentation.models"


@dataclass(frozen=True)
class IndexPart:
    """One table. ``rows`` None: it is missing, and a migration makes it; ``made``: indexes made just now."""

    name: str
    rows: int | None
    made: tuple[str, ...] = ()


def ensure_indexes(session: Session) -> list[IndexPart]:
    """Every table of pages and texts by name, its missing indexes made. The indexes of vectors belong to the switch."""
    tables = [mapper.local_table for mapper in Base.registry.mappers if mapper.class_.__module__ == MODELS]
    return [_part(session, one) for one in sorted(tables, key=str) if isinstance(one, Table)]


def _part(session: Session, table: Table) -> IndexPart:
    connection = session.connection()
    found = inspect(connection)
    if not found.has_table(table.name):
        return IndexPart(table.name, None)
    known = {str(one["name"]) for one in found.get_indexes(table.name)}
    missing = sorted((one for one in table.indexes if one.name not in known), key=lambda one: str(one.name))
    for one in missing:
        one.create(connection)
    rows = session.scalar(select(func.count()).select_from(table)) or 0
    return IndexPart(table.name, rows, tuple(str(one.name) for one in missing))
