"""What the asker narrows a search to beside entity and language: values of declared fields, as facets count them. Pure.

It is one more condition in the filter of each entity, so that it holds for every leg, total, facet and page by the same
way as row rules do. It can only take away: whatever is narrowed to stays inside what the actor may see.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from app.core.contracts.conditions import Condition, Filter, Group
from app.core.errors import Invalid

MOST = 20
VALUE_LIMIT = 200


@dataclass(frozen=True)
class Only:
    """Records of ``entity`` whose ``field`` is ``value``; several of one field are alternatives."""

    entity: str
    field: str
    value: str

    def __str__(self) -> str:
        return f"{self.entity}.{self.field}:{self.value}"


def read_only(texts: Sequence[str]) -> tuple[Only, ...]:
    """From ``module.entity.field:value``, each once. Raises :class:`Invalid` at ``only``."""
    found = []
    for said in texts:
        name, colon, value = said.partition(":")
        entity, dot, field = name.rpartition(".")
        if not (colon and dot and entity and field and value) or len(value) > VALUE_LIMIT:
            raise Invalid("input.type", path="only", expected="sao.tickets.status:open")
        found.append(Only(entity, field, value))
    if len(found) > MOST:
        raise Invalid("input.range", path="only", least=0, most=MOST)
    return tuple(dict.fromkeys(found))


def narrowed(
    scope: Mapping[str, Filter | None], only: Sequence[Only], fields: Mapping[str, Collection[str]]
) -> dict[str, Filter | None]:
    """``scope`` with the conditions of ``only``; entities that none of them names are left out, if there is any.

    ``fields`` are those of each entity that are counted and that the actor may read. Raises :class:`Invalid` at
    ``only`` for another field, which says nothing of whether it exists.
    """
    if not only:
        return dict(scope)
    for one in only:
        if one.field not in fields.get(one.entity, ()) or one.entity not in scope:
            allowed = ", ".join(f"{entity}.{name}" for entity in scope for name in fields.get(entity, ()))
            raise Invalid("input.choice", path="only", value=str(one)[:100], allowed=allowed)
    return {
        entity: _both(scope[entity], _conditions(entity, only))
        for entity in scope
        if any(one.entity == entity for one in only)
    }


def _conditions(entity: str, only: Sequence[Only]) -> tuple[Condition, ...]:
    values: dict[str, list[str]] = {}
    for one in only:
        if one.entity == entity:
            values.setdefault(one.field, []).append(one.value)
    return tuple(Condition(field, "in", tuple(some)) for field, some in values.items())


def _both(tree: Filter | None, conditions: tuple[Condition, ...]) -> Filter:
    return Group("and", conditions if tree is None else (tree, *conditions))
