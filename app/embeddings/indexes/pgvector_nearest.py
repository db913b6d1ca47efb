"""The nearest records from PostgreSQL: through the partial indexes, and read whole where those come back short."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from math import ceil
from operator import itemgetter
from typing import Any

from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from app.core.contracts.vectors import PassageHit
from app.core.recent import Recent
from app.embeddings.indexes import pgvector_query
from app.embeddings.indexes.ports import Lookup, Target

MOST = 16
"""A record of many passages fills a window of them: at most so many times the window is asked for, then all is read."""
NARROW = 1024
"""Filters of which it is remembered that few rows pass."""
SPARE = 1.1
"""What is asked for beyond the share of passages to records that was met before."""


class PgvectorIndex:
    """The :class:`~app.embeddings.indexes.ports.PassageIndex` of PostgreSQL.

    It remembers, by space, how many passages it took lately to see a window of records, and asks for so many at once;
    and which filters left the index short, to read their rows whole at once while they are no more than a window.
    That changes how often it asks and nothing of what is found: a longer scan begins with what the shorter one has, and
    the index is the one that may miss something.
    """

    def __init__(self) -> None:
        self._taken: dict[int, float] = {}
        self._narrow: Recent[tuple[int, str, str | None, int], ColumnElement[bool]] = Recent(NARROW)

    def settings(self, space_id: int, window: int) -> str:
        """See :meth:`app.embeddings.indexes.ports.PassageIndex.settings`."""
        return pgvector_query.settings(_asked(window, self._taken.get(space_id, 1.0)))

    def nearest(self, session: Session, lookup: Lookup) -> list[PassageHit]:
        """See :meth:`app.embeddings.indexes.ports.PassageIndex.nearest`."""
        space = lookup.target.space_id
        keys = {entity: (space, entity, lookup.locale, id(rows.condition)) for entity, rows in lookup.scope.items()}
        narrow = {entity for entity, key in keys.items() if self._narrow.pop(key) is not None}
        search = _Nearest(session, lookup, self._taken.get(space, 1.0), narrow)
        found = search.records()
        self._taken[space] = search.taken
        for entity in search.narrow:  # again, since a scan that takes too long leaves nothing behind
            condition = lookup.scope[entity].condition
            self._narrow.put(keys[entity], condition)  # held, so that no other has the same id
        return found


class _Nearest:
    """One search for records: from the index first, and read whole where that comes back short.

    With 1 % visible rows the index returned 171 of 200, and none when they lie far away (`search-measured.md` 4).
    ``taken``: passages for each record of a window, at least 1; forgotten slowly. ``narrow``: entities of which no more
    than a window is in scope.
    """

    def __init__(self, session: Session, lookup: Lookup, taken: float, narrow: AbstractSet[str]) -> None:
        self._session = session
        self._lookup = lookup
        self._window = lookup.window
        self.taken = taken
        self.narrow = narrow

    def records(self) -> list[PassageHit]:
        """The best passage of each of the best records."""
        everything = {entity: rows.condition for entity, rows in self._lookup.scope.items()}
        short = {entity: condition for entity, condition in everything.items() if entity not in self.narrow}
        whole = set(self.narrow)
        rows: list[Any] = []
        most = self._window * MOST
        limit = _asked(self._window, self.taken)
        self.taken = max(1.0, self.taken * 0.98)
        pgvector_query.prepare(self._session, limit)
        while short:
            found = self._passages(short, limit)
            rows_of, records_of = _counted(found)
            done = {entity for entity in short if records_of[entity] >= self._window}
            rows += [row for row in found if row[0] in done]
            self._learn(found, done)
            short = {entity: condition for entity, condition in short.items() if entity not in done}
            full = [records_of[entity] for entity in short if rows_of[entity] == limit]
            if not full or limit == most:
                break
            limit = min(most, max(ceil(SPARE * limit * self._window / min(full)), limit * 5 // 4))
        whole |= set(short)
        if whole:
            found = self._exact({entity: everything[entity] for entity in whole})
            _, records_of = _counted(found)
            self.narrow = {entity for entity in whole if records_of[entity] < self._window}
            rows += found
        return self._grouped(rows)

    def _learn(self, found: Sequence[Any], done: AbstractSet[str]) -> None:
        """How many passages of an entity come before the last record of its window."""
        for entity in done:
            seen: set[int] = set()
            passages = (row[1] for row in found if row[0] == entity)
            for taken, record_id in enumerate(passages, start=1):
                seen.add(record_id)
                if len(seen) == self._window:
                    self.taken = max(self.taken, min(MOST, SPARE * taken / self._window))
                    break

    def _exact(self, short: Mapping[str, ColumnElement[bool]]) -> list[Any]:
        """Every passage in scope, as many as it takes to see a window of records."""
        limit = self._window
        while True:
            found = self._passages(short, limit, exact=True)
            rows_of, records_of = _counted(found)
            if all(rows_of[one] < limit or records_of[one] >= self._window for one in short):
                return list(found)
            limit *= 8

    def _passages(self, scope: Mapping[str, ColumnElement[bool]], limit: int, exact: bool = False) -> Sequence[Any]:
        one = self._lookup
        return pgvector_query.passages(self._session, one.target, one.vector, scope, one.locale, limit, exact=exact)

    def _grouped(self, rows: Sequence[Any]) -> list[PassageHit]:
        ordered = sorted(rows, key=itemgetter(6, 0, 1))  # distance, entity, record
        best: dict[tuple[str, int], Any] = {}
        for row in ordered:
            if len(best) == self._window:
                break
            best.setdefault((row[0], row[1]), row)
        return [hit_of(self._lookup.target, row) for row in best.values()]


def _asked(window: int, taken: float) -> int:
    """Passages to ask for first."""
    return min(window * MOST, ceil(window * taken))


def _counted(found: Sequence[Any]) -> tuple[Counter[str], Counter[str]]:
    """Rows and records by entity."""
    return Counter([row[0] for row in found]), Counter([entity for entity, _ in {(row[0], row[1]) for row in found}])


def hit_of(target: Target, row: Any) -> PassageHit:
    """Of a row with entity, record_id, locale, start, end, current and distance."""
    entity, record_id, locale, start, end, current, distance = row
    return PassageHit(entity, record_id, locale, cosine(target.similarity, distance), start, end, current)


def cosine(kind: str, distance: float) -> float:
    """The cosine of unit vectors, from the distance of each operator."""
    if kind == "ip":
        return -distance
    return 1 - distance * distance / 2 if kind == "l2" else 1 - distance
