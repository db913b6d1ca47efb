"""One change of many records: what would be changed, then the change itself, all of it or none.

The address of the preview says which records and what (``ids`` or ``all`` with ``filter`` and ``q``, ``operation``,
``field`` and ``value``), so it can be loaded again. Confirming sends the preview's token.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _
from werkzeug.datastructures import MultiDict

from app.core.crud.many import CAP, Changed, Preview, read_operation
from app.core.crud.serialise import Record
from app.core.errors import Conflict, Invalid, NotFound
from app.core.idempotency.service import Resource
from app.core.messages import sentence
from app.core.registry import Entity, Field
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.errors import field_errors, say
from app.edge.idempotency import Made, idempotent
from app.edge.transactions import in_unit
from app.web.record_form import form_field
from app.web.record_list import bulk_fields
from app.web.record_words import counted, from_form, name_of, shown
from app.web.records import list_again

blueprint = Blueprint("record_bulk", __name__)

Args = MultiDict[str, str]


@blueprint.get("/records/<name>/bulk")
@in_unit
def preview(name: str, *, unit: Unit) -> ResponseReturnValue:
    """What the change would be about: how many, the first of them, what becomes of them. Changes nothing."""
    entity = container().records.entity(actor(), name)
    args = request.args
    back = list_again(entity, args.get("back", ""))
    if not args.getlist("ids") and "all" not in args:
        flash(_("Choose the records first: tick the boxes before them."), "warning")
        return redirect(back, 303)
    operation = read_operation(args.get("operation"))
    field = _field(entity, args) if operation == "update" else None
    if field is not None and "value" not in args:
        return _page(entity, args, back, field=field)
    try:
        found = container().many.preview(unit, actor(), name, _asked(args, field))
    except Invalid as refusal:
        return _page(entity, args, back, field=field, error=_refused(refusal)), 422
    return _page(entity, args, back, field=field, found=found)


def _done_again(unit: Unit, made: Resource) -> ResponseReturnValue:
    """Where the change led that was sent once more."""
    return redirect(made["back"], 303)


@blueprint.post("/records/<name>/bulk")
@in_unit
@idempotent(_done_again)
def change(name: str, *, unit: Unit) -> ResponseReturnValue | Made:
    """Do what was previewed; else say of each record why nothing was done."""
    entity = container().records.entity(actor(), name)
    sent = request.form
    back = list_again(entity, sent.get("back", ""))
    operation = read_operation(sent.get("operation"))
    field = _field(entity, sent) if operation == "update" else None
    raw = {"operation": operation, "token": sent.get("token"), "values": _values(sent, field)}
    try:
        done = container().many.run(unit, actor(), name, raw)
    except (Conflict, Invalid) as refusal:
        conflicts = _conflicts(unit, entity, refusal.details.get("conflicts", ()))
        page = _page(entity, sent, back, field=field, error=_refused(refusal), conflicts=conflicts)
        return page, 409 if isinstance(refusal, Conflict) else 422
    flash(_told(entity, done, field), "success")
    if done.captured:
        back = url_for("approvals.index", show="mine")
    made: Resource = {"entity": name, "back": back}
    return Made(redirect(back, 303), made)


def _field(entity: Entity, args: Args) -> Field:
    """The field to set. One that can't be set looks like one that is not there."""
    found = next((item for item in bulk_fields(entity, actor()) if item.name == args.get("field")), None)
    if found is None:
        raise NotFound("page.not_found")
    return found


def _asked(args: Args, field: Field | None) -> dict[str, object]:
    """The ask of the service; ids that are no numbers are none of any record."""
    asked: dict[str, object] = {"operation": args.get("operation"), "values": _values(args, field)}
    if "all" in args:
        return asked | {"q": args.get("q", ""), "filter": _json(args.get("filter", ""))}
    ids = [int(text) for text in args.getlist("ids") if text.isascii() and text.isdigit() and len(text) < 19]
    return asked | {"ids": ids or [-1]}


def _json(text: str) -> object:
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        raise Invalid("input.invalid", fields=[Invalid("input.json", path="filter")]) from None


def _values(args: Args, field: Field | None) -> dict[str, object]:
    if field is None:
        return {}
    value = from_form(field, args.get("value", ""))
    return {field.name: value.isoformat() if isinstance(value, datetime) else value}


def _refused(refusal: Invalid | Conflict) -> str:
    """What was wrong, in one sentence or a few."""
    return " ".join(dict.fromkeys(field_errors(refusal).values())) or say(refusal)


