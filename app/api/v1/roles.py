"""Roles as JSON, with their row rules and field rules inside; the list of all permissions; and who the caller is."""

from __future__ import annotations

from typing import Annotated, Literal

from apiflask import APIBlueprint
from flask import url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext
from pydantic import BaseModel, ConfigDict, Field

from app.core.access.conditions import conditional_fields, write_filter
from app.core.access.models import Role
from app.core.access.permissions import ABILITIES, NAMED, abilities
from app.core.access.role_values import LONGEST_DESCRIPTION, LONGEST_NOTE, MOST_RULES, as_values
from app.core.idempotency.service import Resource
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.idempotency import Made, idempotent
from app.edge.transactions import in_unit

blueprint = APIBlueprint("roles_api", __name__, url_prefix="/api/v1")

Name = Annotated[str, Field(max_length=100)]


class NewRowRule(BaseModel):
    """A condition on the rows that a permission of the role reaches; several of one permission must all hold."""

    model_config = ConfigDict(extra="forbid", strict=True)

    permission: Name
    condition: dict[str, object]
    note: str = Field(default="", max_length=LONGEST_NOTE)


class NewFieldRule(BaseModel):
    """The only fields of an entity that the role may read or write."""

    model_config = ConfigDict(extra="forbid", strict=True)

    entity: Name
    ability: Literal["read", "write"]
    fields: list[Name] = Field(max_length=200)


class RoleChange(BaseModel):
    """What to change of a role; what is left out stays, lists are replaced as a whole."""

    model_config = ConfigDict(extra="forbid", strict=True)

    description: str = Field(default="", max_length=LONGEST_DESCRIPTION)
    permissions: list[Name] = Field(default_factory=list, max_length=1000)
    row_rules: list[NewRowRule] = Field(default_factory=list, max_length=MOST_RULES)
    field_rules: list[NewFieldRule] = Field(default_factory=list, max_length=MOST_RULES)


class NewRole(RoleChange):
    """A role to add; its name can't be changed later."""

    name: str = Field(min_length=1, max_length=40, json_schema_extra={"pattern": "^[a-z][a-z0-9_-]*$"})


@blueprint.get("/roles")
@in_unit
def index(*, unit: Unit) -> ResponseReturnValue:
    """Every role with the number of people who have it. Needs `roles.select`."""
    found = container().access.roles.listing(unit, actor())
    return {"items": [{**shown_role(role), "people": people} for role, people in found]}


def _made(unit: Unit, resource: Resource) -> ResponseReturnValue:
    return shown_role(container().access.roles.get(unit, actor(), int(resource["id"] or 0)))


@blueprint.post("/roles")
@blueprint.input(NewRole, location="json", arg_name="wished")
@in_unit
@idempotent(_made)
def create(wished: NewRole, *, unit: Unit) -> ResponseReturnValue | Made:
    """Add a role. Needs `roles.update`; nobody gives permissions that they don't have in full."""
    role = container().access.roles.create(unit, actor(), wished.name, wished.model_dump(exclude={"name"}))
    where = {"Location": url_for(".show", role_id=role.id)}
    return Made((shown_role(role), 201, where), {"id": role.id})


@blueprint.get("/roles/<int:role_id>")
@in_unit
def show(role_id: int, *, unit: Unit) -> ResponseReturnValue:
    """One role with its rules."""
    return shown_role(container().access.roles.get(unit, actor(), role_id))


@blueprint.patch("/roles/<int:role_id>")
@blueprint.input(RoleChange, location="json", arg_name="change")
@in_unit
def update(role_id: int, change: RoleChange, *, unit: Unit) -> ResponseReturnValue:
    """Change what is named; it counts from the next request of everybody who has the role."""
    values = change.model_dump(exclude_unset=True)
    return shown_role(container().access.roles.update(unit, actor(), role_id, values))


@blueprint.delete("/roles/<int:role_id>")
@in_unit
def delete(role_id: int, *, unit: Unit) -> ResponseReturnValue:
    """Remove a role from everybody who has it; 409 for a role of the system."""
    container().access.roles.delete(unit, actor(), role_id)
    return "", 204


@blueprint.get("/permissions")
def permissions() -> ResponseReturnValue:
    """Every permission that a role may be given, with the fields that row rules may name."""
    items: list[dict[str, object]] = [
        {
            "name": entity.permission(ability),
            "entity": entity.name,
            "ability": ability,
            "label": f"{gettext(entity.label_plural)}: {gettext(ABILITIES[ability])}",
            "conditional_fields": sorted(conditional_fields(entity)),
        }
        for entity in container().registry
        for ability in abilities(entity)
    ]
    items += [{"name": name, "label": gettext(label)} for name, label in NAMED.items()]
    return {"items": items}


@blueprint.get("/me")
def me() -> ResponseReturnValue:
    """Who the caller is and what they may do: permissions, the rows and fields they are held to, a token's scopes."""
    who = actor()
    return {
        "id": who.id,
        "login": who.login,
        "display_name": who.display_name,
        "locale": who.locale,
        "roles": sorted(who.roles),
        "permissions": sorted(who.permissions),
        "scopes": None if who.scopes is None else sorted(who.scopes),
        "tenant_id": who.tenant_id,
        "needs_approval": who.needs_approval,
        "is_guest": who.is_guest,
        "impersonator": who.impersonator_login,
        "rows": {permission: write_filter(tree) for permission, tree in who.rows.items()},
        "readable": {entity: sorted(fields) for entity, fields in who.readable.items()},
        "writable": {entity: sorted(fields) for entity, fields in who.writable.items()},
    }


def shown_role(role: Role) -> dict[str, object]:
    return {"id": role.id, "name": role.name, "is_system": role.is_system, **as_values(role)}
