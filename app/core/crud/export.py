"""A list as CSV (RFC 4180), written while it is read: memory stays flat however long the list is.

An export opens its own unit, for it outlives the request's: one REPEATABLE READ snapshot for the rows and their texts,
read through a cursor of the server. Whoever stops reading closes it.

One row is one record, in the language asked for or its fallback. A text that a spreadsheet would take for a formula
(it begins with ``= + - @``, a tab or a carriage return) gets an apostrophe in front; numbers and instants do not.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime

from app.core.access.policy import visible
from app.core.contracts.actor import Actor
from app.core.crud import list_store
from app.core.crud.query import Ask
from app.core.crud.serialise import Record, records_of
from app.core.crud.service import Records, ability_of
from app.core.registry import Entity
from app.core.unit import Origin, Unit, Units

FORMULA = ("=", "+", "-", "@", "\t", "\r")
BOM = "\ufeff"
LEADING = ("id", "revision", "locale")
TRAILING = ("created_at", "updated_at", "deleted_at")


class Exports:
    """Opens its own units."""

    def __init__(self, records: Records, units: Units) -> None:
        self.records = records
        self.units = units

    def csv(self, actor: Actor, name: str, raw: Mapping[str, object], origin: Origin, *, bom: bool = False) -> Lines:
        """The lines of the list that ``raw`` asks for (``q, filter, sort, deleted, fields, locale`` as in a list).

        The first item is already read when this returns: what is wrong with the ask or the database raises here, as
        in a list, and not in the middle of an answer. Close the iterator to stop early.
        """
        entity, ask = self.records.ask(actor, name, raw)
        parts = self._parts(actor, entity, ask, origin, bom)
        return Lines(next(parts), parts)

    def _parts(self, actor: Actor, entity: Entity, ask: Ask, origin: Origin, bom: bool) -> Generator[str, None, None]:
        names = columns(entity, ask)
        with self.units("REPEATABLE READ", origin=origin) as unit:
            self.records.audit.write(unit, actor, "export", entity.name)
            head = (BOM if bom else "") + _lines([names])
            with closing(self._batches(unit, actor, entity, ask)) as batches:
                for batch in batches:
                    yield head + _lines([row(record, names) for record in batch])
                    head = ""
            if head:
                yield head

    def _batches(self, unit: Unit, actor: Actor, entity: Entity, ask: Ask) -> Generator[list[Record], None, None]:
        rows = visible(entity, actor, ability_of(ask))
        with closing(list_store.stream(unit.session, entity, ask, rows)) as parts:
            for found, texts in parts:
                yield list(records_of(entity, ask, found, texts))


class Lines:
    """Lines of an export, the first of them read already. Closing it ends the snapshot."""

    def __init__(self, first: str, rest: Generator[str, None, None]) -> None:
        self.waiting = [first]
        self.rest = rest

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        return self.waiting.pop() if self.waiting else next(self.rest)

    def close(self) -> None:
        """End the snapshot; nothing more is read."""
        self.waiting.clear()
        self.rest.close()


def columns(entity: Entity, ask: Ask) -> list[str]:
    """The names of the columns: those of every record around the fields asked for, in the order of the entity."""
    own = [item.name for item in entity.fields if item.name in ask.fields]
    reference = ["reference"] if entity.reference_field in ask.searched else []
    around = [name for name in (*LEADING, *reference) if name not in own]
    present = entity.model.__table__.columns
    return [*around, *own, *(name for name in TRAILING if name in present and name not in own)]


def row(record: Record, names: Sequence[str]) -> list[str]:
    """The cells of one record."""
    texts = record.translations.get(record.locale, {})
    return [cell(_value(record, texts, name)) for name in names]


def _value(record: Record, texts: Mapping[str, str], name: str) -> object:
    if name in record.fields:
        return record.fields[name]
    return texts[name] if name in texts else getattr(record, name, None)


def cell(value: object) -> str:
    """One value as text: instants in ISO 8601, nothing for an absent one, no text that begins as a formula does."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA) else value
    return str(value)


def _lines(rows: Sequence[Sequence[str]]) -> str:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator="\r\n").writerows(rows)
    return buffer.getvalue()
