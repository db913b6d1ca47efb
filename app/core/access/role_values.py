"""What a role may be made of, checked: permissions of the declared list, row rules and field rules of its entities.

Errors stand at their paths: ``permissions.2``, ``row_rules.0.condition.filters.1.value``, ``field_rules.0.fields``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.core.access.conditions import write_filter
from app.core.access.models import FieldRule, Role, RowRule
from app.core.access.permissions import known, of_entity
from app.core.access.rules import GRANTED_BY, FieldAbility, read_rule
from app.core.errors import ChangeoverError, Invalid
from app.core.registry import Registry

MOST_RULES = 100
LONGEST_NOTE = 200
LONGEST_DESCRIPTION = 300
FIELD_ABILITIES: tuple[FieldAbility, ...] = ("read", "write")


@dataclass(frozen=True)
class RoleValues:
    """A role as it shall be; conditions in their canonical JSON."""

    description: str
    permissions: frozenset[str]
    row_rules: tuple[RowRule, ...]
    field_rules: tuple[FieldRule, ...]


def canonical(condition: object) -> str:
    """A condition as one text, in whatever order its names stand: the database keeps another one."""
    return json.dumps(condition, sort_keys=True)


def as_values(role: Role) -> dict[str, object]:
    """A stored role in the form that :func:`read_values` reads and the API shows."""
    return {
        "description": role.description,
        "permissions": sorted(role.permissions),
        "row_rules": [
            {"permission": rule.permission, "condition": rule.condition, "note": rule.note} for rule in role.row_rules
        ],
        "field_rules": [
            {"entity": rule.entity, "ability": rule.ability, "fields": sorted(rule.fields)}
            for rule in sorted(role.field_rules, key=lambda rule: (rule.entity, rule.ability))
        ],
    }


def read_values(registry: Registry, raw: Mapping[str, object], held: Collection[str] = ()) -> RoleValues:
    """The checked values; what is not named is empty. Raises :class:`Invalid` with one error per path.

    ``held`` are the permissions that the role has: one whose part is not installed at present may stay.
    """
    problems: list[ChangeoverError] = []
    permissions = _permissions(frozenset({*known(registry), *held}), raw.get("permissions", ()), problems)
    row_rules = _each("row_rules", raw, problems, lambda item, path: _row_rule(registry, permissions, item, path))
    field_rules = _each("field_rules", raw, problems, lambda item, path: _field_rule(registry, permissions, item, path))
    seen: set[tuple[str, str]] = set()
    for place, rule in enumerate(field_rules):
        if (rule.entity, rule.ability) in seen:
            problems.append(Invalid("input.repeated", path=f"field_rules.{place}.entity", field=rule.entity))
        seen.add((rule.entity, rule.ability))
    description = str(raw.get("description") or "").replace("\0", "").strip()
    if len(description) > LONGEST_DESCRIPTION:
        problems.append(Invalid("input.too_long", path="description", limit=LONGEST_DESCRIPTION))
    if problems:
        raise Invalid("input.invalid", fields=problems)
    return RoleValues(description, permissions, tuple(row_rules), tuple(field_rules))


def changed_permissions(role: Role | None, values: RoleValues) -> frozenset[str]:
    """The permissions that are given, or whose rows or fields are others than before."""
    before = frozenset(role.permissions) if role is not None else frozenset()
    old_rows, new_rows = _rows(role.row_rules if role else ()), _rows(values.row_rules)
    old_fields, new_fields = _fields(role.field_rules if role else ()), _fields(values.field_rules)
    return frozenset(
        permission
        for permission in values.permissions
        if permission not in before
        or old_rows.get(permission) != new_rows.get(permission)
        or old_fields.get(permission.rpartition(".")[0]) != new_fields.get(permission.rpartition(".")[0])
    )


def _rows(rules: Sequence[RowRule]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for rule in rules:
        found.setdefault(rule.permission, []).append(canonical(rule.condition))
    return {permission: sorted(conditions) for permission, conditions in found.items()}


def _fields(rules: Sequence[FieldRule]) -> dict[str, set[tuple[str, tuple[str, ...]]]]:
    found: dict[str, set[tuple[str, tuple[str, ...]]]] = {}
    for rule in rules:
        found.setdefault(rule.entity, set()).add((rule.ability, tuple(sorted(rule.fields))))
    return found


def _permissions(possible: frozenset[str], raw: object, problems: list[ChangeoverError]) -> frozenset[str]:
    if not isinstance(raw, list | tuple | set | frozenset):
        problems.append(Invalid("input.type", path="permissions", expected="[…]"))
        return frozenset()
    for place, name in enumerate(raw):
        if name not in possible:
            problems.append(Invalid("access.permission_unknown", path=f"permissions.{place}", name=str(name)[:80]))
    return frozenset(raw) & possible


def _each(
    name: str,
    raw: Mapping[str, object],
    problems: list[ChangeoverError],
    read: Callable[[Mapping[str, object], str], Any],
) -> list[Any]:
    items = raw.get(name, ())
    if not isinstance(items, list | tuple):
        problems.append(Invalid("input.type", path=name, expected="[…]"))
        return []
    if len(items) > MOST_RULES:
        problems.append(Invalid("input.too_many", path=name, limit=MOST_RULES))
    found = []
    for place, item in enumerate(items[:MOST_RULES]):
        try:
            if not isinstance(item, Mapping):
                raise Invalid("input.type", path=f"{name}.{place}", expected="{…}")
            found.append(read(item, f"{name}.{place}"))
        except Invalid as problem:
            problems.append(problem)
    return found


def _row_rule(registry: Registry, granted: frozenset[str], item: Mapping[str, object], path: str) -> RowRule:
    permission, note = item.get("permission"), str(item.get("note") or "").replace("\0", "").strip()
    if not isinstance(permission, str) or of_entity(registry, permission) is None:
        raise Invalid("access.permission_unknown", path=f"{path}.permission", name=str(permission)[:80])
    if permission not in granted:
        raise Invalid("access.rule_without_permission", path=f"{path}.permission", permission=permission)
    if len(note) > LONGEST_NOTE:
        raise Invalid("input.too_long", path=f"{path}.note", limit=LONGEST_NOTE)
    tree = read_rule(registry, permission, item.get("condition"), f"{path}.condition")
    return RowRule(permission=permission, condition=write_filter(tree), note=note)


def _field_rule(registry: Registry, granted: frozenset[str], item: Mapping[str, object], path: str) -> FieldRule:
    name, ability, fields = item.get("entity"), item.get("ability"), item.get("fields")
    if not isinstance(name, str) or name not in registry:
        raise Invalid("record.unknown_entity", path=f"{path}.entity", entity=str(name)[:80])
    if ability not in FIELD_ABILITIES:
        allowed = ", ".join(FIELD_ABILITIES)
        raise Invalid("input.choice", path=f"{path}.ability", value=str(ability)[:20], allowed=allowed)
    grants = [f"{name}.{one}" for one in GRANTED_BY[ability]]
    if not granted.intersection(grants):
        raise Invalid("access.rule_without_permission", path=f"{path}.entity", permission=grants[0])
    if not isinstance(fields, list | tuple):
        raise Invalid("input.type", path=f"{path}.fields", expected="[…]")
    possible = {item.name for item in registry.get(name).fields}
    for field in fields:
        if field not in possible:
            raise Invalid("input.unknown_field", path=f"{path}.fields", field=str(field)[:80])
    return FieldRule(entity=name, ability=ability, fields=sorted(set(fields)))
