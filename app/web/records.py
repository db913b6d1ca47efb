"""Records of any entity: list, detail, edit, create, delete, restore."""

from __future__ import annotations

from collections.abc import Mapping

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _

from app.core.errors import Invalid, NotFound, Stale
from app.core.registry import Entity
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.errors import field_errors
from app.edge.transactions import in_unit
from app.web.ai_records import record_vectors
from app.web.record_form import conflict_context, detail_context, edit_context, read_form, stored_form
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
    """One page of a list; the address says all of it."""
    entity = container().records.entity(actor(), name)
    ask = read_list(entity, request.args)
    found = container().records.page(unit, actor(), name, ask.raw())
    return render_template("records/list.html", **list_context(entity, actor(), ask, found))


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
    )


@blueprint.get("/records/<name>/<int:record_id>/edit")
@in_unit
def edit(name: str, record_id: int, *, unit: Unit) -> ResponseReturnValue:
    """The form of a record."""
    entity = _editable(name, "update")
    record = container().records.get(unit, actor(), name, record_id)
    return render_template("records/edit.html", **edit_context(entity, record, stored_form(entity, record), {}))


@blueprint.post("/records/<name>/<int:record_id>/edit")
@in_unit
def save(name: str, record_id: int, *, unit: Unit) -> ResponseReturnValue:
    """Save, or show the form again with what was typed and what is wrong with it."""
    entity = _editable(name, "update")
    records, sent = container().records, _sent()
    record = records.get(unit, actor(), name, record_id)
    revision = sent.get("revision", "")
    try:
        values = read_form(entity, sent, stored_form(entity, record))
        records.update(unit, actor(), name, record_id, values, int(revision) if revision.isdigit() else None)
    except Stale:
        conflict = conflict_context(entity, record, sent)
        return render_template("records/edit.html", **edit_context(entity, record, sent, {}, conflict)), 409
    except Invalid as refusal:
        return render_template("records/edit.html", **edit_context(entity, record, sent, field_errors(refusal))), 422
    flash(_("Saved."))
    return redirect(url_for("records.detail", name=name, record_id=record_id), 303)


@blueprint.get("/records/<name>/new")
def new(name: str) -> ResponseReturnValue:
    """An empty form."""
    entity = _editable(name, "insert")
    return render_template("records/edit.html", **edit_context(entity, None, stored_form(entity, None), {}))


@blueprint.post("/records/<name>/new")
@in_unit
def create(name: str, *, unit: Unit) -> ResponseReturnValue:
    """Make a record, or show the form again."""
    entity = _editable(name, "insert")
    sent = _sent()
    try:
        record = container().records.create(unit, actor(), name, read_form(entity, sent, {}))
    except Invalid as refusal:
        return render_template("records/edit.html", **edit_context(entity, None, sent, field_errors(refusal))), 422
    flash(_("Created."))
    return redirect(url_for("records.detail", name=name, record_id=record.id), 303)


@blueprint.post("/records/<name>/<int:record_id>/delete")
@in_unit
def delete(name: str, record_id: int, *, unit: Unit) -> ResponseReturnValue:
    """Hide the record; its page stays for those who may restore it."""
    container().records.delete(unit, actor(), name, record_id)
    flash(_("Deleted. It can be restored from its page or from the list of deleted records."))
    may_restore = actor().may(container().registry.get(name).permission("update"))
    if may_restore:
        return redirect(url_for("records.detail", name=name, record_id=record_id), 303)
    return redirect(url_for("records.index", name=name), 303)


@blueprint.post("/records/<name>/<int:record_id>/restore")
@in_unit
def restore(name: str, record_id: int, *, unit: Unit) -> ResponseReturnValue:
    """Bring a deleted record back."""
    container().records.restore(unit, actor(), name, record_id)
    flash(_("Restored. Searches find it again."))
    return redirect(url_for("records.detail", name=name, record_id=record_id), 303)


def _sent() -> Mapping[str, str]:
    return dict(request.form.items())


def _editable(name: str, ability: str) -> Entity:
    """The entity, for someone who may do this with it. The service checks again; a form that can't be sent is none."""
    entity = container().records.entity(actor(), name)
    if not entity.editable or not actor().may(f"{entity.name}.{ability}"):
        raise NotFound("page.not_found")
    return entity
