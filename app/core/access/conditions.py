"""Conditions on rows as JSON: read with every error at its path, written back, and filled in for an actor.

One form serves the stored rules of roles and the filters of lists::

    {"property": "category", "operator": "=", "value": "news"}
    {"operator": "and", "filters": [ … ]}        # or "or"
    {"actor": "id"}                              # stands for a value of the actor, in stored rules only

Semantics: `docs/adr/0011-row-rules.md`; they are compiled to SQL in `policy.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import cast, get_args

from app.core.access.values import TYPES, read_pattern, read_scalar
from app.core.contracts.conditions import Condition, Filter, Group, Operator, Placeholder, PlaceholderName
from app.core.errors import Invalid
from app.core.messages import N_
from app.core.registry import Entity, Field

DEEPEST, MOST, LONGEST = 10, 100, 200
"""Groups inside groups, conditions of one tree, values of one ``in``."""
OPERATORS: tuple[Operator, ...] = get_args(Operator)
NOTHING = Group("or", ())
"""The filter that no row passes."""
PLACEHOLDER_TYPES: Mapping[str, type] = {"id": int, "tenant": int, "login": str, "locale": str, "roles": str}

SYSTEM_FIELDS = {
    "id": Field("id", N_("Id"), "integer", editable=False),
    "revision": Field("revision", N_("Revision"), "integer", editable=False),
    "created_at": Field("created_at", N_("Created"), "datetime", editable=False),
    "updated_at": Field("updated_at", N_("Changed"), "datetime", editable=False),
}
"""What the system itself keeps of a record, whatever its entity declares."""


def conditional_fields(entity: Entity) -> dict[str, Field]:
    """The fields that a condition may name: untranslated ones that are columns of a type with an order."""
    columns = entity.model.__table__.columns
    known = SYSTEM_FIELDS | {item.name: item for item in entity.plain_fields}
    return {name: item for name, item in known.items() if name in columns and _type(entity, name) in TYPES}


def read_filter(
    entity: Entity, raw: object, path: str, *, fields: Collection[str], placeholders: bool = False
) -> Filter:
    """The tree of parsed JSON, over those of ``fields`` that a condition may name; values in the form of their field.

    Without ``placeholders`` an object of equalities (``{"category": "news"}``) is a tree too. Raises
    :class:`Invalid` (``input.invalid``) whose ``fields`` carry one error per path below ``path``.
    """
    reader = _Reader(entity, fields, placeholders)
    tree = reader.equalities(raw, path) if not placeholders and _is_flat(raw) else reader.tree(raw, path, 1)
    if reader.count > MOST:
        reader.problems.append(Invalid("input.too_many", path=path, limit=MOST))
    if reader.problems:
        raise Invalid("input.invalid", fields=reader.problems)
    return tree


def write_filter(tree: Filter) -> dict[str, object]:
    """The JSON of a tree: what :func:`read_filter` reads to the same tree."""
    if isinstance(tree, Group):
        return {"operator": tree.junction, "filters": [write_filter(item) for item in tree.items]}
    return {"property": tree.field, "operator": tree.operator, "value": _written(tree.value)}


def filled(tree: Filter, actor_values: Mapping[str, object]) -> Filter:
    """The tree with the actor's values in the place of placeholders.

    ``actor_values`` has ``id, login, tenant, locale`` (None: the actor has none) and ``roles``, a collection. A
    comparison with a value that the actor does not have holds for no row; inside a list it is left out.
    """
    if isinstance(tree, Group):
        return Group(tree.junction, tuple(filled(item, actor_values) for item in tree.items))
    value = tree.value
    if value == Placeholder("roles"):
        return Condition(tree.field, tree.operator, tuple(sorted(cast(Collection[str], actor_values["roles"]))))
    if isinstance(value, tuple):
        found = tuple(_filled(item, actor_values) for item in value)
        if tree.operator == "in":
            return Condition(tree.field, tree.operator, tuple(item for item in found if item is not None))
        return NOTHING if None in found else Condition(tree.field, tree.operator, found)
    if isinstance(value, Placeholder):
        own = _filled(value, actor_values)
        return NOTHING if own is None else Condition(tree.field, tree.operator, own)
    return tree


def named_fields(tree: Filter) -> frozenset[str]:
    """The fields that a tree names."""
    if isinstance(tree, Condition):
        return frozenset({tree.field})
    return frozenset().union(*(named_fields(item) for item in tree.items))


def _filled(value: object, actor_values: Mapping[str, object]) -> object:
    return actor_values[value.name] if isinstance(value, Placeholder) else value


def _written(value: object) -> object:
    if isinstance(value, tuple):
        return [_written(item) for item in value]
    if isinstance(value, Placeholder):
        return {"actor": value.name}
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value


def _is_flat(raw: object) -> bool:
    return isinstance(raw, Mapping) and "property" not in raw and "filters" not in raw


def _type(entity: Entity, name: str) -> type | None:
    """The Python type of a column; None for one that has none of its own."""
    try:
        return cast(type, entity.model.__table__.columns[name].type.python_type)
    except NotImplementedError:
        return None


class _Reader:
    """Reads one tree and collects what is wrong with it; what is wrong stands in the tree as :data:`NOTHING`."""

    def __init__(self, entity: Entity, fields: Collection[str], placeholders: bool) -> None:
        self.entity = entity
        self.fields = {name: item for name, item in conditional_fields(entity).items() if name in fields}
        self.placeholders = placeholders
        self.problems: list[Invalid] = []
        self.count = 0

    def equalities(self, raw: object, path: str) -> Filter:
        """``{field: value}``: all of them hold."""
        items = []
        for name, value in cast(Mapping[str, object], raw).items():
            self.count += 1
            here = f"{path}.{str(name)[:100]}"
            item = self._field(name, here)
            if item is not None and self.count <= MOST:
                items.append(Condition(item.name, "=", self._checked(item, "=", value, here)))
        return Group("and", tuple(items))

    def tree(self, raw: object, path: str, depth: int) -> Filter:
        if not isinstance(raw, Mapping):
            return self._wrong("input.type", path, expected='{"property", "operator", "value"}')
        if depth > DEEPEST:
            return self._wrong("input.too_deep", path, limit=DEEPEST)
        if self.count > MOST:
            return NOTHING
        return self._group(raw, path, depth) if "filters" in raw else self._condition(raw, path)

    def _group(self, raw: Mapping[str, object], path: str, depth: int) -> Filter:
        self._no_others(raw, ("operator", "filters"), path)
        junction, items = raw.get("operator"), raw["filters"]
        if junction not in ("and", "or"):
            return self._wrong("input.choice", f"{path}.operator", value=str(junction or "")[:40], allowed="and, or")
        if not isinstance(items, list | tuple):
            return self._wrong("input.type", f"{path}.filters", expected="[…]")
        found = tuple(
            self.tree(item, f"{path}.filters.{place}", depth + 1) for place, item in enumerate(items[: MOST + 1])
        )
        self.count += max(0, len(items) - MOST)
        return Group("and" if junction == "and" else "or", found)

    def _condition(self, raw: Mapping[str, object], path: str) -> Filter:
        self.count += 1
        self._no_others(raw, ("property", "operator", "value"), path)
        item = self._field(raw.get("property"), f"{path}.property")
        operator = raw.get("operator")
        allowed = [one for one in OPERATORS if one != "like" or item is None or _type(self.entity, item.name) is str]
        if not isinstance(operator, str) or operator not in allowed:
            given = operator[:40] if isinstance(operator, str) else ""
            return self._wrong("input.choice", f"{path}.operator", value=given, allowed=", ".join(allowed))
        if "value" not in raw:
            return self._wrong("input.required", f"{path}.value")
        if item is None:
            return NOTHING
        return Condition(item.name, operator, self._checked(item, operator, raw["value"], f"{path}.value"))

    def _field(self, name: object, path: str) -> Field | None:
        item = self.fields.get(name) if isinstance(name, str) else None
        if item is None:
            self._wrong("input.unknown_field", path, field=name[:100] if isinstance(name, str) else "")
        return item

    def _checked(self, item: Field, operator: Operator, value: object, path: str) -> object:
        try:
            return self._value(item, operator, value, path)
        except Invalid as problem:
            self.problems.append(problem)
            return None

    def _value(self, item: Field, operator: Operator, value: object, path: str) -> object:
        if operator == "in" and _placeholder_name(value) == "roles":
            return self._one(item, operator, value, path)
        if operator in ("in", "between"):
            return self._several(item, operator, value, path)
        if value is None and operator in ("=", "!="):
            return None
        return self._one(item, operator, value, path)

    def _several(self, item: Field, operator: Operator, value: object, path: str) -> tuple[object, ...]:
        if not isinstance(value, list | tuple) or (operator == "between" and len(value) != 2):
            raise Invalid("input.type", path=path, expected="[…, …]" if operator == "between" else "[…]")
        if len(value) > LONGEST:
            raise Invalid("input.too_many", path=path, limit=LONGEST)
        each: Operator = "=" if operator == "in" else ">="
        return tuple(self._one(item, each, one, f"{path}.{place}") for place, one in enumerate(value))

    def _one(self, item: Field, operator: Operator, value: object, path: str) -> object:
        python_type = _type(self.entity, item.name)
        name = _placeholder_name(value)
        if name is not None:
            return self._placeholder(item, operator, name, path)
        if value is None:
            raise Invalid("input.required", path=path)
        if operator == "like":
            return read_pattern(item, value, path)
        exact = operator in ("=", "!=")
        return read_scalar(item, cast(type, python_type), value, path, choices=item.choices if exact else ())

    def _placeholder(self, item: Field, operator: Operator, name: str, path: str) -> Placeholder:
        """The actor's id is the login in a field that holds logins; roles are a list, hence only for ``in``."""
        if name == "id" and item.kind == "login":
            name = "login"
        fits = PLACEHOLDER_TYPES.get(name) is _type(self.entity, item.name) and operator != "like"
        if not self.placeholders or not fits or (name == "roles") != (operator == "in"):
            raise Invalid("input.type", path=path, expected=item.kind)
        return Placeholder(cast(PlaceholderName, name))

    def _no_others(self, raw: Mapping[str, object], known: Collection[str], path: str) -> None:
        for name in raw:
            if name not in known:
                self._wrong("input.unknown_field", f"{path}.{str(name)[:100]}", field=str(name)[:100])

    def _wrong(self, code: str, path: str, **values: object) -> Filter:
        self.problems.append(Invalid(code, path=path, fields=(), **values))
        return NOTHING


def _placeholder_name(value: object) -> str | None:
    """The name in ``{"actor": name}``; empty for a malformed one, None for a value that is no object."""
    if not isinstance(value, Mapping):
        return None
    name = value.get("actor")
    return name if isinstance(name, str) and len(value) == 1 else ""
