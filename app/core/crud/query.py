"""What a list of records may be asked: the ask itself, its checks, and the cursor that continues it. Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from app.core.crud.validation import Scalar, read_value
from app.core.errors import Invalid
from app.core.messages import N_
from app.core.registry import Entity, Field

SIZE, MOST = 25, 200
DEEPEST = 10_000
"""Rows that can be reached by page number; what lies deeper is reached by cursor."""

SYSTEM_FIELDS = {
    "id": Field("id", N_("Id"), "integer", editable=False),
    "revision": Field("revision", N_("Revision"), "integer", editable=False),
    "created_at": Field("created_at", N_("Created"), "datetime", editable=False),
    "updated_at": Field("updated_at", N_("Changed"), "datetime", editable=False),
}


@dataclass(frozen=True)
class Cursor:
    """The last row seen: its sort key as text (None when it had none) and its id."""

    key: str | None
    id: int


@dataclass(frozen=True)
class Ask:
    """One list. ``sort`` is a field, with ``-`` in front for descending; a ``cursor`` goes before ``page``."""

    q: str = ""
    filters: Mapping[str, Scalar] = field(default_factory=dict)
    sort: str = "-updated_at"
    page: int = 1
    size: int = SIZE
    cursor: Cursor | None = None
    deleted: bool = False

    @property
    def sort_field(self) -> str:
        return self.sort.removeprefix("-")

    @property
    def descending(self) -> bool:
        return self.sort.startswith("-")


def sortable(entity: Entity) -> dict[str, Field]:
    """Fields by which a list may be ordered: the listed ones, the title, and those that every record has."""
    declared = {item.name: item for item in entity.fields if item.kind != "text"}
    columns = entity.model.__table__.columns
    return {**{name: item for name, item in SYSTEM_FIELDS.items() if name in columns}, **declared}


def read_ask(entity: Entity, raw: Mapping[str, object]) -> Ask:
    """An :class:`Ask` from ``q, filter, sort, page, size, cursor, deleted``; ``filter`` is a mapping of equalities.

    Raises :class:`Invalid` with the path of everything that is wrong.
    """
    problems: list[Invalid] = []
    ask = Ask(
        q=str(raw.get("q") or "").strip()[:200],
        filters=_filters(entity, raw.get("filter"), problems),
        sort=_sort(entity, raw.get("sort"), problems),
        page=_number("page", raw.get("page"), 1, DEEPEST, problems),
        size=_number("size", raw.get("size"), SIZE, MOST, problems),
        cursor=_cursor(raw.get("cursor"), problems),
        deleted=str(raw.get("deleted") or "") in {"1", "true", "True"},
    )
    if not problems and ask.cursor is None and (ask.page - 1) * ask.size > DEEPEST:
        problems.append(Invalid("input.too_far", path="page", limit=DEEPEST))
    if problems:
        raise Invalid("input.invalid", fields=problems)
    return ask


def _filters(entity: Entity, raw: object, problems: list[Invalid]) -> dict[str, Scalar]:
    if raw in (None, ""):
        return {}
    if not isinstance(raw, Mapping):
        problems.append(Invalid("input.json", path="filter"))
        return {}
    known = {item.name: item for item in entity.plain_fields} | sortable(entity)
    found: dict[str, Scalar] = {}
    for name, value in raw.items():
        item = known.get(str(name))
        if item is None or item.translated:
            problems.append(Invalid("input.unknown_field", path=f"filter.{name}", field=str(name)[:100]))
            continue
        try:
            found[item.name] = None if value is None else read_value(item, value, f"filter.{name}")
        except Invalid as problem:
            problems.append(problem)
    return found


def _sort(entity: Entity, raw: object, problems: list[Invalid]) -> str:
    sort = str(raw or "-updated_at")
    if sort.removeprefix("-") not in sortable(entity):
        problems.append(Invalid("input.unknown_field", path="sort", field=sort[:100]))
    return sort


def _number(name: str, raw: object, default: int, most: int, problems: list[Invalid]) -> int:
    if raw in (None, ""):
        return default
    text = str(raw)
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most):
        problems.append(Invalid("input.range", path=name, least=1, most=most))
        return default
    return int(text)


def _cursor(raw: object, problems: list[Invalid]) -> Cursor | None:
    if raw in (None, ""):
        return None
    try:
        key, record_id = json.loads(base64.urlsafe_b64decode(str(raw).encode("ascii")))
        if isinstance(record_id, int) and 0 < record_id < 2**63 and isinstance(key, str | None):
            return Cursor(key, record_id)
    except (ValueError, TypeError, RecursionError):
        pass
    problems.append(Invalid("input.type", path="cursor", expected="next_cursor"))
    return None


def write_cursor(key: object, record_id: int) -> str:
    """The text of a cursor, for the row that a page ended with."""
    text = key.isoformat() if isinstance(key, datetime) else None if key is None else str(key)
    return base64.urlsafe_b64encode(json.dumps([text, record_id]).encode()).decode("ascii")
