"""Which columns a list of records has: the person's own choice and order, else the entity's."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from flask_babel import gettext as _
from werkzeug.datastructures import MultiDict

from app.core.access.conditions import SYSTEM_FIELDS
from app.core.crud.query import sortable
from app.core.registry import Entity, Field

LAST = "updated_at"
"""Ends the columns of an entity whose columns nobody chose."""


def possible(entity: Entity, readable: Collection[str]) -> dict[str, Field]:
    """Every column that the person could show: what a list can be ordered by, the title first."""
    found = sortable(entity, readable)
    order = sorted(found, key=lambda name: (name != entity.title_field, name in SYSTEM_FIELDS))
    return {name: found[name] for name in order}


def default_columns(entity: Entity, readable: Collection[str]) -> list[str]:
    """The entity's listed fields and the last change."""
    known = possible(entity, readable)
    listed = [item.name for item in entity.fields if item.listed and item.name in known]
    return [*listed, *(name for name in (LAST,) if name in known and name not in listed)]


def primary(columns: Sequence[str], entity: Entity) -> str:
    """The column that leads to the record: the title, else the first one."""
    return entity.title_field if entity.title_field in columns else columns[0]


def columns_form(entity: Entity, shown: Sequence[str], readable: Collection[str]) -> list[dict[str, object]]:
    """The rows of the form: the columns that are shown in their order, then the others."""
    known = possible(entity, readable)
    order = [*shown, *(name for name in known if name not in shown)]
    fixed = entity.title_field if entity.title_field in known else None
    return [
        {
            "name": name,
            "label": _(known[name].label),
            "shown": name in shown,
            "fixed": name == fixed,
            "up": name in shown and place > 0,
            "down": name in shown and place < len(shown) - 1,
        }
        for place, name in enumerate(order)
    ]


def read_columns(entity: Entity, sent: MultiDict[str, str], readable: Collection[str]) -> list[str]:
    """What the form sent: ``order`` are all rows, ``column`` the ticked ones, ``up`` or ``down`` the one to move."""
    known = possible(entity, readable)
    ticked = set(sent.getlist("column"))
    found = [name for name in dict.fromkeys(sent.getlist("order")) if name in known and name in ticked]
    if entity.title_field in known and entity.title_field not in found:
        found.insert(0, entity.title_field)
    for name, step in ((sent.get("up"), -1), (sent.get("down"), 1)):
        if name in found:
            place = found.index(name)
            other = min(max(place + step, 0), len(found) - 1)
            found[place], found[other] = found[other], found[place]
    return found
