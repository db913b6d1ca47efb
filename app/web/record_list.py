"""The page of a list of records (context of `templates/records/list.html`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from flask import url_for
from flask_babel import gettext as _

from app.core.contracts.actor import Actor
from app.core.crud.query import SYSTEM_FIELDS
from app.core.crud.serialise import Record
from app.core.crud.service import RecordPage
from app.core.messages import N_
from app.core.registry import Entity, Field
from app.web.record_words import kind, shown, word

CONTROLS = ("q", "sort", "page", "size")
LEADS: Mapping[str, str] = {
    "cms.contents": N_("What the organisation tells its people and customers, in English and Italian."),
    "sao.tickets": N_("What people reported or asked for, and where it stands."),
}
"""What each list is for."""


@dataclass(frozen=True)
class ListAsk:
    """What the address says: ``filters`` are the equalities that have a value."""

    q: str
    sort: str
    page: str
    filters: Mapping[str, str]
    deleted: str

    def raw(self) -> dict[str, object]:
        """As the service reads it."""
        return {
            "q": self.q, "sort": self.sort, "page": self.page, "filter": dict(self.filters), "deleted": self.deleted,
        }  # fmt: skip

    def query(self, **changed: str) -> str:
        """The query of the same list with something changed; what is empty is left out."""
        values = {"q": self.q, "sort": self.sort, **self.filters, "deleted": self.deleted, "page": self.page, **changed}
        found = urlencode({name: value for name, value in values.items() if value})
        return f"?{found}" if found else "?"


def filtered(entity: Entity) -> list[Field]:
    """The fields that can be picked from a list."""
    return [item for item in entity.plain_fields if item.kind == "choice"]


def read_list(entity: Entity, args: Mapping[str, str]) -> ListAsk:
    """The ask of an address. Values that no longer exist are left to the service to refuse."""
    filters = {item.name: args[item.name] for item in filtered(entity) if args.get(item.name)}
    return ListAsk(args.get("q", ""), args.get("sort", ""), args.get("page", ""), filters, args.get("deleted", ""))


def list_context(entity: Entity, who: Actor, ask: ListAsk, found: RecordPage) -> dict[str, object]:
    """The whole context of the page."""
    action = url_for("records.index", name=entity.name)
    may_insert = entity.editable and who.may(entity.permission("insert"))
    chips = _chips(entity, ask)
    return {
        "entity": {
            "name": entity.name,
            "label": _(entity.label_plural),
            "description": _(LEADS[entity.name]) if entity.name in LEADS else "",
            "icon": "records",
            "create_href": url_for("records.new", name=entity.name) if may_insert else None,
        },
        "list": {
            "q": ask.q,
            "action": action,
            "filters": _filters(entity, who, ask),
            "chips": chips,
            "clear_href": action if chips or ask.q else None,
            "columns": [_column(entity, item, found.sort, ask) for item in _columns(entity)],
            "rows": [_row(entity, record) for record in found.records],
            "page": _pages(ask, found),
            "export_href": None,
        },
    }


def _columns(entity: Entity) -> list[Field]:
    listed = [item for item in entity.fields if item.listed]
    return [*listed, SYSTEM_FIELDS["updated_at"]]


def _column(entity: Entity, item: Field, sort: str, ask: ListAsk) -> dict[str, object]:
    sorted_now = {item.name: "asc", f"-{item.name}": "desc"}.get(sort)
    other = f"-{item.name}" if sorted_now == "asc" or (item.kind == "datetime" and not sorted_now) else item.name
    return {
        "name": item.name,
        "label": _(item.label),
        "kind": kind(item),
        "sort_href": ask.query(sort=other, page=""),
        "sorted": sorted_now,
        "primary": item.name == entity.title_field,
    }


def _row(entity: Entity, record: Record) -> dict[str, object]:
    cells: dict[str, object] = {}
    for item in _columns(entity):
        if item.name == entity.title_field:
            cells[item.name] = record.title or _("(without a title)")
        elif item.name == entity.reference_field:
            cells[item.name] = record.reference
        elif item.name == "updated_at":
            cells[item.name] = record.updated_at
        else:
            cells[item.name] = shown(item, record.fields.get(item.name))
    return {"href": url_for("records.detail", name=entity.name, record_id=record.id), "cells": cells}


def _filters(entity: Entity, who: Actor, ask: ListAsk) -> list[dict[str, object]]:
    found: list[dict[str, object]] = [
        {
            "name": item.name,
            "label": _(item.label),
            "value": ask.filters.get(item.name, ""),
            "options": [("", _("All")), *((choice, word(choice)) for choice in item.choices)],
        }
        for item in filtered(entity)
    ]
    if entity.editable and who.may(entity.permission("update")):
        options = [("", _("Present")), ("1", _("Deleted"))]
        found.append({"name": "deleted", "label": _("Records"), "value": ask.deleted, "options": options})
    return found


def _chips(entity: Entity, ask: ListAsk) -> list[dict[str, str]]:
    labels = {item.name: _(item.label) for item in filtered(entity)}
    chips = [
        {"label": labels[name], "value": word(value), "remove_href": ask.query(**{name: "", "page": ""})}
        for name, value in ask.filters.items()
    ]
    if ask.deleted:
        chips.append({"label": _("Records"), "value": _("Deleted"), "remove_href": ask.query(deleted="", page="")})
    return chips


def _pages(ask: ListAsk, found: RecordPage) -> dict[str, object]:
    first = (found.page - 1) * found.size
    return {
        "first": first + 1,
        "last": first + len(found.records),
        "total": found.total,
        "previous_href": ask.query(page=str(found.page - 1)) if found.page > 1 else None,
        "next_href": ask.query(page=str(found.page + 1)) if found.next_cursor else None,
    }
