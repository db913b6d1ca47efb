"""Queries over the mapped class of any registered entity. Every function runs in the caller's session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, literal, or_, select, text
from sqlalchemy.orm import Session

from app.core.crud.query import Ask, Cursor, sortable
from app.core.registry import Entity

FIRST_INSTANT = datetime(1, 1, 1, tzinfo=UTC)
BLANKS: Mapping[str, object] = {"integer": -(2**63), "datetime": FIRST_INSTANT}
"""What an absent value sorts as."""


def find(session: Session, entity: Entity, record_id: int, *, lock: bool = False) -> Any | None:
    """The row with this id, deleted or not; ``lock`` holds it until the unit ends and reads its newest state."""
    if not 0 < record_id < 2**63:
        return None
    statement = select(entity.model).where(entity.model.id == record_id, *_scope(entity))
    if lock:
        statement = statement.with_for_update().execution_options(populate_existing=True)
    return session.scalars(statement).one_or_none()


def page(session: Session, entity: Entity, ask: Ask, locale: str) -> tuple[list[Any], int, object]:
    """(rows, total, sort key of the last row). One more row than ``ask.size`` is read: it says that more follows."""
    conditions = [*_scope(entity), *_conditions(entity, ask)]
    total = session.scalar(select(func.count()).select_from(entity.model).where(*conditions)) or 0
    key = _sort_key(entity, ask.sort_field, locale)
    statement: Select[Any] = select(entity.model, key.label("sort_key")).where(*conditions)
    if ask.cursor:
        statement = statement.where(_after(entity, ask, key, ask.cursor))
    else:
        statement = statement.offset((ask.page - 1) * ask.size)
    order = [key.desc(), entity.model.id.desc()] if ask.descending else [key.asc(), entity.model.id.asc()]
    found = session.execute(statement.order_by(*order).limit(ask.size + 1)).all()
    last = found[: ask.size][-1].sort_key if found else None
    return [row[0] for row in found], total, last


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


def _conditions(entity: Entity, ask: Ask) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    deleted_at = getattr(entity.model, "deleted_at", None)
    if deleted_at is not None:
        conditions.append(deleted_at.is_not(None) if ask.deleted else deleted_at.is_(None))
    for name, value in ask.filters.items():
        column = getattr(entity.model, name)
        conditions.append(column.is_(None) if value is None else column == value)
    if ask.q:
        conditions.append(_matches(entity, ask.q))
    return conditions


def _matches(entity: Entity, words: str) -> ColumnElement[bool]:
    """The title contains ``words`` in any locale, or they are the record's reference or imported key."""
    found: list[ColumnElement[bool]] = []
    if entity.translation_model is not None:
        title = getattr(entity.translation_model, entity.title_field)
        found.append(getattr(entity.model, entity.translations_field).any(title.icontains(words, autoescape=True)))
    else:
        found.append(getattr(entity.model, entity.title_field).icontains(words, autoescape=True))
    if entity.key_field:
        found.append(getattr(entity.model, entity.key_field) == words)
    number = words.upper().removeprefix(entity.reference_prefix.upper())
    if entity.reference_field and number.isascii() and number.isdigit() and len(number) < 19:
        found.append(getattr(entity.model, entity.reference_field) == int(number))
    return or_(*found)


def _sort_key(entity: Entity, name: str, locale: str) -> ColumnElement[Any]:
    item = sortable(entity)[name]
    if item.translated and entity.translation_model is not None:
        model, parent = entity.translation_model, entity.model
        owner = next(iter(model.__table__.foreign_keys)).parent
        value = getattr(model, name)
        own = select(value).where(owner == parent.id, model.locale == locale).correlate(parent).scalar_subquery()
        other = select(func.min(value)).where(owner == parent.id).correlate(parent).scalar_subquery()
        return func.lower(func.coalesce(own, other, ""))
    return func.coalesce(getattr(entity.model, name), BLANKS.get(item.kind, ""))


def _after(entity: Entity, ask: Ask, key: ColumnElement[Any], cursor: Cursor) -> ColumnElement[bool]:
    kind = sortable(entity)[ask.sort_field].kind
    last = literal(_cursor_value(kind, cursor.key))
    identifier = entity.model.id
    if ask.descending:
        return or_(key < last, and_(key == last, identifier < cursor.id))
    return or_(key > last, and_(key == last, identifier > cursor.id))


def _cursor_value(kind: str, raw: str | None) -> object:
    try:
        if kind == "integer":
            return int(raw or "")
        if kind == "datetime":
            return datetime.fromisoformat(raw or "")
    except ValueError:
        return BLANKS[kind]
    return raw or ""
