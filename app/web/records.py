"""Records of any entity: list, detail, edit, create, delete, restore."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _
from werkzeug.datastructures import MultiDict

from app.core.access.policy import readable
from app.core.crud.serialise import Record
from app.core.crud.service import Captured
from app.core.errors import Invalid, NotFound, Stale
from app.core.idempotency.service import Resource
from app.core.registry import Entity
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.errors import field_errors
from app.edge.idempotency import Made, idempotent
from app.edge.transactions import in_unit
from app.web.ai_records import record_vectors
from app.web.approvals import pending_on
from app.web.audit import history
from app.web.record_columns import default_columns, possible, read_columns
from app.web.record_conflict import conflict_context, merged
from app.web.record_filters import added
from app.web.record_form import detail_context, edit_context, form_fields, read_form, stored_form
from app.web.record_list import list_context, read_list

blueprint = Blueprint("records", __name__)


@blueprint.get("/records")
def start() -> ResponseReturnValue:
    """The first list that the person may see."""
    for entity in container().records.entities(actor()):
        return redirect(url_for("records.index", name=entity.name), 303)
    raise NotFound("page.not_found")


@blueprint.get("/records/<name>")
@in_unit
def index(name: str, *, unit: Unit) -> ResponseReturnValue:
    """One page of a list; the address says all of it. A filter that the form adds becomes part of the address."""
    entity = container().records.entity(actor(), name)
    names = readable(entity, actor())
    ask = read_list(entity, request.args, names)
    errors: dict[str, str] = {}
    if request.args.get("field"):
        try:
            filters = (*ask.filters, added(entity, request.args, names))
            wider = ask.href(filters=tuple(dict.fromkeys(filters)))
            return redirect(url_for("records.index", name=name) + wider, 303)
        except Invalid as refusal:
            errors = field_errors(refusal)
    found = container().records.page(unit, actor(), name, ask.raw())
    columns = shown_columns(unit, entity)
    context = list_context(entity, actor(), ask, found, columns, request.args, errors)
    return render_template("records/list.html", **context), 422 if errors else 200


def shown_columns(unit: Unit, entity: Entity) -> list[str]:
    """The columns that this person sees: chosen by them, else the entity's; never one that they may not read."""
    names = readable(entity, actor())
    chosen = container().preferences.columns(unit, actor(), entity.name, possible(entity, names))
    return chosen or default_columns(entity, names)


@blueprint.post("/records/<name>/columns")
@in_unit
def columns(name: str, *, unit: Unit) -> ResponseReturnValue:
    """Keep which columns the person sees, and in which order; back to the list as it was."""
    entity = container().records.entity(actor(), name)
    names = readable(entity, actor())
    if "reset" in request.form:
        container().preferences.reset_columns(unit, actor(), name)
    else:
        container().preferences.keep_columns(unit, actor(), name, read_columns(entity, request.form, names))
    stays_open = "&columns=open" if "up" in request.form or "down" in request.form else ""
    return redirect(list_again(entity, request.form.get("back", "")) + stays_open, 303)


def list_again(entity: Entity, query: str) -> str:
    """The address of the list that a form came from; of the whole list when its query is none of ours."""
    address = url_for("records.index", name=entity.name)
    try:
        ask = read_list(entity, MultiDict(parse_qsl(query)), readable(entity, actor()))
    except Invalid:
        return address + "?"
    return f"{address}?{ask.query()}"


@blueprint.get("/records/<name>/<int:record_id>")
@in_unit
def detail(name: str, record_id: int, *, unit: Unit) -> ResponseReturnValue:
    """One record in all of its languages."""
    entity = container().records.entity(actor(), name)
    record = container().records.get(unit, actor(), name, record_id)
    return render_template(
        "records/detail.html",
        **detail_context(entity, actor(), record),
        vectors=record_vectors(name, record_id),
        pending=pending_on(unit, name, record_id),
        history=history(unit, name, record_id),
    )


@blueprint.get("/records/<name>/<int:record_id>/edit")
@in_unit
def edit(name: str, record_id: int, *, unit: Unit) -> ResponseReturnValue:
    """The form of a record."""
    entity = _editable(name, "update")
    record = container().records.get(unit, actor(), name, record_id)
    form = form_fields(entity, actor(), new=False)
    return render_template("records/edit.html", **edit_context(form, record, stored_form(form, record), {}))