def _conflicts(unit: Unit, entity: Entity, found: object) -> list[dict[str, object]]:
    """The records that stood in the way, by name where they can still be seen."""
    rows: list[dict[str, object]] = []
    for one in found if isinstance(found, list | tuple) else ():
        row: dict[str, object] = {"name": f"{_(entity.label)} {one['id']}", "href": None, "reason": _why(one)}
        try:
            record = container().records.get(unit, actor(), entity.name, one["id"])
            row["name"] = name_of(entity, record)
            row["href"] = url_for("records.detail", name=entity.name, record_id=record.id)
        except NotFound:
            pass
        rows.append(row)
    return rows


def _why(one: Mapping[str, object]) -> str:
    if one["reason"] == "record.stale":
        return str(_("Changed since: revision %(sent)s was shown, it is now %(current)s.",
                     sent=one["previewed"], current=one["current"]))  # fmt: skip
    return str(sentence(str(one["reason"]), {}, _))


def _told(entity: Entity, done: Changed, field: Field | None) -> str:
    if done.captured:
        many = counted(entity, len(done.captured))
        return str(_("Sent for approval: %(records)s. Nothing has changed until enough people approve.", records=many))
    many = counted(entity, len(done.records))
    text = {
        "delete": _("Deleted: %(records)s. They can be restored from the list of deleted records.", records=many),
        "restore": _("Restored: %(records)s. Searches find them again.", records=many),
    }.get(done.operation) or _("%(field)s set: %(records)s.", field=_(field.label) if field else "", records=many)
    if done.unchanged:
        text = f"{text} {_('%(count)s had this value already.', count=len(done.unchanged))}"
    return str(text)


def _page(
    entity: Entity, args: Args, back: str, *, field: Field | None, found: Preview | None = None, error: str = "",
    conflicts: Sequence[Mapping[str, object]] = (),
) -> str:  # fmt: skip
    operation = str(args.get("operation"))
    value = args.get("value", "")
    kept = [(key, each) for key in ("ids", "all", "filter", "q", "operation", "field", "back")
            for each in args.getlist(key)]  # fmt: skip
    waits = container().records.captures(actor(), entity)
    return render_template(
        "records/bulk.html",
        entity={"label": _(entity.label_plural), "list_href": url_for("records.index", name=entity.name)},
        operation=operation,
        title=_title(entity, operation, found.count if found else len(args.getlist("ids")), field),
        button=_button(entity, operation, found.count if found else 0, field, waits),
        waits=waits,
        kept=kept,
        control=None if field is None else form_field(field, "value", {"value": value}, {}),
        field=None if field is None else {"name": field.name, "label": _(field.label)},
        value=None if field is None else shown(field, _typed(field, value)),
        preview=found,
        rows=[] if found is None else [_row(entity, record, field) for record in found.records],
        error=error,
        conflicts=conflicts,
        sent=args,
        back=back,
        again=url_for("record_bulk.preview", name=entity.name, **_grouped([*kept, ("value", value)], field)),  # type: ignore[arg-type]
        action=url_for("record_bulk.change", name=entity.name),
        limit=CAP,
    )


def _grouped(pairs: Sequence[tuple[str, str]], field: Field | None) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, value in pairs:
        if key != "value" or field is not None:
            found.setdefault(key, []).append(value)
    return found


def _typed(field: Field, value: str) -> str | datetime | None:
    return from_form(field, value) or None


def _row(entity: Entity, record: Record, field: Field | None) -> dict[str, object]:
    row: dict[str, object] = {
        "name": name_of(entity, record),
        "reference": record.reference,
        "locale": record.locale,
        "href": url_for("records.detail", name=entity.name, record_id=record.id),
        "updated_at": record.updated_at,
    }
    if field is not None:
        row["now"] = shown(field, record.fields.get(field.name))
    return row


def _title(entity: Entity, operation: str, count: int, field: Field | None) -> str:
    """What is done to how many; nought are as many as match a filter, before they were counted."""
    many = counted(entity, count) if count else _(entity.label_plural).lower()
    if operation == "delete":
        return str(_("Delete %(records)s", records=many))
    if operation == "restore":
        return str(_("Restore %(records)s", records=many))
    return str(_("Set %(field)s of %(records)s", field=_(field.label).lower() if field else "", records=many))


def _button(entity: Entity, operation: str, count: int, field: Field | None, waits: bool) -> str:
    label = _title(entity, operation, count, field)
    return str(_("Ask for approval: %(change)s", change=label[:1].lower() + label[1:])) if waits else label
