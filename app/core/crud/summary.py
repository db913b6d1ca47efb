"""A list's records counted and reckoned in groups: reading the ask (pure), and answering it in the caller's unit.

Groups and figures stand on fields that the actor may read, over the rows that the actor reaches.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal, get_args

from app.core.access.conditions import conditional_fields
from app.core.access.policy import visible
from app.core.contracts.actor import Actor
from app.core.crud import summary_store
from app.core.crud.query import Ask
from app.core.crud.service import Records, ability_of
from app.core.errors import ChangeoverError, Invalid
from app.core.registry import Entity, Field
from app.core.unit import Unit

Function = Literal["sum", "avg", "min", "max"]
FUNCTIONS: tuple[Function, ...] = get_args(Function)
FITTING: Mapping[Function, frozenset[str]] = {
    "sum": frozenset({"integer"}),
    "avg": frozenset({"integer"}),
    "min": frozenset({"integer", "datetime"}),
    "max": frozenset({"integer", "datetime"}),
}
"""Kinds of fields that each function reckons with."""
MOST_GROUPS, MOST_FIELDS, MOST_METRICS = 1_000, 2, 10
_METRIC = re.compile(r"([a-z]+)\(([a-z_]{1,60})\)")

Figure = int | float | str | None


@dataclass(frozen=True)
class Metric:
    """One figure of each group, named ``function(field)``."""

    function: Function
    field: str

    @property
    def name(self) -> str:
        return f"{self.function}({self.field})"


@dataclass(frozen=True)
class Bucket:
    """One group: the fields' values (empty without grouping), how many records, and the figures by name."""

    group: Mapping[str, Figure]
    count: int
    metrics: Mapping[str, Figure]


@dataclass(frozen=True)
class Summary:
    """Groups, the largest first. ``truncated``: there are more than :data:`MOST_GROUPS`, and the smallest are left
    out; ``total`` counts the records of all groups."""

    buckets: tuple[Bucket, ...]
    total: int
    aggregated: int
    truncated: bool


class Summaries:
    """Reads only."""

    def __init__(self, records: Records) -> None:
        self.records = records

    def summarize(self, unit: Unit, actor: Actor, name: str, raw: Mapping[str, object]) -> Summary:
        """``raw`` has ``group_by`` (up to two fields) and ``metrics`` (``sum(number),max(created_at)``), and ``q``,
        ``filter`` and ``deleted`` of a list. Raises :class:`Invalid` with the path of everything that is wrong."""
        plain = {key: value for key, value in raw.items() if key not in ("group_by", "metrics")}
        entity, ask = self.records.ask(actor, name, plain)
        groups, metrics = read_grouping(entity, ask, raw)
        rows = visible(entity, actor, ability_of(ask))
        figures = [(metric.function, metric.field) for metric in metrics]
        found, total = summary_store.summarize(unit.session, entity, ask, rows, groups, figures, MOST_GROUPS)
        buckets = tuple(
            Bucket(
                group={name: _figure(value) for name, value in zip(groups, keys, strict=True)},
                count=count,
                metrics={metric.name: _figure(value) for metric, value in zip(metrics, values, strict=True)},
            )
            for keys, count, values in found[:MOST_GROUPS]
        )
        aggregated = sum(bucket.count for bucket in buckets)
        return Summary(buckets, total, aggregated, len(found) > MOST_GROUPS)


def read_grouping(entity: Entity, ask: Ask, raw: Mapping[str, object]) -> tuple[list[str], list[Metric]]:
    """The fields to group by and the figures. Raises :class:`Invalid`."""
    known = {name: item for name, item in conditional_fields(entity).items() if name in ask.searched}
    problems: list[ChangeoverError] = []
    groups = _names(raw.get("group_by"))
    for name in groups:
        if name not in known or known[name].kind == "text":
            problems.append(Invalid("input.unknown_field", path="group_by", field=name[:100]))
    if len(groups) > MOST_FIELDS:
        problems.append(Invalid("input.too_many", path="group_by", limit=MOST_FIELDS))
    wanted = _names(raw.get("metrics"))
    if len(wanted) > MOST_METRICS:
        problems.append(Invalid("input.too_many", path="metrics", limit=MOST_METRICS))
    metrics = [found for text in wanted[:MOST_METRICS] if (found := _metric(text, known, problems)) is not None]
    if problems:
        raise Invalid("input.invalid", fields=problems)
    return groups, metrics


def _names(raw: object) -> list[str]:
    """Comma-separated names, each once; ``count`` is always told and needs no naming."""
    names = [part.strip() for part in str(raw or "").split(",") if part.strip()]
    return [name for name in dict.fromkeys(names) if name != "count"]


def _metric(text: str, known: Mapping[str, Field], problems: list[ChangeoverError]) -> Metric | None:
    found = _METRIC.fullmatch(text)
    function = next((one for one in FUNCTIONS if found and one == found[1]), None)
    if found is None or function is None:
        expected = "count, sum(field), avg(field), min(field), max(field)"
        problems.append(Invalid("input.type", path="metrics", expected=expected))
        return None
    item = known.get(found[2])
    if item is None:
        problems.append(Invalid("input.unknown_field", path="metrics", field=found[2]))
    elif item.kind not in FITTING[function]:
        problems.append(Invalid("input.choice", path="metrics", value=text, allowed=_fitting(function, known.values())))
    else:
        return Metric(function, item.name)
    return None


def _fitting(function: Function, known: Collection[Field]) -> str:
    return ", ".join(f"{function}({item.name})" for item in known if item.kind in FITTING[function])


def _figure(value: object) -> Figure:
    """As JSON: a sum is a whole number however large, a mean is rounded to six digits after the point."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else round(float(value), 6)
    return value if isinstance(value, int | float | str) else None
