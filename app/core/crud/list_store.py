"""Queries of lists: one page, all of a list as a stream, and which records a bulk change is about.

Statements are made of columns, not of mapped classes, and those of pages are kept (`prepared_store.py`).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Integer,
    Select,
    and_,
    bindparam,
    func,
    literal_column,
    or_,
    select,
    true,
    tuple_,
)
from sqlalchemy.orm import Session

from app.core.access.policy import predicate
from app.core.crud.cursor import Key
from app.core.crud.prepared_store import STATEMENTS
from app.core.crud.query import Ask, sortable
from app.core.crud.reach import Reach
from app.core.crud.store import Texts, columns, owner_column, texts_of
from app.core.registry import Entity

COUNTED = 10_000
"""A total is exact up to here; beyond it says "at least"."""
BATCH = 500
"""Records that an export reads at once."""
BLANKS: Mapping[str, str] = {
    "integer": "'-9223372036854775808'::bigint",
    "datetime": "'0001-01-01 00:00:00+00'::timestamptz",
}
"""What an absent value sorts as."""


@dataclass(frozen=True)
class Found:
    """One page. ``last`` is the sort key of its last row when more rows follow; ``total`` as far as it was counted,
    and ``is_capped`` when that is not all."""

    rows: Sequence[Mapping[str, Any]]
    texts: Texts
    total: int | None
    last: tuple[Key, ...] | None
    is_capped: bool = False


def page(session: Session, entity: Entity, ask: Ask, reach: Reach) -> Found:
    """One page of the rows that are reached. What a cursor continues was counted on its first page."""
    connection = session.connection()
    kind = replace(ask, cursor=None, page=1, digest=""), ask.cursor is not None
    statement = STATEMENTS.get(connection, ("page", reach.key, kind), lambda: _page(entity, ask, reach.rows()))
    last = {} if ask.cursor is None else {f"last_{place}": key for place, key in enumerate(ask.cursor.keys)}
    start = 0 if ask.cursor is not None else (ask.page - 1) * ask.size
    rows = statement.rows(session, **last, most=ask.size + 1, start=start)
    more = len(rows) > ask.size
    del rows[ask.size :]
    total, capped = None, False
    if ask.cursor is None:
        is_last = not more and bool(rows or ask.page == 1)
        total = start + len(rows) if is_last else _counted(session, entity, ask, reach)
        capped = not is_last and total > COUNTED
    return Found(
        rows=rows,
        texts=texts_of(session, entity, [row["id"] for row in rows], ask.wanted(entity)),
        total=total,
        last=tuple(rows[-1][f"key_{place}"] for place in range(len(ask.sort))) if more else None,
        is_capped=capped,
    )


def _page(entity: Entity, ask: Ask, rows: ColumnElement[bool]) -> Select[Any]:
    """The statement of a page; ``most``, ``start`` and the cursor's keys are left open."""
    keys = [_sort_key(entity, key.name, ask.locale) for key in ask.sort]
    statement = _ordered(_columns(entity, ask, keys).where(restriction(entity, ask, rows)), ask, keys)
    if ask.cursor is not None:
        statement = statement.where(_after(ask, keys))
    open_most, open_start = (bindparam(name, None, type_=Integer) for name in ("most", "start"))
    return statement.limit(open_most).offset(open_start)


def ids(session: Session, entity: Entity, ask: Ask, rows: ColumnElement[bool], most: int) -> list[tuple[int, int]]:
    """(id, revision) of the first ``most`` rows of a list, by id."""
    session.flush()
    table = entity.model.__table__
    statement = (
        select(table.c.id, table.c.revision).where(restriction(entity, ask, rows)).order_by(table.c.id).limit(most)
    )
    return [(record_id, revision) for record_id, revision in session.connection().execute(statement)]


def among(
    session: Session, entity: Entity, record_ids: Sequence[int], rows: ColumnElement[bool], deleted: bool
) -> list[tuple[int, int]]:
    """(id, revision) of those of ``record_ids`` that ``rows`` lets through, by id."""
    session.flush()
    table = entity.model.__table__
    statement = select(table.c.id, table.c.revision).where(table.c.id.in_(record_ids), rows, _present(entity, deleted))
    found = session.connection().execute(statement.order_by(table.c.id))
    return [(record_id, revision) for record_id, revision in found]


def stream(
    session: Session, entity: Entity, ask: Ask, rows: ColumnElement[bool]
) -> Generator[tuple[Sequence[Mapping[str, Any]], Texts], None, None]:
    """All of a list in batches, read through a cursor of the server: memory stays flat."""
    keys = [_sort_key(entity, key.name, ask.locale) for key in ask.sort]
    statement = _ordered(_columns(entity, ask, keys).where(restriction(entity, ask, rows)), ask, keys)
    result = session.connection().execute(statement, execution_options={"stream_results": True, "yield_per": BATCH})
    with result:
        for part in result.partitions():
            record_ids = [row.id for row in part]
            yield [dict(row._mapping) for row in part], texts_of(session, entity, record_ids, ask.wanted(entity))


