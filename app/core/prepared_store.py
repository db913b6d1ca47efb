"""A statement made once and sent many times: what SQLAlchemy builds and compiles, as the driver takes it.

To build and compile a list's statement costs more than the database needs to answer it (measured: `make bench-crud`),
and to look for the compiled one and to wrap its rows half as much again as to send it (`make bench-search`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select
from sqlalchemy.orm import Session


@dataclass(frozen=True)
class Prepared:
    """A statement as the driver takes it; ``names`` are its columns. Results are as the driver gives them."""

    sql: str
    values: Mapping[str, Any]
    names: tuple[str, ...]

    def tuples(self, session: Session, values: Mapping[str, object]) -> Sequence[tuple[Any, ...]]:
        """All rows; ``values`` fill the parameters that were left open. What the session has not written yet is not
        there."""
        with session.connection().exec_driver_sql(self.sql, {**self.values, **values}) as found:
            rows: Sequence[tuple[Any, ...]] = found.cursor.fetchall()
            return rows

    def rows(self, session: Session, **values: object) -> list[dict[str, Any]]:
        """All rows by column, after what the session had to write."""
        session.flush()
        return [dict(zip(self.names, row, strict=True)) for row in self.tuples(session, values)]


def prepared(connection: Connection, statement: Select[*tuple[Any, ...]]) -> Prepared:
    """Compile a statement. Parameters that are left open are ``bindparam``s with the value None."""
    compiled = statement.compile(dialect=connection.dialect, compile_kwargs={"render_postcompile": True})
    names = tuple(str(column.key) for column in statement.selected_columns)
    return Prepared(str(compiled), dict(compiled.params), names)
