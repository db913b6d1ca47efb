"""Condition trees as Elasticsearch filters: the meaning is that of `core/access/policy.py`, tree for tree.

Whoever asks has compiled the tree to SQL first, which refuses unknown fields and unfit values. What the index can't
answer (a long text) lets every row through and says so: the rows are checked in PostgreSQL afterwards in any case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from app.core.contracts.conditions import Condition, Filter
from app.core.elasticsearch.fields import stored

Query = dict[str, Any]
ALL: Query = {"match_all": {}}
NONE: Query = {"match_none": {}}
_ESCAPED = re.compile(r"\\(.)|([%_])|(.)", re.DOTALL)
_SPECIAL = frozenset("*?\\")


@dataclass
class Compiler:
    """Compiles the trees of one entity for the texts of one locale.

    ``fields`` are in the index; ``locale`` stands for the document's own column of that name where the record has none.
    ``exact`` turns false when a condition could not be asked.
    """

    entity: str
    locale: str
    fields: Collection[str]
    record_fields: Collection[str]
    exact: bool = True

    def __call__(self, tree: Filter | None) -> Query:
        """The filter; :data:`ALL` and :data:`NONE` are folded away inside groups."""
        if tree is None:
            return ALL
        if isinstance(tree, Condition):
            return self._condition(tree)
        parts = [self(item) for item in tree.items]
        if tree.junction == "and":
            return both(parts)
        return either(parts)

    def _condition(self, condition: Condition) -> Query:
        name = condition.field
        if name in self.record_fields:
            if name in self.fields:
                return compared(f"fields.{name}", condition)
            self.exact = False
            return ALL
        if name == "record_id":
            return compared("record_id", condition)
        return ALL if holds({"entity": self.entity, "locale": self.locale}.get(name), condition) else NONE


def both(parts: Collection[Query]) -> Query:
    """All of ``parts``."""
    if NONE in parts:
        return NONE
    kept = [part for part in parts if part != ALL]
    return {"bool": {"filter": kept}} if kept else ALL


def either(parts: Collection[Query]) -> Query:
    """Any of ``parts``."""
    if ALL in parts:
        return ALL
    kept = [part for part in parts if part != NONE]
    return {"bool": {"should": kept, "minimum_should_match": 1}} if kept else NONE


def compared(field: str, condition: Condition) -> Query:
    """One comparison with a field of the index; a record without a value matches ``= null`` only."""
    value: Any = condition.value
    present: Query = {"exists": {"field": field}}
    if value is None:
        without: Query = {"bool": {"must_not": [present]}}
        return {"=": without, "!=": present}.get(condition.operator, NONE)
    return _COMPARE[condition.operator](field, value)


def _range(**bounds: Any) -> Query:
    return {name: stored(value) for name, value in bounds.items()}


def _between(field: str, ends: Any) -> Query:
    low, high = ends
    return NONE if low is None or high is None else {"range": {field: _range(gte=low, lte=high)}}


def _several(field: str, values: Any) -> Query:
    kept = [stored(value) for value in values if value is not None]
    return {"terms": {field: kept}} if kept else NONE


def _other(field: str, value: Any) -> Query:
    return {"bool": {"filter": [{"exists": {"field": field}}], "must_not": [{"term": {field: stored(value)}}]}}


_COMPARE: Mapping[str, Callable[[str, Any], Query]] = {
    "=": lambda field, value: {"term": {field: stored(value)}},
    "!=": _other,
    ">": lambda field, value: {"range": {field: _range(gt=value)}},
    ">=": lambda field, value: {"range": {field: _range(gte=value)}},
    "<": lambda field, value: {"range": {field: _range(lt=value)}},
    "<=": lambda field, value: {"range": {field: _range(lte=value)}},
    "like": lambda field, value: {"wildcard": {field: {"value": wildcard(value)}}},
    "in": _several,
    "between": _between,
}


def wildcard(pattern: str) -> str:
    """A ``like`` pattern as one of Elasticsearch: ``%`` is ``*``, ``_`` is ``?``, signs that mean something escaped."""

    def exchanged(found: re.Match[str]) -> str:
        escaped, joker, plain = found.groups()
        if joker:
            return "*" if joker == "%" else "?"
        return verbatim(escaped or plain)

    return _ESCAPED.sub(exchanged, pattern)


def verbatim(text: str) -> str:
    """``text`` inside a wildcard pattern, meaning itself."""
    return "".join(f"\\{sign}" if sign in _SPECIAL else sign for sign in text)


def holds(own: str | None, condition: Condition) -> bool:
    """A comparison with a value that is known already: the text's own locale or entity."""
    value: Any = condition.value
    if own is None:
        return False
    if value is None:
        return condition.operator == "!="
    return _HOLDS[condition.operator](own, value)


def _like(own: str, pattern: str) -> bool:
    parts = [
        re.escape(escaped or plain) if not joker else ".*" if joker == "%" else "."
        for escaped, joker, plain in _ESCAPED.findall(pattern)
    ]
    return re.fullmatch("".join(parts), own, re.DOTALL) is not None


_HOLDS: Mapping[str, Callable[[str, Any], bool]] = {
    "=": lambda own, value: own == value,
    "!=": lambda own, value: own != value,
    ">": lambda own, value: own > value,
    ">=": lambda own, value: own >= value,
    "<": lambda own, value: own < value,
    "<=": lambda own, value: own <= value,
    "like": _like,
    "in": lambda own, values: own in values,
    "between": lambda own, ends: None not in ends and ends[0] <= own <= ends[1],
}
