"""What the row and field rules of a person's roles come to: the restrictions of one actor. Pure.

Roles are OR-ed and a role that grants a permission without a rule lifts the restriction; the rules of one permission
of one role must all hold. A stored rule that can't be read any more (its field is gone) fails closed: that role yields
no row for that permission, and :func:`broken_rules` names it (`docs/adr/0011-row-rules.md`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from app.core.access.conditions import NOTHING, conditional_fields, filled, read_filter
from app.core.access.models import Role, RowRule
from app.core.contracts.conditions import Filter, Group
from app.core.errors import ChangeoverError, Invalid
from app.core.registry import Ability, Entity, Registry

FieldAbility = Literal["read", "write"]
EVERYTHING = "*"
GRANTED_BY: Mapping[FieldAbility, tuple[Ability, ...]] = {"read": ("select",), "write": ("insert", "update")}
"""The abilities by which a role has a say in which fields are read or written."""


@dataclass(frozen=True)
class BrokenRule:
    """A stored rule that can't be applied. ``error`` says why; ``rule_id`` is None for a rule on fields."""

    role: str
    rule_id: int | None
    subject: str
    error: ChangeoverError


def read_rule(registry: Registry | None, permission: str, raw: object, path: str = "condition") -> Filter:
    """The tree of a stored rule, placeholders not filled in. Raises :class:`Invalid`, also for the permission."""
    name, _, ability = permission.rpartition(".")
    if registry is None or name not in registry or ability not in get_args(Ability):
        raise Invalid("input.invalid", fields=[Invalid("input.wrong", path="permission")])
    entity = registry.get(name)
    return read_filter(entity, raw, path, fields=conditional_fields(entity), placeholders=True)


def row_filters(
    roles: Sequence[Role], registry: Registry | None, actor_values: Mapping[str, object]
) -> dict[str, Filter]:
    """The filter of each permission whose rows are restricted; ``actor_values`` as in `conditions.filled`."""
    if any(EVERYTHING in role.permissions for role in roles):
        return {}
    found: dict[str, Filter] = {}
    for permission in {rule.permission for role in roles for rule in role.row_rules}:
        ruled = [
            [rule for rule in role.row_rules if rule.permission == permission]
            for role in roles
            if permission in role.permissions
        ]
        if ruled and all(ruled):
            found[permission] = _joined("or", [_role_filter(rules, registry, actor_values) for rules in ruled])
    return found


def field_lists(roles: Sequence[Role], ability: FieldAbility) -> dict[str, frozenset[str]]:
    """The fields of each entity whose fields are restricted for ``ability``.

    A role has a say only where it grants one of :data:`GRANTED_BY`: one that can't see an entity lifts nothing.
    """
    if any(EVERYTHING in role.permissions for role in roles):
        return {}
    found: dict[str, frozenset[str]] = {}
    for entity in {rule.entity for role in roles for rule in role.field_rules if rule.ability == ability}:
        having = [role for role in roles if _grants(role, entity, ability)]
        lists = [_fields(role, entity, ability) for role in having]
        if None not in lists:
            found[entity] = frozenset().union(*(one for one in lists if one is not None))
    return found


def broken_rules(roles: Iterable[Role], registry: Registry) -> list[BrokenRule]:
    """The stored rules that can't be applied any more, for those who look after roles."""
    found: list[BrokenRule] = []
    for role in roles:
        for rule in role.row_rules:
            try:
                read_rule(registry, rule.permission, rule.condition)
            except ChangeoverError as error:
                found.append(BrokenRule(role.name, rule.id, rule.permission, error))
        for fields in role.field_rules:
            if fields.entity not in registry:
                gone = Invalid("record.unknown_entity", path="entity", entity=fields.entity)
                found.append(BrokenRule(role.name, None, fields.entity, gone))
            else:
                found += _unknown_fields(role, registry.get(fields.entity), fields.fields)
    return found


def _unknown_fields(role: Role, entity: Entity, names: Collection[str]) -> list[BrokenRule]:
    known = {item.name for item in entity.fields}
    return [
        BrokenRule(role.name, None, entity.name, Invalid("input.unknown_field", path="fields", field=name))
        for name in names
        if name not in known
    ]


def _role_filter(rules: Sequence[RowRule], registry: Registry | None, actor_values: Mapping[str, object]) -> Filter:
    try:
        trees = [read_rule(registry, rule.permission, rule.condition) for rule in rules]
    except ChangeoverError:
        return NOTHING
    return _joined("and", [filled(tree, actor_values) for tree in trees])


def _joined(junction: Literal["and", "or"], items: Sequence[Filter]) -> Filter:
    return items[0] if len(items) == 1 else Group(junction, tuple(items))


def _grants(role: Role, entity: str, ability: FieldAbility) -> bool:
    return any(f"{entity}.{one}" in role.permissions for one in GRANTED_BY[ability])


def _fields(role: Role, entity: str, ability: FieldAbility) -> frozenset[str] | None:
    """The only fields that the role opens; None without a rule."""
    return next(
        (frozenset(rule.fields) for rule in role.field_rules if (rule.entity, rule.ability) == (entity, ability)), None
    )
