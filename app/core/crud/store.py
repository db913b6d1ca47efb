"""Queries of single records of any registered entity. Every function runs in the caller's session.

``rows`` is always the condition of `core/access/policy.py`: which rows this actor reaches.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import BigInteger, Column, ColumnElement, Select, bindparam, cast, func, select, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

from app.core.crud.prepared_store import STATEMENTS
from app.core.crud.reach import Reach
from app.core.registry import Entity

Texts = dict[int, dict[str, dict[str, str]]]
"""Record id to locale to translated field to text."""
OWN_COLUMNS = ("id", "revision", "created_at", "updated_at", "deleted_at")


def find(
    session: Session, entity: Entity, record_id: int, rows: ColumnElement[bool], *, lock: bool = False
) -> Any | None:
    """The mapped row with this id, deleted or not; ``lock`` holds it until the unit ends and reads its newest state."""
    if not 0 < record_id < 2**63:
        return None
    statement = select(entity.model).where(entity.model.id == record_id, rows)
    if lock:
        statement = statement.with_for_update().execution_options(populate_existing=True)
    return session.scalars(statement).one_or_none()


def reaches(session: Session, entity: Entity, record_id: int, rows: ColumnElement[bool]) -> bool:
    """Whether the row as it stands now is one of ``rows``."""
    return session.scalar(select(entity.model.id).where(entity.model.id == record_id, rows)) is not None


def read(
    session: Session, entity: Entity, record_id: int, reach: Reach, names: Collection[str]
) -> tuple[Mapping[str, Any], dict[str, dict[str, str]]] | None:
    """(columns, texts by locale) of one record, without its mapped class and by statements that are kept."""
    if not 0 < record_id < 2**63:
        return None
    wanted = frozenset(names)

    def build() -> Select[Any]:
        identifier = bindparam("record_id", None, type_=BigInteger)
        return select(*columns(entity, wanted)).where(entity.model.__table__.c.id == identifier, reach.rows())

    statement = STATEMENTS.get(session.connection(), ("read", reach.key, wanted), build)
    found = statement.rows(session, record_id=record_id)
    return (found[0], texts_of(session, entity, [record_id], wanted).get(record_id, {})) if found else None


def columns(entity: Entity, names: Collection[str]) -> list[Column[Any]]:
    """The columns of a record's own table that an answer with the fields ``names`` is made of."""
    table = entity.model.__table__
    wanted = dict.fromkeys((*OWN_COLUMNS, *(item.name for item in entity.plain_fields if item.name in names)))
    return [table.c[name] for name in wanted if name in table.c]


def texts_of(session: Session, entity: Entity, record_ids: Sequence[int], names: Collection[str]) -> Texts:
    """The translations of some records in one statement; only the fields ``names``."""
    wanted = [item.name for item in entity.translated_fields if item.name in names]
    if entity.translation_model is None or not record_ids:
        return {}

    def build() -> Select[Any]:
        table, owner = entity.translation_model.__table__, owner_column(entity)  # type: ignore[union-attr]
        among = owner == func.any(cast(bindparam("ids", None), ARRAY(BigInteger)))
        return select(owner.label("owner"), table.c.locale, *(table.c[name] for name in wanted)).where(among)

    key = ("texts", entity.name, entity.translation_model, tuple(wanted))
    found: Texts = {}
    for row in STATEMENTS.get(session.connection(), key, build).rows(session, ids=list(record_ids)):
        found.setdefault(row.pop("owner"), {})[row.pop("locale")] = row
    return found


def owner_column(entity: Entity) -> Column[Any]:
    """The column of the translations that holds the record's id."""
    assert entity.translation_model is not None
    found: Column[Any] = next(iter(entity.translation_model.__table__.foreign_keys)).parent
    return found


def remove(session: Session, row: Any) -> None:
    """Delete the row for good; its translations go with it."""
    session.delete(row)
    session.flush()


def several(session: Session, entity: Entity, record_ids: Sequence[int], rows: ColumnElement[bool]) -> list[Any]:
    """The mapped rows of these ids, locked in the order of their ids and read in their newest state."""
    statement = select(entity.model).where(entity.model.id.in_(record_ids), rows).order_by(entity.model.id)
    return list(session.scalars(statement.with_for_update().execution_options(populate_existing=True)))


def reached(session: Session, entity: Entity, record_ids: Sequence[int], rows: ColumnElement[bool]) -> set[int]:
    """Which of these ids are of ``rows`` as they stand now."""
    return set(session.scalars(select(entity.model.id).where(entity.model.id.in_(record_ids), rows)))


def by_keys(session: Session, entity: Entity, keys: Sequence[str]) -> dict[str, Any]:
    """Rows by the id that they had where they were imported from, locked in the order of their ids."""
    column = getattr(entity.model, str(entity.key_field))
    statement = select(entity.model).where(column.in_(keys), *_scope(entity)).order_by(entity.model.id)
    rows = session.scalars(statement.with_for_update()).all()
    return {getattr(row, str(entity.key_field)): row for row in rows}


def taken(session: Session, entity: Entity, field: str, values: Sequence[object]) -> set[object]:
    """Which of ``values`` some row of the entity already has in ``field``."""
    column = getattr(entity.model, field)
    return set(session.scalars(select(column).where(column.in_(values))))


def count(session: Session, entity: Entity) -> int:
    """All rows, deleted ones too."""
    return session.scalar(select(func.count()).select_from(entity.model).where(*_scope(entity))) or 0


def one_importer(session: Session, entity: Entity) -> None:
    """Wait until no other unit imports into this entity; held until the unit ends."""
    session.execute(text("select pg_advisory_xact_lock(hashtextextended(:name, 0))"), {"name": f"import {entity.name}"})


def one_numberer(session: Session, entity: str) -> None:
    """Wait until no other unit gives reference numbers in this entity; held until the unit ends."""
    session.execute(text("select pg_advisory_xact_lock(hashtextextended(:name, 0))"), {"name": f"number {entity}"})


def _scope(entity: Entity) -> list[ColumnElement[bool]]:
    return [getattr(entity.model, name) == value for name, value in entity.visible.items()]
