"""The filters of a list of records: from the address, from the form that adds one, and in words.

Each ``filter`` of the address is one condition or group as the API takes it, and one chip; all of them hold.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from flask_babel import gettext as _

from app.core.access.conditions import conditional_fields, read_filter, write_filter
from app.core.contracts.conditions import Condition, Filter, Group
from app.core.errors import Invalid
from app.core.messages import N_
from app.core.registry import Entity, Field
from app.web.filters import moment
from app.web.record_words import WORDS, from_form, word

OPERATORS: Mapping[str, str] = {
    "=": N_("is"),
    "!=": N_("is not"),
    "contains": N_("contains"),
    "begins": N_("begins with"),
    "in": N_("is one of"),
    "between": N_("is between"),
    ">=": N_("is at least"),
    "<=": N_("is at most"),
    ">": N_("is above"),
    "<": N_("is below"),
    "empty": N_("is empty"),
    "filled": N_("is not empty"),
}
"""What the form offers. ``contains`` and ``begins`` are patterns; ``empty`` and ``filled`` compare with null or an
empty text."""
LIKE = N_("is like")
INSTANT_OPERATORS: Mapping[str, str] = {
    ">=": N_("is from"), "<=": N_("is until"), ">": N_("is after"), "<": N_("is before"),
}  # fmt: skip
"""How comparisons of instants are called."""
_PATTERN = re.compile(r"(%?)((?:[^%_\\]|\\.)*)%", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def read_filters(entity: Entity, raw: Iterable[str], readable: Collection[str]) -> tuple[Filter, ...]:
    """The filters of an address. One that is an ``and`` counts as its parts. Raises :class:`Invalid`."""
    found: list[Filter] = []
    for text in raw:
        if not text.strip():
            continue
        try:
            tree = read_filter(entity, json.loads(text), "filter", fields=readable)
        except (ValueError, RecursionError):
            raise Invalid("input.invalid", fields=[Invalid("input.json", path="filter")]) from None
        found += tree.items if isinstance(tree, Group) and tree.junction == "and" else [tree]
    return tuple(dict.fromkeys(found))


def write_one(tree: Filter) -> str:
    """A filter as it stands in an address."""
    return json.dumps(write_filter(tree), ensure_ascii=False, separators=(",", ":"))


def together(filters: Sequence[Filter]) -> dict[str, object]:
    """All of them as one filter of the API; empty without any."""
    if not filters:
        return {}
    return write_filter(filters[0] if len(filters) == 1 else Group("and", tuple(filters)))


def fields_to_filter(entity: Entity, readable: Collection[str]) -> list[Field]:
    """The fields that a condition may name and the person may read, the entity's own before the system's."""
    known = {name: item for name, item in conditional_fields(entity).items() if name in readable}
    own = [item for item in entity.fields if item.name in known]
    return [*own, *(item for name, item in known.items() if all(name != other.name for other in own))]


def added(entity: Entity, args: Mapping[str, str], readable: Collection[str]) -> Filter:
    """The condition that the form adds, from ``field``, ``operator`` and ``value``.

    Raises :class:`Invalid` with one error at ``field``, ``operator`` or ``value``.
    """
    item = next((one for one in fields_to_filter(entity, readable) if one.name == args.get("field")), None)
    operator = args.get("operator", "=")
    if item is None:
        raise Invalid("input.invalid", fields=[Invalid("input.wrong", path="field")])
    if operator not in OPERATORS:
        raise Invalid("input.invalid", fields=[Invalid("input.wrong", path="operator")])
    text = args.get("value", "").strip()
    if not text and operator not in ("empty", "filled"):
        raise Invalid("input.invalid", fields=[Invalid("input.required", path="value")])
    try:
        return read_filter(entity, _condition(entity, item, operator, text), "new", fields=readable)
    except Invalid as refused:
        first = refused.fields[0]
        place = "operator" if str(first.path).endswith("operator") else "value"
        raise Invalid("input.invalid", fields=[Invalid(first.code, path=place, fields=(), **first.values)]) from None


def _condition(entity: Entity, item: Field, operator: str, text: str) -> dict[str, object]:
    value: object
    if operator in ("empty", "filled"):
        # A text that can't be null is stored as the empty one.
        nullable = entity.model.__table__.columns[item.name].nullable or item.kind in ("integer", "datetime")
        operator, value = "=" if operator == "empty" else "!=", None if nullable else ""
    elif operator in ("contains", "begins"):
        escaped = re.sub(r"([%_\\])", r"\\\1", text)
        value = f"%{escaped}%" if operator == "contains" else f"{escaped}%"
        operator = "like"
    elif operator in ("in", "between"):
        value = [_typed(item, part) for part in text.split(",") if part.strip()]
    else:
        value = _typed(item, text)
    return {"property": item.name, "operator": operator, "value": value}


def _typed(item: Field, text: str) -> object:
    """A choice may be named by its word; an instant is in the person's zone."""
    text = text.strip()
    if item.kind == "choice":
        return next((code for code in item.choices if text.casefold() in (code, word(code).casefold())), text)
    found = from_form(item, text)
    return found.isoformat() if isinstance(found, datetime) else found


def in_words(entity: Entity, tree: Filter) -> tuple[str, str]:
    """(what it is about, the rest) of a filter: a field's label with its comparison, or a group as one sentence."""
    if isinstance(tree, Group):
        return str(_("Conditions")), _sentence(entity, tree)
    item = conditional_fields(entity).get(tree.field)
    label = str(_(item.label)) if item else tree.field
    return label, f"{_operator_word(item, tree)} {_value_words(item, tree)}".strip()


def _sentence(entity: Entity, tree: Filter, inside: bool = False) -> str:
    if isinstance(tree, Condition):
        return " ".join(in_words(entity, tree))
    between = f" {_('and') if tree.junction == 'and' else _('or')} "
    text = between.join(_sentence(entity, item, True) for item in tree.items)
    if not tree.items:
        text = str(_("everything") if tree.junction == "and" else _("nothing"))
    return f"({text})" if inside and len(tree.items) > 1 else text


def _operator_word(item: Field | None, condition: Condition) -> str:
    name: str = condition.operator
    if condition.value in (None, "") and name in ("=", "!="):
        name = "empty" if condition.operator == "=" else "filled"
    if name == "like":
        found = _PATTERN.fullmatch(str(condition.value))
        return str(_(OPERATORS["contains" if found[1] else "begins"])) if found else str(_(LIKE))
    instants = INSTANT_OPERATORS if item is not None and item.kind == "datetime" else {}
    return str(_(instants.get(name, OPERATORS[name])))


def _value_words(item: Field | None, condition: Condition) -> str:
    value = condition.value
    if value is None:
        return ""
    if isinstance(value, tuple):
        joined = f" {_('and')} " if condition.operator == "between" else ", "
        return joined.join(_one(item, part) for part in value)
    if condition.operator == "like":
        found = _PATTERN.fullmatch(str(value))
        return _ESCAPED.sub(r"\1", found[2]) if found else str(value)
    return _one(item, value)


def _one(item: Field | None, value: object) -> str:
    if isinstance(value, datetime):
        return moment(value, "short")
    is_choice = item is not None and item.kind == "choice"
    return word(str(value)) if is_choice and value in WORDS else str(value)
