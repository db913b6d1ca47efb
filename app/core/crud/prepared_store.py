"""Prepared statements of lists and records, kept by what they depend on: two people with the same rules share one, and
nobody gets another's."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from sqlalchemy import Connection, Select

from app.core.prepared_store import Prepared, prepared
from app.core.recent import Recent

KEPT = 1_000
"""Statements that a process keeps; the least recently used go first."""


class Statements:
    """Keeps prepared statements by what they depend on. Threads share it."""

    def __init__(self, kept: int = KEPT) -> None:
        self._found: Recent[Hashable, Prepared] = Recent(kept)

    def get(self, connection: Connection, key: Hashable, build: Callable[[], Select[Any]]) -> Prepared:
        """The statement of ``key``, built when it is not there. A key with a value that can't be hashed is not kept."""
        return self._found.of(key, lambda: prepared(connection, build()))


STATEMENTS = Statements()
