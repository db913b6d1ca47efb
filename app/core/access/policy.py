"""Which rows and fields an actor reaches, as SQL: the one place where row rules become conditions.

Everybody asks here: lists, details, writes, exports, counts, search and its hydration. The semantics are decided in
`docs/adr/0011-row-rules.md`. A condition here may be NULL instead of false: it belongs into ``WHERE`` and ``EXISTS``,
and is never negated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import ColumnElement, SQLColumnExpression, and_, collate, exists, false, or_, true

from app.core.access.conditions import SYSTEM_FIELDS, conditional_fields
from app.core.access.values import ends_in_escape
from app.core.contracts.actor import Actor
from app.core.contracts.conditions import Condition, Filter, Operator
from app.core.errors import Invalid
from app.core.registry import Ability, Entity, Registry

WRITES: tuple[Ability, ...] = ("insert", "update")


def predicate(entity: Entity, tree: Filter | None) -> ColumnElement[bool]:
    """The tree as a condition on the entity's mapped class; None lets everything through.

    Raises :class:`Invalid` for a field that no condition may name and for a value of another type.
    """
    return compiled(tree, condition_columns(entity))


def visible(entity: Entity, actor: Actor, ability: Ability = "select") -> ColumnElement[bool]:
    """The rows that ``ability`` reaches, on the mapped class: false without the permission.

    Whoever may not see a row can't change it: the rules of ``select`` hold for every ability. For a write ask it of
    the row before (the statement's ``WHERE``) and of the row after (``USING`` and ``WITH CHECK``).
    """
    parts = [getattr(entity.model, name) == value for name, value in entity.visible.items()]
    for permission in dict.fromkeys((entity.permission("select"), entity.permission(ability))):
        if not actor.may(permission):
            return false()
        parts.append(predicate(entity, actor.rows_for(permission)))
    return and_(true(), *parts)


def readable(entity: Entity, actor: Actor) -> frozenset[str]:
    """The names of the fields whose values the actor may see, filter and sort by; the system's own are among them."""
    if not actor.may(entity.permission("select")):
        return frozenset()
    declared = frozenset(item.name for item in entity.fields)
    return (declared & actor.readable.get(entity.name, declared)) | frozenset(SYSTEM_FIELDS)


def writable(entity: Entity, actor: Actor) -> frozenset[str]:
    """The names of the fields that the actor may set in a record, translated ones too."""
    if not entity.editable or not any(actor.may(entity.permission(ability)) for ability in WRITES):
        return frozenset()
    declared = frozenset(item.name for item in entity.fields if item.editable)
    return declared & actor.writable.get(entity.name, declared)


def records_of_many(
    actor: Actor, registry: Registry, entity_column: SQLColumnExpression[Any], id_column: SQLColumnExpression[Any]
) -> ColumnElement[bool]:
    """Rows of a table about records of many entities (audit, approvals) whose record the actor may see.

    An entity all of whose rows are the actor's is matched by its name alone, so that rows about records that are gone
    for good are seen; else the record must be there and pass.
    """
    return or_(
        false(),
        *(
            and_(
                entity_column == entity.name, permitted(entity, actor.rows_for(entity.permission("select")), id_column)
            )
            for entity in registry
            if actor.may(entity.permission("select"))
        ),
    )


def permitted(entity: Entity, tree: Filter | None, id_column: SQLColumnExpression[Any]) -> ColumnElement[bool]:
    """Whether the record of ``entity`` with the id in ``id_column`` (of an enclosing query) passes ``tree``."""
    if tree is None:
        return true()
    return exists().where(entity.model.id == id_column, predicate(entity, tree)).correlate_except(entity.model)


def condition_columns(entity: Entity) -> dict[str, ColumnElement[Any]]:
    """The columns of the mapped class that a condition may name."""
    return {name: getattr(entity.model, name) for name in conditional_fields(entity)}


def compiled(tree: Filter | None, columns: Mapping[str, ColumnElement[Any]]) -> ColumnElement[bool]:
    """The tree over the named columns; see :func:`predicate`."""
    if tree is None:
        return true()
    if isinstance(tree, Condition):
        return _condition(tree, columns)
    parts = [compiled(item, columns) for item in tree.items]
    return and_(true(), *parts) if tree.junction == "and" else or_(false(), *parts)


def _condition(condition: Condition, columns: Mapping[str, ColumnElement[Any]]) -> ColumnElement[bool]:
    column = columns.get(condition.field)
    if column is None:
        raise Invalid("input.unknown_field", path=condition.field, field=condition.field)
    if not _fits(column, condition):
        expected = f"{condition.operator} {column.type.python_type.__name__}"
        raise Invalid("input.type", path=condition.field, expected=expected)
    if condition.value is None:
        # NULL matches `= null` only; `!= null` is every value, and no value is above or below it.
        nothing = {"=": column.is_(None), "!=": column.is_not(None)}
        return nothing.get(condition.operator, false())
    return _COMPARE[condition.operator](column, condition.value)


def _several(column: Any, values: Any) -> ColumnElement[bool]:
    return column.in_([value for value in values if value is not None])  # type: ignore[no-any-return]


def _between(column: Any, ends: Any) -> ColumnElement[bool]:
    low, high = ends
    if low is None or high is None:
        return false()
    # In two comparisons: PostgreSQL's grammar takes no COLLATE behind BETWEEN.
    return and_(_ordered(column) >= low, _ordered(column) <= high)


def _ordered(column: Any) -> Any:
    """Texts in the order of code points, whatever the database's collation is (`core.md`, Row ACL)."""
    return collate(column, "C") if column.type.python_type is str else column


_COMPARE: Mapping[Operator, Callable[[Any, Any], ColumnElement[bool]]] = {
    "=": lambda column, value: column == value,
    "!=": lambda column, value: column != value,
    ">": lambda column, value: _ordered(column) > value,
    ">=": lambda column, value: _ordered(column) >= value,
    "<": lambda column, value: _ordered(column) < value,
    "<=": lambda column, value: _ordered(column) <= value,
    "like": lambda column, value: _ordered(column).like(value),
    "in": _several,
    "between": _between,
}


def _fits(column: Any, condition: Condition) -> bool:
    operator, value = condition.operator, condition.value
    if operator not in _COMPARE:
        return False
    if operator in ("in", "between"):
        several = isinstance(value, list | tuple) and all(_fits_type(column, item) for item in value)
        return several and (operator == "in" or len(value) == 2)  # type: ignore[arg-type]
    if operator == "like" and value is not None:
        return isinstance(value, str) and column.type.python_type is str and not ends_in_escape(value)
    return _fits_type(column, value)


def _fits_type(column: Any, value: object) -> bool:
    kind = column.type.python_type
    if kind is float and isinstance(value, int):
        kind = int
    return value is None or (isinstance(value, kind) and (kind is bool or not isinstance(value, bool)))
