"""Statements made once and sent many times: what SQLAlchemy builds and compiles is kept as text with its values.

Building a list's statement costs more than the database needs to answer it (measured: `make bench-crud`). A statement
is kept under everything that it depends on, so two people with the same rules share it and nobody gets another's.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select
from sqlalchemy.orm import Session

from app.core.recent import Recent

KEPT = 1_000
"""Statements that a process keeps; the least recently used go first."""


@dataclass(frozen=True)
class Prepared:
    """A statement as the driver takes it; ``names`` are its columns."""

    sql: str
    values: Mapping[str, Any]
    names: tuple[str, ...]

    def rows(self, session: Session, **values: object) -> list[dict[str, Any]]:
        """All rows by column; ``values`` fill the parameters that were left open."""
        session.flush()
        with session.connection().exec_driver_sql(self.sql, {**self.values, **values}) as found:
            return [dict(zip(self.names, row, strict=True)) for row in found.cursor.fetchall()]


class Statements:
    """Keeps prepared statements by what they depend on. Threads share it."""

    def __init__(self, kept: int = KEPT) -> None:
        self._found: Recent[Hashable, Prepared] = Recent(kept)

    def get(self, connection: Connection, key: Hashable, build: Callable[[], Select[Any]]) -> Prepared:
        """The statement of ``key``, built when it is not there. A key with a value that can't be hashed is not kept."""
        return self._found.of(key, lambda: _prepare(connection, build()))


STATEMENTS = Statements()


def _prepare(connection: Connection, statement: Select[Any]) -> Prepared:
    compiled = statement.compile(dialect=connection.dialect, compile_kwargs={"render_postcompile": True})
    names = tuple(str(column.key) for column in statement.selected_columns)
    return Prepared(str(compiled), dict(compiled.params), names)
