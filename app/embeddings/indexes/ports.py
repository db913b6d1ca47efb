"""What finds the nearest passages of a question: pgvector, or Elasticsearch with PostgreSQL looking at every hit.

`tests/contracts/test_passage_index.py` runs on both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from app.core.contracts.conditions import Filter
from app.core.contracts.vectors import Leave, PassageHit


@dataclass(frozen=True)
class Target:
    """Where to look: the serving space and its shape."""

    space_id: int
    dimensions: int
    similarity: str


@dataclass(frozen=True)
class Rows:
    """The row filter of one entity, as the tree that was asked and as a condition on `search_documents`."""

    tree: Filter | None
    condition: ColumnElement[bool]


@dataclass(frozen=True)
class Lookup:
    """What is near ``vector`` among the rows of each entity in ``scope``: ``window`` records, or single passages.

    ``locale`` restricts records to those that have that translation; all of their passages compete. ``leave``: what the
    leg may take, and where it is noted that another engine stood in.
    """

    target: Target
    vector: Sequence[float]
    scope: Mapping[str, Rows]
    locale: str | None
    window: int
    leave: Leave | None = None

    def seconds(self) -> float | None:
        """What an engine beside the database may take now; None: as long as each request to it may."""
        return None if self.leave is None else self.leave.seconds()


class PassageIndex(Protocol):
    """Finds records by their passages."""

    def settings(self, space_id: int, window: int) -> str:
        """Statements that :meth:`nearest` begins with on PostgreSQL, unless its transaction began with them."""
        ...

    def nearest(self, session: Session, lookup: Lookup) -> list[PassageHit]:
        """The best passage of each of the best records, best first, ties by entity and id.

        Raises :class:`app.core.errors.Unavailable` when it can't answer.
        """
        ...
