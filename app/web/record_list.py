"""The page of a list of records (context of `templates/records/list.html`). Its address says all of it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from flask import url_for
from flask_babel import gettext as _
from werkzeug.datastructures import MultiDict

from app.core.access.policy import readable, writable
from app.core.contracts.actor import Actor
from app.core.contracts.conditions import Condition, Filter
from app.core.crud.many import CAP
from app.core.crud.query import DEEPEST, SIZE
from app.core.crud.serialise import Record
from app.core.crud.service import RecordPage
from app.core.messages import N_
from app.core.registry import Entity, Field
from app.edge.context import is_borrowed, locale
from app.web.record_columns import columns_form, possible, primary
from app.web.record_filters import OPERATORS, fields_to_filter, in_words, read_filters, together, write_one
from app.web.record_words import kind, name_of, shown, word

LEADS: Mapping[str, str] = {
    "cms.contents": N_("What the organisation tells its people and customers, in English and Italian."),
    "sao.tickets": N_("What people reported or asked for, and where it stands."),
}
"""What each list is for."""


@dataclass(frozen=True)
class ListAsk:
    """What the address says. ``choices`` are the fields picked from a list, ``filters`` all other conditions.

    ``cursor`` continues a list, and ``after`` says how many records stand before it: for the numbers on the page only.
    """

    q: str = ""
    sort: str = ""
    page: str = ""
    cursor: str = ""
    after: str = ""
    deleted: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    filters: tuple[Filter, ...] = ()

    def raw(self) -> dict[str, object]:
        """As the service reads it."""
        found: dict[str, object] = {"q": self.q, "sort": self.sort, "filter": self.filter(), "deleted": self.deleted}
        return found | ({"cursor": self.cursor} if self.cursor else {"page": self.page})

    def filter(self) -> dict[str, object]:
        """Choices and filters as one filter of the API."""
        return together([*(Condition(name, "=", value) for name, value in self.choices), *self.filters])

    def query(self) -> str:
        """The query of this list; what is empty is left out."""
        named = [
            ("q", self.q), ("sort", self.sort), *self.choices, ("deleted", self.deleted), ("page", self.page),
            ("cursor", self.cursor), ("after", self.after),
        ]  # fmt: skip
        pairs = [pair for pair in named if pair[1]] + [("filter", write_one(tree)) for tree in self.filters]
        return urlencode(pairs)

    def href(self, **changed: object) -> str:
        """A link to the same list with something changed, from its first page unless a page is named."""
        found = replace(self, **{"page": "", "cursor": "", "after": "", **changed}).query()  # type: ignore[arg-type]
        return f"?{found}" if found else "?"


def picked(entity: Entity, readable: Collection[str]) -> list[Field]:
    """The fields that can be picked from a list."""
    return [item for item in entity.plain_fields if item.kind == "choice" and item.name in readable]


def read_list(entity: Entity, args: MultiDict[str, str], readable: Collection[str]) -> ListAsk:
    """The ask of an address. Raises :class:`Invalid` for filters; all other values are left to the service."""
    choices = tuple((item.name, args[item.name]) for item in picked(entity, readable) if args.get(item.name))
    named = {name: args.get(name, "") for name in ("q", "sort", "page", "cursor", "after", "deleted")}
    return ListAsk(**named, choices=choices, filters=read_filters(entity, args.getlist("filter"), readable))


def list_context(
    entity: Entity, who: Actor, ask: ListAsk, found: RecordPage, columns: Sequence[str], args: Mapping[str, str],
    errors: Mapping[str, str],
) -> dict[str, object]:  # fmt: skip
    """The whole context of the page. ``args`` and ``errors`` are of a filter that could not be added."""
    names = readable(entity, who)
    action = url_for("records.index", name=entity.name)
    may_insert = entity.editable and who.may(entity.permission("insert"))
    chips = _chips(entity, ask, names)
    known = possible(entity, names)
    return {
        "entity": {
            "name": entity.name,
            "label": _(entity.label_plural),
            "description": _(LEADS[entity.name]) if entity.name in LEADS else "",
            "create_href": url_for("records.new", name=entity.name) if may_insert else None,
        },
        "list": {
            "q": ask.q,
            "has_words": entity.title_field in names,
            "sort": ask.sort,
            "action": action,
            "filters": _picks(entity, who, ask, names),
            "kept": [write_one(tree) for tree in ask.filters],
            "adding": _adding(entity, names, args, errors),
            "chips": chips,
            "clear_href": ask.href(q="", deleted="", choices=(), filters=()) if chips or ask.q else None,
            "columns": [_column(known[name], entity, found.sort, ask, primary(columns, entity)) for name in columns],
            "rows": [_row(entity, record, [known[name] for name in columns]) for record in found.records],
            "page": _pages(ask, found),
            "export_href": _export(entity, ask),
            "deleted": bool(ask.deleted),
        },
        "columns": None if is_borrowed(who) else {
            "action": url_for("records.columns", name=entity.name),
            "rows": columns_form(entity, columns, names),
            "open": "columns" in args,
            "back": ask.query(),
        },
        "bulk": _bulk(entity, who, ask, found),
    }  # fmt: skip


def _export(entity: Entity, ask: ListAsk) -> str:
    """Exactly the list that is shown, in the language that it is shown in."""
    module, _dot, name = entity.name.partition(".")
    tree = ask.filter()
    values: dict[str, str] = {
        "q": ask.q, "filter": json.dumps(tree, ensure_ascii=False, separators=(",", ":")) if tree else "",
        "sort": ask.sort, "deleted": ask.deleted, "locale": locale(),
    }  # fmt: skip
    given = {key: value for key, value in values.items() if value}
    return url_for("summaries_api.export", module=module, name=name, **given)  # type: ignore[arg-type]


def _column(item: Field, entity: Entity, sort: str, ask: ListAsk, leading: str) -> dict[str, object]:
    keys = sort.split(",")
    sorted_now = "asc" if item.name in keys else "desc" if f"-{item.name}" in keys else None
    other = f"-{item.name}" if sorted_now == "asc" or (item.kind == "datetime" and not sorted_now) else item.name
    return {
        "name": item.name,
        "label": _(item.label),
        "kind": "text" if item.name == entity.title_field else kind(item),
        "sort_href": ask.href(sort=other),
        "sorted": sorted_now,
        "primary": item.name == leading,
    }


def _row(entity: Entity, record: Record, columns: Sequence[Field]) -> dict[str, object]:
    return {
        "id": record.id,
        "name": name_of(entity, record),
        "locale": record.locale,
        "href": url_for("records.detail", name=entity.name, record_id=record.id),
        "cells": {item.name: _cell(entity, record, item) for item in columns},
    }


def _cell(entity: Entity, record: Record, item: Field) -> object:
    if item.name == entity.title_field:
        return record.title or _("(without a title)")
    if item.name == entity.reference_field:
        return record.reference
    if item.name in record.fields:
        return shown(item, record.fields[item.name])
    return getattr(record, item.name, None)


def _picks(entity: Entity, who: Actor, ask: ListAsk, names: Collection[str]) -> list[dict[str, object]]:
    values = dict(ask.choices)
    found: list[dict[str, object]] = [
        {
            "name": item.name,
            "label": _(item.label),
            "value": values.get(item.name, ""),
            "options": [("", _("All")), *((choice, word(choice)) for choice in item.choices)],
        }
        for item in picked(entity, names)
    ]
    if entity.editable and who.may(entity.permission("delete")):
        options = [("", _("Present")), ("1", _("Deleted"))]
        found.append({"name": "deleted", "label": _("Records"), "value": ask.deleted, "options": options})
    return found


def _adding(
    entity: Entity, names: Collection[str], args: Mapping[str, str], errors: Mapping[str, str]
) -> dict[str, object]:
    """The form that adds a filter, with what was typed when it was refused."""
    fields = [(item.name, _(item.label)) for item in fields_to_filter(entity, names)]
    return {
        "fields": [("", _("Choose a field")), *fields],
        "operators": [(name, _(label)) for name, label in OPERATORS.items()],
        "field": args.get("field", "") if errors else "",
        "operator": args.get("operator", "=") if errors else "=",
        "value": args.get("value", "") if errors else "",
        "error": " ".join(errors.values()),
    }


def _chips(entity: Entity, ask: ListAsk, names: Collection[str]) -> list[dict[str, str]]:
    labels = {item.name: _(item.label) for item in picked(entity, names)}
    chips = [
        {"label": labels[name], "value": word(value), "remove_href": ask.href(choices=_without(ask.choices, place))}
        for place, (name, value) in enumerate(ask.choices)
    ]
    for place, tree in enumerate(ask.filters):
        label, text = in_words(entity, tree)
        chips.append({"label": label, "value": text, "remove_href": ask.href(filters=_without(ask.filters, place))})
    if ask.q:
        chips.insert(0, {"label": _("Words"), "value": ask.q, "remove_href": ask.href(q="")})
    if ask.deleted:
        chips.append({"label": _("Records"), "value": _("Deleted"), "remove_href": ask.href(deleted="")})
    return chips


def _without(items: Sequence[object], place: int) -> tuple[object, ...]:
    return (*items[:place], *items[place + 1 :])


def _pages(ask: ListAsk, found: RecordPage) -> dict[str, object]:
    """The next page follows by cursor; the one before is reached by its number, as far as numbers reach."""
    before = int(ask.after) if ask.cursor and ask.after.isascii() and ask.after[:9].isdigit() else 0
    first = before if ask.cursor else (found.page - 1) * found.size
    last = first + len(found.records)
    number = -(-first // SIZE)
    previous = None
    if first:
        previous = ask.href(page=str(number) if number > 1 else "") if first <= DEEPEST else ask.href()
    return {
        "first": first + 1,
        "last": last,
        "total": found.total if found.total_relation == "eq" else None,
        "at_least": found.total if found.total_relation == "gte" else None,
        "previous_href": previous,
        "first_href": ask.href() if number > 1 else None,
        "next_href": ask.href(cursor=found.next_cursor, after=str(last)) if found.next_cursor else None,
    }


def _bulk(entity: Entity, who: Actor, ask: ListAsk, found: RecordPage) -> dict[str, object] | None:
    """What can be done with chosen records; None for who may change none of them."""
    may_delete = entity.editable and who.may(entity.permission("delete"))
    may_set = entity.editable and who.may(entity.permission("update"))
    fields = bulk_fields(entity, who) if may_set else []
    if not (may_delete or fields) or not found.records:
        return None
    restricted = bool(ask.q or ask.filter())
    more = found.total is not None and len(found.records) < found.total <= CAP and found.total_relation == "eq"
    return {
        "action": url_for("record_bulk.preview", name=entity.name),
        "back": ask.query(),
        "q": ask.q,
        "filter": json.dumps(ask.filter()) if ask.filter() else "",
        "all": found.total if restricted and more else None,
        "may_delete": may_delete and not ask.deleted,
        "may_restore": may_delete and bool(ask.deleted),
        "fields": [] if ask.deleted else [(item.name, _(item.label)) for item in fields],
    }


def bulk_fields(entity: Entity, who: Actor) -> list[Field]:
    """What can be set in many records at once: what this person may write and read, long texts left out."""
    names = writable(entity, who) & readable(entity, who)
    return [item for item in entity.plain_fields if item.name in names and item.kind != "text"]
