"""The form of a role: what was sent, as `core/access/role_values.py` reads it, and the shape it is drawn in.

A row rule is three fields with the same number: ``rule_permission.N``, ``rule_condition.N`` (JSON), ``rule_note.N``;
one whose condition is blank is no rule. A field rule is a box ``only.<entity>.<ability>`` with boxes
``fields.<entity>.<ability>``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from flask_babel import gettext as _
from werkzeug.datastructures import MultiDict

from app.core.access.conditions import OPERATORS, conditional_fields, write_filter
from app.core.access.permissions import ABILITIES, NAMED, abilities
from app.core.access.role_values import FIELD_ABILITIES, MOST_RULES
from app.core.access.rules import read_rule
from app.core.errors import ChangeoverError, Invalid
from app.core.registry import Entity, Registry
from app.web.access_words import OWN, sentence

Sent = MultiDict[str, str]
ONE_LINE = 100
LIST_OPERATORS = ("in", "between")


def read_form(registry: Registry, sent: Sent) -> dict[str, object]:
    """The role's values as sent. Raises :class:`Invalid` for conditions that are no JSON, at ``row_rules.N``."""
    rules, problems = [], []
    for place, rule in enumerate(typed_rules(sent)):
        try:
            condition = json.loads(str(rule["condition"]))
        except (ValueError, RecursionError) as error:
            line = getattr(error, "lineno", 1)
            problems.append(Invalid("access.condition_json", path=f"row_rules.{place}.condition", line=line))
            continue
        rules.append({**rule, "condition": condition})
    if problems:
        raise Invalid("input.invalid", fields=problems)
    return {
        "description": sent.get("description", ""),
        "permissions": sent.getlist("permissions"),
        "row_rules": rules,
        "field_rules": [
            {"entity": entity.name, "ability": ability, "fields": sent.getlist(f"fields.{entity.name}.{ability}")}
            for entity in registry
            for ability in FIELD_ABILITIES
            if f"only.{entity.name}.{ability}" in sent
        ],
    }


def typed_rules(sent: Sent) -> list[dict[str, object]]:
    """The row rules as typed, in their order; those with a blank condition are left out."""
    found: list[dict[str, object]] = []
    for number in range(MOST_RULES + 1):
        condition = sent.get(f"rule_condition.{number}", "")
        if condition.strip() and f"rule_remove.{number}" not in sent:
            permission, note = sent.get(f"rule_permission.{number}", ""), sent.get(f"rule_note.{number}", "")
            found.append({"permission": permission, "condition": condition, "note": note})
    return found


def built_rule(registry: Registry, sent: Sent) -> dict[str, object]:
    """A rule of one comparison from the fields of the builder; its condition is JSON, ready to be edited."""
    permission, name = sent.get("build_permission", ""), sent.get("build_property", "")
    operator, own = sent.get("build_operator", "="), sent.get("build_own", "")
    entity = registry.get(permission.rpartition(".")[0])
    value: object = {"actor": own} if own else _typed(entity, name, operator, sent.get("build_value", "").strip())
    if own and own != "roles" and operator == "in":
        value = [value]
    condition = {"property": name, "operator": operator, "value": value}
    return {"permission": permission, "condition": json.dumps(condition, ensure_ascii=False), "note": ""}


def _typed(entity: Entity, name: str, operator: str, text: str) -> object:
    if operator in LIST_OPERATORS:
        return [_typed(entity, name, "=", part.strip()) for part in text.split(",") if part.strip()]
    if not text:
        return None
    known = conditional_fields(entity).get(name)
    is_number = known is not None and known.kind == "integer" and text.removeprefix("-").isdecimal()
    return int(text) if is_number else text


