"""The one query of summaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from app.core.crud.list_store import restriction
from app.core.crud.query import Ask
from app.core.registry import Entity

Group = tuple[tuple[object, ...], int, tuple[object, ...]]


def summarize(
    session: Session,
    entity: Entity,
    ask: Ask,
    rows: ColumnElement[bool],
    groups: Sequence[str],
    metrics: Sequence[tuple[str, str]],
    most: int,
) -> tuple[list[Group], int]:
    """([(values of ``groups``, count, figures)], records in all groups): the largest ``most`` groups and one more.

    One statement: groups and total are of one snapshot.
    """
    session.flush()
    table = entity.model.__table__
    keys = [table.c[name].label(f"group_{place}") for place, name in enumerate(groups)]
    figures = [
        getattr(func, function)(table.c[name]).label(f"metric_{place}")
        for place, (function, name) in enumerate(metrics)
    ]
    count = func.count().label("records")
    total = func.sum(func.count()).over().label("total")
    statement = select(*keys, count, *figures, total).where(restriction(entity, ask, rows))
    if groups:
        statement = statement.group_by(*(table.c[name] for name in groups)).order_by(
            count.desc(), *(table.c[name] for name in groups)
        )
    found: Sequence[Any] = session.connection().execute(statement.limit(most + 1)).all()
    width = len(groups)
    lines = [(tuple(row[:width]), row.records, tuple(row[width + 1 : -1])) for row in found]
    return lines, int(found[0].total) if found else 0
