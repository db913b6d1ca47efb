"""Queries of the records behind the hits: what a page of results shows beside their texts."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ARRAY, BigInteger, Select, any_, bindparam, inspect, literal, select, text
from sqlalchemy.orm import Session

from app.core.access.policy import predicate
from app.core.contracts.conditions import Filter
from app.core.prepared_store import Prepared, prepared
from app.core.recent import Recent
from app.core.registry import Entity

EXPORT = text("select pg_export_snapshot()")
STATEMENTS = 256


@dataclass(frozen=True)
class Facts:
    """What is known of a record. ``source`` is the address of a documentation page inside its corpus."""

    status: str | None = None
    source: str | None = None
    updated_at: datetime | None = None
    deleted: bool = False


TOLD = ("status", "source", "updated_at")


class Records:
    """Reads :class:`Facts`; statements are kept, since to put one together takes longer than to run it."""

    def __init__(self) -> None:
        self._kept: Recent[object, Prepared] = Recent(STATEMENTS)

    def facts(
        self,
        session: Session,
        entity: Entity,
        ids: Sequence[int],
        tree: Filter | None = None,
        readable: Collection[str] = (),
    ) -> dict[int, Facts]:
        """Facts by id, of the records that are there and pass ``tree``; only ``readable`` fields are told."""
        told = tuple(name for name in TOLD if name in readable)
        statement = self._kept.of(
            (entity.name, tree, told), lambda: prepared(session.connection(), _facts(entity, tree, told))
        )
        return {row[0]: Facts(*row[1:]) for row in statement.tuples(session, {"ids": list(ids)})}


def _facts(entity: Entity, tree: Filter | None, told: Collection[str]) -> Select[Any]:
    columns = inspect(entity.model).columns
    asked = [columns[name] if name in columns and name in told else literal(None) for name in TOLD]
    asked.append(columns["deleted_at"].is_not(None) if "deleted_at" in columns else literal(False))
    return select(columns["id"], *asked).where(
        columns["id"] == any_(bindparam("ids", None, ARRAY(BigInteger))),
        predicate(entity, tree),
        *(columns[name] == value for name, value in entity.visible.items()),
    )


def export_snapshot(session: Session) -> str:
    """The name under which another transaction can see what this one sees, for as long as this one is open."""
    return str(session.connection().scalar(EXPORT))


def adopting(name: str, seconds: float, settings: str) -> str:
    """What begins a transaction that sees what the exporting one sees, with ``settings`` of its own.

    Its statements end after ``seconds``. The name is PostgreSQL's own and goes in as a literal, as its grammar demands.
    """
    if not re.fullmatch(r"[0-9A-F-]+", name):
        raise ValueError(name)
    limit = max(1, round(seconds * 1000))
    begin = "begin isolation level repeatable read; set transaction snapshot"
    return f"{begin} '{name}'; set local statement_timeout = {limit}; {settings}"