@blueprint.post("/records/<name>/<int:record_id>/edit")
@in_unit
def save(name: str, record_id: int, *, unit: Unit) -> ResponseReturnValue:
    """Save, or show the form again with what was typed and what is wrong with it."""
    entity = _editable(name, "update")
    records, sent = container().records, _sent()
    record = records.get(unit, actor(), name, record_id)
    form = form_fields(entity, actor(), new=False)
    stored, base = stored_form(form, record), sent.get("base")
    revision = sent.get("revision", "")
    try:
        edited = int(revision) if revision.isascii() and revision.isdigit() and len(revision) < 10 else None
        saved = records.update(unit, actor(), name, record_id, read_form(form, sent, stored), edited)
    except Stale:
        last = next(iter(history(unit, name, record_id)), None)
        conflict = conflict_context(form, record, sent, last)
        context = edit_context(form, record, merged(form, record, sent), {}, conflict)
        return render_template("records/edit.html", **context), 409
    except Invalid as refusal:
        context = edit_context(form, record, {**stored, **sent}, field_errors(refusal), base=base)
        return render_template("records/edit.html", **context), 422
    flash(_sent_for_approval() if isinstance(saved, Captured) else _("Saved."))
    return redirect(url_for("records.detail", name=name, record_id=record_id), 303)


@blueprint.get("/records/<name>/new")
def new(name: str) -> ResponseReturnValue:
    """An empty form."""
    form = form_fields(_editable(name, "insert"), actor(), new=True)
    return render_template("records/edit.html", **edit_context(form, None, stored_form(form, None), {}))


def _created(unit: Unit, made: Resource) -> ResponseReturnValue:
    """Where a form leads that was sent once more."""
    if "modification" in made:
        return redirect(url_for("records.index", name=made["entity"]), 303)
    return redirect(url_for("records.detail", name=made["entity"], record_id=made["id"]), 303)


@blueprint.post("/records/<name>/new")
@in_unit
@idempotent(_created)
def create(name: str, *, unit: Unit) -> ResponseReturnValue | Made:
    """Make a record, or show the form again."""
    form = form_fields(_editable(name, "insert"), actor(), new=True)
    sent = _sent()
    try:
        record = container().records.create(unit, actor(), name, read_form(form, sent, {}))
    except Invalid as refusal:
        return render_template("records/edit.html", **edit_context(form, None, sent, field_errors(refusal))), 422
    if isinstance(record, Captured):
        flash(_sent_for_approval())
        captured: Resource = {"entity": name, "modification": record.modification.id}
        return Made(_created(unit, captured), captured)
    flash(_("Created."))
    made: Resource = {"entity": name, "id": record.id}
    return Made(_created(unit, made), made)


@blueprint.post("/records/<name>/<int:record_id>/delete")
@in_unit
def delete(name: str, record_id: int, *, unit: Unit) -> ResponseReturnValue:
    """Hide the record; its page stays for those who may restore it."""
    done = _("Deleted. It can be restored from its page or from the list of deleted records.")
    return _mark(unit, name, record_id, container().records.delete, str(done))


@blueprint.post("/records/<name>/<int:record_id>/restore")
@in_unit
def restore(name: str, record_id: int, *, unit: Unit) -> ResponseReturnValue:
    """Bring a deleted record back."""
    return _mark(unit, name, record_id, container().records.restore, str(_("Restored. Searches find it again.")))


@blueprint.post("/records/<name>/<int:record_id>/remove")
@in_unit
def remove(name: str, record_id: int, *, unit: Unit) -> ResponseReturnValue:
    """Remove the record for good; its list is what is left to go to."""
    return _mark(unit, name, record_id, container().records.force_delete, str(_("Deleted for good.")), gone=True)


def _mark(
    unit: Unit, name: str, record_id: int, change: Callable[..., Record | Captured], done: str, *, gone: bool = False
) -> ResponseReturnValue:
    """Do it on the revision that was looked at, and say what became of it where the record, or its list, is."""
    page = url_for("records.detail", name=name, record_id=record_id)
    revision = request.form.get("revision", "")
    seen = int(revision) if revision.isascii() and revision.isdigit() and len(revision) < 10 else None
    try:
        made = change(unit, actor(), name, record_id, seen)
    except Stale:
        flash(_("Somebody changed this record meanwhile. Nothing was done; look at it again, then decide."), "warning")
        return redirect(page, 303)
    flash(_sent_for_approval() if isinstance(made, Captured) else done)
    is_gone = gone and not isinstance(made, Captured)
    return redirect(url_for("records.index", name=name) if is_gone else page, 303)


def _sent_for_approval() -> str:
    return str(_("Sent for approval. It takes effect when enough people have approved it."))


def _sent() -> Mapping[str, str]:
    return dict(request.form.items())


def _editable(name: str, ability: str) -> Entity:
    """The entity, for someone who may do this with it. The service checks again; a form that can't be sent is none."""
    entity = container().records.entity(actor(), name)
    if not entity.editable or not actor().may(f"{entity.name}.{ability}"):
        raise NotFound("page.not_found")
    return entity
