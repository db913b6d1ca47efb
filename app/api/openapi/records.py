"""The operations on records, described per entity: the address names it, so its types can be exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.api.openapi import shapes
from app.api.openapi.entities import (
    changed_at_once,
    field_pattern,
    group_pattern,
    members,
    metric_pattern,
    previewed,
    schema_name,
    sort_pattern,
)
from app.api.openapi.parts import Answer, Json, Operation, query, schema_ref
from app.core.crud.query import DEEPEST, MOST, SIZE
from app.core.locale import LOCALES
from app.core.registry import Entity

Describe = Callable[[Entity], Operation]

WRITES = frozenset({"insert", "update", "delete", "restore", "bulk"})
"""Verbs that an entity whose records are made from files does not have."""


def _record(entity: Entity) -> Json:
    return schema_ref(schema_name(entity, "Record"))


REVISION = query(
    "revision", {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}, "The revision that was looked at"
)
LOCALE = query("locale", {"type": "string", "enum": list(LOCALES)}, "The language of titles")
FLAG: Json = {"type": "string", "enum": ["true", "false", "1", "0"]}
WAITS = Answer(202, "Kept; it waits for votes", shapes.Captured, headers=("Location",))
PRECONDITIONS = (409, 412, 428)


def _select(entity: Entity) -> Operation:
    return Operation(
        (Answer(200, "One page", schema_ref(schema_name(entity, "Page"))),),
        query=(
            *_restricting(entity),
            _sort(entity),
            query("page", {"type": "integer", "minimum": 1, "maximum": DEEPEST // MOST}, "Which page"),
            query("size", {"type": "integer", "minimum": 1, "maximum": MOST, "default": SIZE}, "Records on a page"),
            query("cursor", {"type": "string"}, "`next_cursor` of the page before; goes before `page`"),
            _fields(entity),
            LOCALE,
        ),
    )


def _detail(entity: Entity) -> Operation:
    none = {"name": "If-None-Match", "in": "header", "schema": {"type": "string"}, "description": "A tag seen before"}
    return Operation(
        (
            Answer(200, "The record", _record(entity), headers=("ETag", "Content-Language")),
            Answer(304, "As it was", headers=("ETag",)),
        ),
        query=(LOCALE, none),
    )


def _insert(entity: Entity) -> Operation:
    made = Answer(201, "Made", _record(entity), headers=("ETag", "Location", "Idempotency-Replayed"))
    return Operation((made, WAITS), body=schema_ref(schema_name(entity, "Insert")))


def _update(entity: Entity) -> Operation:
    return Operation(
        (_changed(entity, "The record as it is now"), WAITS),
        body=schema_ref(schema_name(entity, "Update")),
        errors=PRECONDITIONS,
        headers=("If-Match",),
    )


def _delete(entity: Entity) -> Operation:
    force = query("force", FLAG, "Remove it for good")
    changed = _changed(entity, "Hidden, and can be restored; or gone")
    return Operation((changed, WAITS), query=(REVISION, force), errors=PRECONDITIONS, headers=("If-Match",))


def _restore(entity: Entity) -> Operation:
    return Operation(
        (_changed(entity, "Back again"), WAITS), query=(REVISION,), errors=PRECONDITIONS, headers=("If-Match",)
    )


def _preview(entity: Entity) -> Operation:
    record = {"type": "array", "items": _record(entity)}
    ids = {"type": "array", "items": {"type": "integer"}}
    found = members(
        count={"type": "integer"},
        records={**record, "description": "The first ten"},
        missing={**ids, "description": "Named, and not reached"},
        token={"type": "string"},
        expires_at={"type": "string", "format": "date-time"},
    )
    return Operation((Answer(200, "What it is about; nothing was changed", found),), body=previewed(entity))


def _bulk(entity: Entity) -> Operation:
    done = Answer(200, "Done, all of it", shapes.ManyChanged, headers=("Idempotency-Replayed",))
    waits = Answer(202, "Kept; some of it waits for votes", shapes.ManyChanged, headers=("Idempotency-Replayed",))
    return Operation((done, waits), body=changed_at_once(entity))


def _summarize(entity: Entity) -> Operation:
    return Operation(
        (Answer(200, "The largest group first", shapes.Summary),),
        query=(
            *_restricting(entity),
            query("group_by", {"type": "string", "pattern": group_pattern(entity)}, "Up to two fields, with commas"),
            query(
                "metrics",
                {"type": "string", "pattern": metric_pattern(entity)},
                "`sum`, `avg`, `min` or `max` of a field, up to ten, with commas",
            ),
        ),
    )


def _export(entity: Entity) -> Operation:
    return Operation(
        (Answer(200, "The list, written while it is read", {"type": "string"}, "text/csv", ("Content-Language",)),),
        query=(
            *_restricting(entity),
            _sort(entity),
            _fields(entity),
            LOCALE,
            query("bom", FLAG, "Begin with a byte order mark, as some spreadsheets need it"),
        ),
    )


def _restricting(entity: Entity) -> tuple[Json, ...]:
    """What makes a list smaller."""
    return (
        query("q", {"type": "string", "maxLength": 200}, "Words in the title or the reference"),
        query("filter", schema_ref(schema_name(entity, "Filter")), "Equalities or a tree of conditions, as JSON"),
        query("deleted", FLAG, "The deleted ones instead"),
    )


def _sort(entity: Entity) -> Json:
    return query("sort", {"type": "string", "pattern": sort_pattern(entity)}, "Up to three fields, `-` is descending")


def _fields(entity: Entity) -> Json:
    return query("fields", {"type": "string", "pattern": field_pattern(entity)}, "Only these fields, with commas")


def _changed(entity: Entity, description: str) -> Answer:
    return Answer(200, description, _record(entity), headers=("ETag", "Content-Language"))


PER_ENTITY: Mapping[str, Describe] = {
    "records_api.select": _select,
    "records_api.detail": _detail,
    "records_api.insert": _insert,
    "records_api.update": _update,
    "records_api.delete": _delete,
    "records_api.restore": _restore,
    "bulk_api.preview": _preview,
    "bulk_api.change": _bulk,
    "summaries_api.summarize": _summarize,
    "summaries_api.export": _export,
}