def matrix(registry: Registry, granted: Sequence[str]) -> list[dict[str, Any]]:
    """A row per entity: label, name and its boxes in the order of the abilities (None where there is none)."""
    rows = []
    for entity in registry:
        possible = abilities(entity)
        boxes = [
            {
                "value": entity.permission(ability),
                "column": _(label),
                "label": f"{_(entity.label_plural)}: {_(label)}",
                "checked": entity.permission(ability) in granted,
            }
            if ability in possible
            else None
            for ability, label in ABILITIES.items()
        ]
        rows.append({"name": entity.name, "label": _(entity.label_plural), "boxes": boxes})
    return rows


def named(granted: Sequence[str]) -> list[dict[str, Any]]:
    """The permissions of no record, as boxes."""
    return [{"value": name, "label": _(label), "checked": name in granted} for name, label in NAMED.items()]


def drawn_rules(
    registry: Registry, rules: Sequence[Mapping[str, Any]], errors: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Row rules with their sentence, or with what is wrong with each, path by path."""
    drawn = []
    for place, rule in enumerate(rules):
        condition = rule["condition"]
        text = condition if isinstance(condition, str) else _json(registry, str(rule["permission"]), condition)
        prefix = f"row_rules.{place}."
        wrong = [(path.removeprefix(prefix), said) for path, said in errors.items() if path.startswith(prefix)]
        said = None if wrong else _sentence(registry, str(rule["permission"]), text)
        drawn.append({**rule, "condition": text, "sentence": said, "errors": wrong, "place": place})
    return drawn


def _json(registry: Registry, permission: str, condition: object) -> str:
    """A stored condition as a person would write it: property, operator, value; in one line when it is short."""
    with suppress(ChangeoverError):  # a rule that can't be applied any more is shown as it stands
        condition = write_filter(read_rule(registry, permission, condition))
    text = json.dumps(condition, ensure_ascii=False)
    return text if len(text) <= ONE_LINE else json.dumps(condition, ensure_ascii=False, indent=2)


def _sentence(registry: Registry, permission: str, text: str) -> str | None:
    try:
        tree = read_rule(registry, permission, json.loads(text))
        return sentence(registry.get(permission.rpartition(".")[0]), tree)
    except (ValueError, RecursionError, ChangeoverError):
        return None


def drawn_fields(
    registry: Registry, rules: Sequence[Mapping[str, Any]], errors: Mapping[str, str]
) -> list[dict[str, Any]]:
    """A row per entity that may be edited or read, with the fields that are open for reading and writing."""
    held = {(rule["entity"], rule["ability"]): (place, rule["fields"]) for place, rule in enumerate(rules)}
    labels = {"read": _("Reads only these fields"), "write": _("Writes only these fields")}
    rows = []
    for entity in registry:
        parts = []
        for ability in FIELD_ABILITIES if entity.editable else FIELD_ABILITIES[:1]:
            place, chosen = held.get((entity.name, ability), (None, ()))
            said = [text for path, text in errors.items() if path.startswith(f"field_rules.{place}.")]
            offered = [item for item in entity.fields if item.editable or ability == "read"]
            fields = [(item.name, _(item.label), item.name in chosen) for item in offered]
            key, only = f"{entity.name}.{ability}", place is not None
            parts.append({"key": key, "label": labels[ability], "only": only, "fields": fields, "errors": said})
        rows.append({"label": _(entity.label_plural), "parts": parts, "open": any(part["only"] for part in parts)})
    return rows


def builder(registry: Registry) -> dict[str, Any]:
    """The choices of the builder of a simple condition."""
    properties = [
        (_(entity.label_plural), [(name, _(field.label)) for name, field in conditional_fields(entity).items()])
        for entity in registry
    ]
    return {
        "properties": properties,
        "operators": OPERATORS,
        "own": [(name, _(OWN[name])) for name in OWN if name != "login"],
    }


def rule_permissions(registry: Registry) -> list[tuple[str, list[tuple[str, str]]]]:
    """The permissions that a row rule may be about, grouped by entity."""
    return [
        (_(entity.label_plural), [(entity.permission(one), _(ABILITIES[one])) for one in abilities(entity)])
        for entity in registry
    ]