def _counted(session: Session, entity: Entity, ask: Ask, reach: Reach) -> int:
    """How many rows the list has; counting ends one above :data:`COUNTED`."""

    def build() -> Select[Any]:
        table = entity.model.__table__
        few: Select[Any] = select(literal_column("1")).select_from(table).where(restriction(entity, ask, reach.rows()))
        return select(func.count().label("total")).select_from(few.limit(COUNTED + 1).subquery())

    key = ("count", reach.key, ask.filter, ask.q, ask.deleted, ask.searched if ask.q else None)
    return int(STATEMENTS.get(session.connection(), key, build).rows(session)[0]["total"])


def _columns(entity: Entity, ask: Ask, keys: Sequence[ColumnElement[Any]]) -> Select[Any]:
    return select(*columns(entity, ask.wanted(entity)), *(key.label(f"key_{place}") for place, key in enumerate(keys)))


def restriction(entity: Entity, ask: Ask, rows: ColumnElement[bool]) -> ColumnElement[bool]:
    """What a list's rows have in common: the actor's rules, its filter and words, deleted or not."""
    parts = [rows, _present(entity, ask.deleted)]
    if ask.filter is not None:
        parts.append(predicate(entity, ask.filter))
    if ask.q:
        parts.append(_matches(entity, ask.q, ask.searched))
    return and_(*parts)


def _present(entity: Entity, deleted: bool) -> ColumnElement[bool]:
    table = entity.model.__table__
    if "deleted_at" not in table.c:
        return true()
    column: Column[Any] = table.c.deleted_at
    return column.is_not(None) if deleted else column.is_(None)


def _matches(entity: Entity, words: str, searched: frozenset[str]) -> ColumnElement[bool]:
    """The title contains ``words`` in any locale, or they are the record's reference or imported key."""
    found: list[ColumnElement[bool]] = []
    if entity.translation_model is not None:
        title = getattr(entity.translation_model, entity.title_field)
        found.append(getattr(entity.model, entity.translations_field).any(title.icontains(words, autoescape=True)))
    else:
        found.append(getattr(entity.model, entity.title_field).icontains(words, autoescape=True))
    if entity.key_field in searched:
        found.append(getattr(entity.model, str(entity.key_field)) == words)
    number = words.upper().removeprefix(entity.reference_prefix.upper())
    if entity.reference_field in searched and number.isascii() and number.isdigit() and len(number) < 19:
        found.append(getattr(entity.model, str(entity.reference_field)) == int(number))
    return or_(*found)


def _sort_key(entity: Entity, name: str, locale: str) -> ColumnElement[Any]:
    """What one field orders by. A column that is never absent is taken as it is, so that its index serves."""
    item = sortable(entity)[name]
    table = entity.model.__table__
    if item.translated and entity.translation_model is not None:
        texts, owner = entity.translation_model.__table__, owner_column(entity)
        own = select(texts.c[name]).where(owner == table.c.id, texts.c.locale == locale).correlate(table)
        other = select(func.min(texts.c[name])).where(owner == table.c.id).correlate(table)
        return func.lower(func.coalesce(own.scalar_subquery(), other.scalar_subquery(), ""))
    column: Column[Any] = table.c[name]
    if not column.nullable:
        return column
    return func.coalesce(column, literal_column(BLANKS.get(item.kind, "''"), column.type))


def _ordered(statement: Select[Any], ask: Ask, keys: Sequence[ColumnElement[Any]]) -> Select[Any]:
    return statement.order_by(
        *(key.desc() if by.descending else key.asc() for by, key in zip(ask.sort, keys, strict=True))
    )


def _after(ask: Ask, keys: Sequence[ColumnElement[Any]]) -> ColumnElement[bool]:
    """The rows after the cursor. In one direction it is one comparison of rows, which an index serves."""
    last = [bindparam(f"last_{place}", None, type_=key.type) for place, key in enumerate(keys)]
    down = [key.descending for key in ask.sort]
    if len(set(down)) == 1:
        ours, theirs = tuple_(*keys), tuple_(*last)
        return ours < theirs if down[0] else ours > theirs
    cases = []
    for place, descending in enumerate(down):
        equal = [key == value for key, value in zip(keys[:place], last[:place], strict=True)]
        beyond = keys[place] < last[place] if descending else keys[place] > last[place]
        cases.append(and_(*equal, beyond))
    bound = keys[0] <= last[0] if down[0] else keys[0] >= last[0]
    return and_(bound, or_(*cases))
