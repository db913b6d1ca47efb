"""Row rules evaluated in plain Python, written from `docs/adr/0011-row-rules.md` alone, and how tests draw them.

Nothing of the product is imported here but its clock: what both sides share can't be told apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from hypothesis import strategies as st

from tests.fakes.clock import START

Json = Any
Row = Mapping[str, Any]


@dataclass(frozen=True)
class PlainRole:
    """A role: its permissions and, by permission, the conditions that must all hold."""

    permissions: frozenset[str]
    rules: Mapping[str, Sequence[Json]] = field(default_factory=dict)


@dataclass(frozen=True)
class Who:
    """What placeholders stand for."""

    id: int
    login: str
    tenant: int | None
    locale: str
    roles: tuple[str, ...]


def reaches(row: Row, entity: str, ability: str, roles: Sequence[PlainRole], who: Who) -> bool:
    """Whether some role that grants the ability, and some that grants ``select``, let the row through."""
    return all(_granted(row, f"{entity}.{one}", roles, who) for one in ("select", ability))


def _granted(row: Row, permission: str, roles: Sequence[PlainRole], who: Who) -> bool:
    return any(
        all(passes(row, rule, who) for rule in role.rules.get(permission, ()))
        for role in roles
        if permission in role.permissions
    )


def passes(row: Row, raw: Json, who: Who | None = None) -> bool:
    """Whether a row passes one condition or group."""
    if "filters" in raw:
        found = [passes(row, item, who) for item in raw["filters"]]
        return all(found) if raw["operator"] == "and" else any(found)
    mine, operator, value = row[raw["property"]], raw["operator"], raw["value"]
    if value is None:
        return bool((mine is None) == (operator == "="))
    if mine is None:
        return False
    if operator == "in":
        values = list(who.roles) if who and value == {"actor": "roles"} else [_value(mine, one, who) for one in value]
        return mine in [one for one in values if one is not None]
    if operator == "between":
        low, high = (_value(mine, one, who) for one in value)
        return low is not None and high is not None and bool(low <= mine <= high)
    if operator == "like":
        return is_like(mine, value)
    other = _value(mine, value, who)
    if other is None:
        return False
    held: Mapping[str, bool] = {
        "=": mine == other,
        "!=": mine != other,
        ">": mine > other,
        ">=": mine >= other,
        "<": mine < other,
        "<=": mine <= other,
    }
    return held[operator]


def _value(mine: Any, value: Json, who: Who | None) -> Any:
    """The value in the type of the row's; a placeholder's value; None when the actor has none."""
    if isinstance(value, dict):
        assert who is not None
        name = value["actor"]
        return who.login if name == "id" and isinstance(mine, str) else getattr(who, name)
    if isinstance(mine, datetime):
        found = datetime.fromisoformat(value)
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    return value


def is_like(text: str, pattern: str) -> bool:
    """Whether ``text`` as a whole fits the pattern."""
    if not pattern:
        return not text
    first, rest = pattern[0], pattern[1:]
    if first == "%":
        return any(is_like(text[start:], rest) for start in range(len(text) + 1))
    if not text:
        return False
    if first == "\\":
        return text[0] == rest[0] and is_like(text[1:], rest[1:])
    return (first == "_" or first == text[0]) and is_like(text[1:], rest)


# --- how they are drawn -----------------------------------------------------------------------------------------------

TEXTS = ["", "anna", "Anna", "zoe", "Zoë", "émile", "emile", "50%", "50x", "a_b", "axb", "b\\s", "Ω", "😀", "~", "desk"]
DATES = [START - timedelta(days=days, seconds=1) for days in (1, 2, 400)]
ORDERED = ["=", "!=", ">", ">=", "<", "<="]
PIECES = ["%", "_", "\\%", "\\_", "\\\\", "a", "n", "é", "50", "x"]
ZONES = [UTC, timezone(timedelta(hours=3)), timezone(-timedelta(hours=9, minutes=30))]

numbers = st.integers(1, 8)
dates = st.sampled_from(DATES)
spelt_dates = st.builds(lambda date, zone: date.astimezone(zone).isoformat(), dates, st.sampled_from(ZONES))
pools = st.lists(st.sampled_from(TEXTS), min_size=4, max_size=5, unique=True)
"""The texts of one example: few, so that conditions meet rows."""


def patterns(pool: Sequence[str]) -> st.SearchStrategy[str]:
    """The beginning of a text, plain or not, and anything after it; or any pieces."""
    beginnings = st.sampled_from([text[:2].replace("\\", "\\\\") + "%" for text in pool])
    return beginnings | st.lists(st.sampled_from(PIECES), max_size=4).map("".join)


def rarely_empty(items: st.SearchStrategy[Json], most: int) -> st.SearchStrategy[list[Json]]:
    """One to ``most`` items, now and then none: an empty group or role without a rule decides everything."""
    return st.integers(0, 9).flatmap(lambda dice: st.lists(items, min_size=min(dice, 1), max_size=most))


def conditions(
    fields: Mapping[str, st.SearchStrategy[Json]], pool: Sequence[str], placeholders: bool
) -> st.SearchStrategy[Json]:
    """Nested conditions over ``fields`` (name to values of its type, as JSON) and texts of ``pool``."""
    one = st.one_of(*(_over(name, values, pool, placeholders) for name, values in fields.items()))
    return st.recursive(
        one,
        lambda inner: st.fixed_dictionaries(
            {"operator": st.sampled_from(["and", "or"]), "filters": rarely_empty(inner, 3)}
        ),
        max_leaves=6,
    )


def _over(
    name: str, values: st.SearchStrategy[Json], pool: Sequence[str], placeholders: bool
) -> st.SearchStrategy[Json]:
    def made(operator: str, value: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
        return st.fixed_dictionaries({"property": st.just(name), "operator": st.just(operator), "value": value})

    kinds = [made(operator, values) for operator in ORDERED]
    kinds += [made("=", st.none()), made("!=", st.none())]
    kinds += [made("in", rarely_empty(values, 3)), made("between", st.tuples(values, values).map(sorted))]
    if name in ("author", "category", "key", "subject", "requester", "assignee"):
        kinds.append(made("like", patterns(pool)))
    if placeholders and name in ("author", "requester", "assignee"):
        kinds += [made("=", st.just({"actor": "id"})), made("!=", st.just({"actor": "login"}))]
        kinds.append(made("in", st.just({"actor": "roles"})))
    if placeholders and name == "number":
        kinds += [made(">=", st.just({"actor": "tenant"})), made("in", st.just([1, {"actor": "tenant"}]))]
    if placeholders and name == "locale":
        kinds.append(made("=", st.just({"actor": "locale"})))
    return st.one_of(*kinds)
