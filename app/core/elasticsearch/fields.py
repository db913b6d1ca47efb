"""The fields of records in Elasticsearch, for conditions: which, of what type, and how a value is written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from app.core.access.conditions import conditional_fields
from app.core.registry import Entity

LONG_KINDS = frozenset({"text"})
"""Fields of these kinds are too long for a keyword: conditions on them are checked in PostgreSQL."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def filter_fields(entity: Entity) -> dict[str, type]:
    """The record's fields that are in the index, with their Python types."""
    columns = entity.model.__table__.columns
    return {
        name: columns[name].type.python_type
        for name, item in conditional_fields(entity).items()
        if item.kind not in LONG_KINDS
    }


def stored(value: object) -> object:
    """A value as the index has it: instants are microseconds since 1970, exact and without a range."""
    if isinstance(value, datetime):
        return ((value if value.tzinfo else value.replace(tzinfo=UTC)) - EPOCH) // MICROSECOND
    return value
