"""Roles: the list, and an editor with the matrix of permissions, row rules and field rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _

from app.core.access.actor import ADMINISTRATOR, EDITOR, READER, require
from app.core.access.models import Role
from app.core.access.permissions import ABILITIES, known
from app.core.access.role_values import as_values
from app.core.access.rules import broken_rules
from app.core.errors import Conflict, Forbidden, Invalid, NotFound
from app.core.idempotency.service import Resource
from app.core.messages import N_
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.errors import field_errors, status_of
from app.edge.idempotency import Made, idempotent
from app.edge.transactions import in_unit
from app.web import role_form
from app.web.forms import text_field

blueprint = Blueprint("roles", __name__)

ABOUT: Mapping[str, str] = {
    ADMINISTRATOR: N_("May do everything. It can't be changed, and somebody always has it."),
    EDITOR: N_("Reads, creates, changes and deletes records, and reads the handbook."),
    READER: N_("Reads records and the handbook."),
}
"""What the roles of the system are for, while nobody has written a description of their own."""
EMPTY: Mapping[str, Any] = {"description": "", "permissions": [], "row_rules": [], "field_rules": []}


@blueprint.get("/roles")
@in_unit
def index(*, unit: Unit) -> ResponseReturnValue:
    """Every role, what it is for and how many people have it."""
    found = container().access.roles.listing(unit, actor())
    possible = len(known(container().registry))
    rows = [_row(role, people, possible) for role, people in found]
    return render_template("roles/index.html", roles=rows, can_change=actor().may("roles.update"))


@blueprint.get("/roles/new")
@in_unit
def new(*, unit: Unit) -> ResponseReturnValue:
    """The form for a new role."""
    require(actor(), "roles.update")
    return _editor(None, EMPTY, {})


def _made(unit: Unit, resource: Resource) -> ResponseReturnValue:
    return redirect(url_for("roles.show", role_id=resource["id"]), 303)


@blueprint.post("/roles/new")
@in_unit
@idempotent(_made)
def create(*, unit: Unit) -> ResponseReturnValue | Made:
    """Add a role; refusals stand where they belong."""
    if "add" in request.form:
        return _with_built(None)
    try:
        values = role_form.read_form(container().registry, request.form)
        role = container().access.roles.create(unit, actor(), request.form.get("name", ""), values)
    except (Invalid, Conflict) as refusal:
        return _editor(None, _typed(), field_errors(refusal)), status_of(refusal)
    flash(_("The role %(name)s is added. Give it to people on their pages.", name=role.name), "success")
    return Made(redirect(url_for("roles.show", role_id=role.id), 303), {"id": role.id})


@blueprint.get("/roles/<int:role_id>")
@in_unit
def show(role_id: int, *, unit: Unit) -> ResponseReturnValue:
    """The editor of a role."""
    role = container().access.roles.get(unit, actor(), role_id)
    return _editor(role, as_values(role), {})


@blueprint.post("/roles/<int:role_id>")
@in_unit
def update(role_id: int, *, unit: Unit) -> ResponseReturnValue:
    """Change the role; a refusal changes nothing."""
    roles = container().access.roles
    role = roles.get(unit, actor(), role_id)
    if "add" in request.form:
        return _with_built(role)
    try:
        roles.update(unit, actor(), role_id, role_form.read_form(container().registry, request.form))
    except (Invalid, Conflict) as refusal:
        return _editor(role, _typed(), field_errors(refusal)), status_of(refusal)
    flash(_("Saved. It counts from the next request of everybody who has the role."), "success")
    return redirect(url_for("roles.show", role_id=role_id), 303)


@blueprint.post("/roles/<int:role_id>/delete")
@in_unit
def delete(role_id: int, *, unit: Unit) -> ResponseReturnValue:
    """Remove the role from everybody."""
    name = container().access.roles.get(unit, actor(), role_id).name
    container().access.roles.delete(unit, actor(), role_id)
    flash(_("The role %(name)s is removed.", name=name), "success")
    return redirect(url_for("roles.index"), 303)


def _row(role: Role, people: int, possible: int) -> dict[str, object]:
    everything = "*" in role.permissions
    return {
        "id": role.id,
        "name": role.name,
        "is_system": role.is_system,
        "about": role.description or _(ABOUT.get(role.name, "")) if role.description or role.name in ABOUT else "",
        "people": people,
        "permissions": possible if everything else len(role.permissions),
        "possible": possible,
        "rules": len(role.row_rules) + len(role.field_rules),
    }


def _with_built(role: Role | None) -> ResponseReturnValue:
    """The editor with one more rule from the builder's fields; nothing is saved."""
    if not actor().may("roles.update"):
        raise Forbidden("access.forbidden", permission="roles.update")
    typed = _typed()
    try:
        typed["row_rules"].append(role_form.built_rule(container().registry, request.form))
    except NotFound:
        return _editor(role, typed, {"": _("Choose first what the condition is about.")}), 422
    return _editor(role, typed, {}, is_draft=True)


def _typed() -> dict[str, Any]:
    """What was typed, also when it can't be read: conditions stay texts."""
    registry = container().registry
    blank = request.form.copy()
    for name in list(blank):
        if name.startswith("rule_condition."):
            blank.setlist(name, [""])
    return {**role_form.read_form(registry, blank), "row_rules": role_form.typed_rules(request.form)}


def _editor(role: Role | None, values: Mapping[str, Any], errors: Mapping[str, str], *, is_draft: bool = False) -> str:
    registry = container().registry
    fixed = role is not None and role.name == ADMINISTRATOR
    name = role.name if role else request.form.get("name", "")
    hint = _("Small letters, digits, dash and _. It can't be changed later.")
    return render_template(
        "roles/role.html",
        role=role,
        about=_(ABOUT[role.name]) if role and role.name in ABOUT else None,
        name=text_field("name", _("Name"), name, errors, required=True, maxlength=40, help=hint),
        description=text_field("description", _("What it is for"), values["description"], errors, maxlength=300),
        columns=[_(label) for label in ABILITIES.values()],
        matrix=role_form.matrix(registry, values["permissions"]),
        named=role_form.named(values["permissions"]),
        rules=role_form.drawn_rules(registry, values["row_rules"], errors),
        rule_permissions=role_form.rule_permissions(registry),
        fields=role_form.drawn_fields(registry, values["field_rules"], errors),
        builder=role_form.builder(registry),
        broken=_broken(role),
        is_fixed=fixed,
        is_draft=is_draft,
        can_change=actor().may("roles.update") and not fixed,
        problems=_problems(errors),
    )


def _broken(role: Role | None) -> Sequence[str]:
    """Rules whose field or kind of record is gone: they close what they restrict."""
    return [rule.subject for rule in broken_rules([role], container().registry)] if role else []


def _problems(errors: Mapping[str, str]) -> list[tuple[str, str]]:
    """What has no place of its own in the form, and one line for each place that has."""
    places = {
        "row_rules": ("rules", _("Row rules")),
        "field_rules": ("field-rules", _("Field rules")),
        "permissions": ("permissions", _("Permissions")),
    }
    found: dict[tuple[str, str], None] = {}
    for path, said in errors.items():
        head = path.partition(".")[0]
        if head in places:
            anchor, label = places[head]
            found[anchor, _("%(part)s need a correction.", part=label)] = None
        elif path == "":
            found["", said] = None
    return list(found)
