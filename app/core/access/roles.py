"""Roles: what each may do, on which rows and with which fields.

The three roles of the system can't be removed, and the administrator's can't be changed. Editor and reader may be
changed; `Roles.ensure` gives them each default permission once, when it is first seen (a new kind of record), and
never again: what an administrator took away stays away.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from app.core.access import store
from app.core.access.actor import ADMINISTRATOR, require, role_permissions
from app.core.access.authority import administer
from app.core.access.models import FieldRule, Role, RowRule
from app.core.access.permissions import exceeding
from app.core.access.role_values import RoleValues, as_values, canonical, changed_permissions, read_values
from app.core.audit.service import Audit
from app.core.contracts.actor import Actor
from app.core.errors import Conflict, Forbidden, Invalid, NotFound
from app.core.registry import Registry
from app.core.unit import Unit

ENTITY = "roles"
"""The name of roles in the audit."""
LARGEST_ID = 2**63 - 1
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")


class Roles:
    """Every method runs in the caller's unit; none of them commits. All refusals come before the first write."""

    def __init__(self, registry: Registry, audit: Audit) -> None:
        self.registry = registry
        self.audit = audit

    def listing(self, unit: Unit, actor: Actor) -> Sequence[tuple[Role, int]]:
        """Every role with the number of people who have it. Needs ``roles.select``."""
        require(actor, "roles.select")
        people = store.people_of_roles(unit.session)
        return [(role, people.get(role.id, 0)) for role in store.roles(unit.session)]

    def names(self, unit: Unit, actor: Actor) -> Sequence[str]:
        """The names of all roles, for choosing. Needs ``users.select``."""
        require(actor, "users.select")
        return [role.name for role in store.roles(unit.session)]

    def get(self, unit: Unit, actor: Actor, role_id: int) -> Role:
        """One role. Needs ``roles.select``. Raises :class:`NotFound`."""
        require(actor, "roles.select")
        return self._found(unit, role_id)

    def create(self, unit: Unit, actor: Actor, name: str, values: Mapping[str, object]) -> Role:
        """Add a role; ``values`` as `role_values.as_values` shows them.

        Raises :class:`Invalid` with every path that is wrong, :class:`Conflict` for a name that is taken, and
        :class:`Forbidden` when it would hold more than the actor does.
        """
        administer(unit, actor, "roles.update")
        name = name.strip().lower()
        if not _NAME.fullmatch(name):
            raise Invalid("input.invalid", fields=[Invalid("access.role_name_form", path="name")])
        if store.role_by_name(unit.session, name) is not None:
            raise Conflict("access.role_taken", path="name", name=name)
        wished = read_values(self.registry, values)
        self._within_reach(actor, None, wished)
        role = Role(name=name, is_system=False, row_rules=[], field_rules=[])
        _apply(role, wished)
        unit.session.add(role)
        unit.session.flush()
        changes = {key: [None, value] for key, value in as_values(role).items() if value}
        self.audit.write(unit, actor, "insert", ENTITY, role.id, changes={"name": [None, name], **changes})
        return role

    def update(self, unit: Unit, actor: Actor, role_id: int, values: Mapping[str, object]) -> Role:
        """Change what is named of a role; lists are replaced as a whole. It counts from the next request on.

        Raises as :meth:`create`, and :class:`Conflict` for the administrator's role.
        """
        administer(unit, actor, "roles.update")
        role = self._found(unit, role_id)
        if role.name == ADMINISTRATOR:
            raise Conflict("access.administrator_fixed")
        before = as_values(role)
        wished = read_values(self.registry, {**before, **values}, role.permissions)
        self._within_reach(actor, role, wished)
        _apply(role, wished)
        unit.session.flush()
        changes = {key: [before[key], value] for key, value in as_values(role).items() if value != before[key]}
        if changes:
            self.audit.write(unit, actor, "update", ENTITY, role.id, changes=changes)
        return role

    def delete(self, unit: Unit, actor: Actor, role_id: int) -> None:
        """Remove a role, from everybody who has it. Raises :class:`Conflict` for a role of the system."""
        administer(unit, actor, "roles.update")
        role = self._found(unit, role_id)
        if role.is_system:
            raise Conflict("access.role_of_system", name=role.name)
        changes = {key: [value, None] for key, value in as_values(role).items() if value}
        people = store.people_of_roles(unit.session).get(role.id, 0)
        changes |= {"name": [role.name, None], "people": [people, 0]}
        unit.session.delete(role)
        self.audit.write(unit, actor, "delete", ENTITY, role.id, changes=changes)
        unit.session.flush()

    def ensure(self, unit: Unit) -> None:
        """Make the roles of the system and offer them what is new among their defaults. Safe to repeat."""
        for name, defaults in role_permissions(self.registry).items():
            role = store.system_role(unit.session, name)
            new = set(defaults) - set(role.offered)
            if name == ADMINISTRATOR:
                role.permissions = list(defaults)
            elif new:
                role.permissions = sorted({*role.permissions, *new})
            if new or not role.is_system:
                role.offered = sorted({*role.offered, *new})
                role.is_system = True
        unit.session.flush()

    def _found(self, unit: Unit, role_id: int) -> Role:
        role = store.role_by_id(unit.session, role_id) if role_id <= LARGEST_ID else None
        if role is None:
            raise NotFound("access.role_unknown")
        return role

    def _within_reach(self, actor: Actor, role: Role | None, wished: RoleValues) -> None:
        if exceeding(actor, changed_permissions(role, wished)):
            raise Forbidden("access.gives_more")


def _apply(role: Role, wished: RoleValues) -> None:
    """Rules that stay as they are keep their rows and ids."""
    role.description = wished.description
    role.permissions = sorted(wished.permissions)
    kept = {_identity(rule): rule for rule in role.row_rules}
    role.row_rules = [kept.pop(_identity(rule), rule) for rule in wished.row_rules]
    fields = {(rule.entity, rule.ability): rule for rule in role.field_rules}
    role.field_rules = [_kept_fields(fields.get((rule.entity, rule.ability)), rule) for rule in wished.field_rules]


def _identity(rule: RowRule) -> tuple[str, str, str]:
    return rule.permission, canonical(rule.condition), rule.note


def _kept_fields(before: FieldRule | None, rule: FieldRule) -> FieldRule:
    if before is None:
        return rule
    before.fields = rule.fields
    return before
