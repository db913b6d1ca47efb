"""What an administrator may change while the console runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _

from app.core.errors import Invalid
from app.core.settings.schema import AI, DOCUMENTATION, RECORDS, SEARCH, Value
from app.core.settings.service import Saved, SettingState
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.errors import field_errors
from app.edge.transactions import in_unit

blueprint = Blueprint("settings", __name__)

GROUPS = {
    AI: ("ai", "/settings/ai"),
    SEARCH: ("search", "/settings/search"),
    RECORDS: ("records", None),
    DOCUMENTATION: ("documentation", None),
}
"""The group's name in addresses and the page of its own, if there is one."""
CONTROLS = {"bool": "checkbox", "integer": "number", "choice": "select", "string": "text"}


@blueprint.get("/settings")
@in_unit
def index(*, unit: Unit) -> ResponseReturnValue:
    """Every setting in its group; ``q`` filters by name and description."""
    return _page(unit, {})


@blueprint.post("/settings")
@in_unit
def save(*, unit: Unit) -> ResponseReturnValue:
    """Write the settings of one form, all or none; refusals stand at their fields."""
    try:
        changed = container().settings.update_many(unit, actor(), _sent())
    except Invalid as refusal:
        return _page(unit, field_errors(refusal)), 422
    return _saved(changed)


@blueprint.post("/settings/reset")
@in_unit
def reset(*, unit: Unit) -> ResponseReturnValue:
    """Give the one setting that the button names its default again; what else the form holds is left alone."""
    name = request.form.get("reset", "")
    definition = container().settings.definition(name)
    return _saved(container().settings.update(unit, actor(), name, definition.default), name)


def _saved(changed: Saved, anchor: str | None = None) -> ResponseReturnValue:
    """What became of it, said where the person goes next: to the setting, or to what waits for approval."""
    if changed.captured:
        flash(_("Your change waits for approval. Nothing has changed until somebody else approves it."), "success")
        return redirect(url_for("approvals.index", show="mine"), 303)
    if changed:
        flash(_("Saved."), "success")
    else:
        flash(_("Nothing changed: the values were the same."), "info")
    wanted = request.form.get("q", "").strip()
    return redirect(url_for("settings.index", q=wanted or None, _anchor=anchor), 303)


def _sent() -> dict[str, object]:
    """Setting to value. A checkbox that is off sends nothing but its name in ``present``."""
    known = container().settings.definitions
    sent: dict[str, object] = {name: value for name, value in request.form.items() if name in known}
    sent.update({name: name in request.form for name in request.form.getlist("present") if name in known})
    return sent


def _page(unit: Unit, errors: Mapping[str, str]) -> str:
    wanted = request.values.get("q", "").strip()
    groups: dict[str, list[dict[str, object]]] = {}
    for state in container().settings.listing(unit, actor()):
        shown = _setting(state, errors)
        if wanted.lower() in f"{shown['name']} {shown['label']} {shown['description']}".lower():
            groups.setdefault(state.definition.group, []).append(shown)
    return render_template("settings/index.html", q=wanted, groups=[_group(*item) for item in groups.items()])


def _group(label: str, settings: Sequence[Mapping[str, object]]) -> dict[str, object]:
    name, href = GROUPS[label]
    editable = any(not setting["managed"] for setting in settings)
    return {"name": name, "label": _(label), "href": href, "settings": settings, "editable": editable}


def _setting(state: SettingState, errors: Mapping[str, str]) -> dict[str, object]:
    definition = state.definition
    error = errors.get(definition.name)
    sent = request.form.get(definition.name) if error else None
    return {
        "name": definition.name,
        "label": _(definition.label),
        "description": _(definition.help),
        "kind": CONTROLS[definition.kind] if definition.kind != "choice" or state.options else "text",
        "value": state.value if sent is None else sent,
        "shown": _text(state.value),
        "options": [(option, option) for option in state.options],
        "managed": not state.editable or definition.confirmation is not None,
        "managed_by": _managed_by(state),
        "default": None if definition.managed else _text(definition.default),
        "may_reset": state.editable and definition.confirmation is None and not state.is_default,
        "error": error,
        "changed_at": state.changed.at if state.changed else None,
        "changed_by": state.changed.by if state.changed else None,
    }


def _managed_by(state: SettingState) -> str | None:
    if state.definition.confirmation is not None:
        return str(_("Changed on the page of its own, where the cost of a change is shown first."))
    if not state.definition.managed and not state.editable:
        return str(_("You may not change this."))
    return None


def _text(value: Value) -> str:
    if value in (None, ""):
        return str(_("none"))
    if isinstance(value, bool):
        return str(_("On") if value else _("Off"))
    return str(value)
