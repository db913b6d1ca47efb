"""Statements that are kept by the conditions in them: to put one together takes longer than to run it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Select
from sqlalchemy.orm import Session

from app.core.prepared_store import Prepared, prepared
from app.core.recent import Recent

Statement = TypeVar("Statement")

_KEPT: Recent[Hashable, tuple[Any, ColumnElement[bool]]] = Recent(1024)
"""Conditions are kept with their statement, so that no others can have the same ``id`` meanwhile."""


def statement_of(conditions: ColumnElement[bool], make: Callable[..., Statement], *shape: Hashable) -> Statement:
    """``make(conditions, *shape)``, made once for the same conditions and shape; what differs by question is bound."""
    key = (id(conditions), make, shape)
    statement: Statement = _KEPT.of(key, lambda: (make(conditions, *shape), conditions))[0]
    return statement


def prepared_of(
    session: Session, conditions: ColumnElement[bool], make: Callable[..., Select[*tuple[Any, ...]]], *shape: Hashable
) -> Prepared:
    """As :func:`statement_of`, compiled: for what each search sends."""
    key = ("prepared", id(conditions), make, shape)
    found: Prepared = _KEPT.of(key, lambda: (prepared(session.connection(), make(conditions, *shape)), conditions))[0]
    return found
