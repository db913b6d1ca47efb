"""Queries of the records behind the hits: what a page of results shows beside their texts."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ARRAY, BigInteger, any_, bindparam, inspect, literal, select, text
from sqlalchemy.orm import Session

from app.core.access.policy import predicate
from app.core.contracts.conditions import Filter
from app.core.registry import Entity


@dataclass(frozen=True)
class Facts:
    """What is known of a record. ``source`` is the address of a documentation page inside its corpus."""

    status: str | None = None
    source: str | None = None
    updated_at: datetime | None = None
    deleted: bool = False


def facts(
    session: Session, entity: Entity, ids: Sequence[int], tree: Filter | None = None, readable: Collection[str] = ()
) -> dict[int, Facts]:
    """Facts by id, of the records that are there and pass ``tree``; only ``readable`` fields are told."""
    columns = inspect(entity.model).columns
    told = {name: columns[name] for name in ("status", "source", "updated_at") if name in columns and name in readable}
    asked = [told.get(name, literal(None)) for name in ("status", "source", "updated_at")]
    asked.append(columns["deleted_at"].is_not(None) if "deleted_at" in columns else literal(False))
    statement = select(columns["id"], *asked).where(
        columns["id"] == any_(bindparam("ids", type_=ARRAY(BigInteger))),
        predicate(entity, tree),
        *(columns[name] == value for name, value in entity.visible.items()),
    )
    return {row[0]: Facts(*row[1:]) for row in session.execute(statement, {"ids": list(ids)})}


def export_snapshot(session: Session) -> str:
    """The name under which another transaction can see what this one sees, for as long as this one is open."""
    return str(session.scalar(text("select pg_export_snapshot()")))


def adopt_snapshot(session: Session, name: str, seconds: float) -> None:
    """See what the exporting transaction sees; the first statement of a REPEATABLE READ transaction.

    Its statements end after ``seconds``. The name is PostgreSQL's own and goes in as a literal, as its grammar demands.
    """
    if not re.fullmatch(r"[0-9A-F-]+", name):
        raise ValueError(name)
    limit = max(1, round(seconds * 1000))
    session.execute(text(f"set transaction snapshot '{name}'; set local statement_timeout = {limit}"))
