"""The vector half of search: its guard, the question's vector, the nearest passages (`switch.md`, "Read path")."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from app.core.contracts.conditions import Filter
from app.core.contracts.vectors import PassageHit, QueryVector, ServingChanged, Unavailability
from app.core.documents.text import clean_text
from app.core.errors import Conflict, Unavailable
from app.core.unit import Units
from app.embeddings import store
from app.embeddings.client import ModelServers
from app.embeddings.indexes import pgvector_query
from app.embeddings.indexes.pgvector_query import Target
from app.embeddings.models import Serving
from app.embeddings.profiles import Profile

CACHED = 1024
WIDENED = (1, 4, 16)
"""A record of many passages fills a window of them: so many times the window is asked for, then all is read."""

CompileFilter = Callable[[str, Filter | None], ColumnElement[bool]]


class VectorQueries:
    """The :class:`~app.core.contracts.vectors.VectorSearch` of the product. Safe for threads."""

    def __init__(
        self, units: Units, servers: ModelServers, compile_filter: CompileFilter, enabled: Callable[[Session], bool]
    ) -> None:
        self._units = units
        self._servers = servers
        self._compile = compile_filter
        self._enabled = enabled
        self._cache: _Cache[tuple[int, str], Sequence[float]] = _Cache(CACHED)
        self._filters: _Cache[tuple[str, Filter | None], ColumnElement[bool]] = _Cache(CACHED)

    def unavailable(self, session: Session) -> Unavailability | None:
        """The guard, in the order of `seed-facts.md` 6."""
        if not self._enabled(session):
            return "disabled"
        serving = store.serving(session)
        if serving is None:
            return "no_vectors"
        if serving.suspended_reason:
            return "switching" if serving.suspended_reason == "switching" else "suspended"
        if serving.dimensions != store.space(session, serving.space_id).dimensions:
            return "dimension_mismatch"
        return None if pgvector_query.any_vector(session, serving.space_id) else "no_vectors"

    def query_vector(self, text: str, timeout: float) -> QueryVector:
        """Embed a question as the serving space declares it, not as today's profile does."""
        with self._units() as unit:
            serving = store.serving(unit.session)
            if serving is None:
                raise Unavailable("vectors.none_serving")
            space_id, epoch = serving.space_id, serving.epoch
            profile = store.space(unit.session, space_id).profile
        wording = " ".join(clean_text(text).split())
        vector = self._cache.get((space_id, wording))
        if vector is None:
            vector = self._embed(profile, wording, timeout)
            self._cache.put((space_id, wording), vector)
        return QueryVector(space_id=space_id, epoch=epoch, vector=vector)

    def nearest(
        self,
        session: Session,
        query: QueryVector,
        scope: Mapping[str, Filter | None],
        locale: str | None,
        window: int,
    ) -> list[PassageHit]:
        """The best ``window`` records; see :class:`~app.core.contracts.vectors.VectorSearch`."""
        serving = store.serving(session)
        if (
            serving is None
            or serving.suspended_reason
            or (serving.space_id, serving.epoch) != (query.space_id, query.epoch)
        ):
            raise ServingChanged
        if not scope:
            return []
        search = _Nearest(session, _target(serving), query.vector, self._conditions(scope), locale, window)
        return search.records()

    def _conditions(self, scope: Mapping[str, Filter | None]) -> dict[str, ColumnElement[bool]]:
        return {entity: self._compiled(entity, tree) for entity, tree in scope.items()}

    def _compiled(self, entity: str, tree: Filter | None) -> ColumnElement[bool]:
        """The same condition for the same tree: statements are kept by it."""
        try:
            known = self._filters.get((entity, tree))
        except TypeError:  # a value of the tree is a list: nothing to keep it by
            return self._compile(entity, tree)
        if known is None:
            known = self._compile(entity, tree)
            self._filters.put((entity, tree), known)
        return known

    def _embed(self, profile: Profile, wording: str, timeout: float) -> Sequence[float]:
        try:
            embedded = self._servers.client(profile).embed([wording], "query", timeout=timeout)
        except Conflict as error:
            raise Unavailable("vectors.no_server", profile=profile.key) from error
        return tuple(float(number) for number in embedded.vectors[0])


def serving_model(session: Session) -> str | None:
    """The key of the model that answers now, None before the first."""
    serving = store.serving(session)
    return serving.model_key if serving else None


class _Nearest:
    """One search for records: from the index first, and read whole where that comes back short.

    With 1 % visible rows the index returned 171 of 200, and none when they lie far away (`search-measured.md` 4).
    """

    def __init__(
        self,
        session: Session,
        target: Target,
        vector: Sequence[float],
        conditions: Mapping[str, ColumnElement[bool]],
        locale: str | None,
        window: int,
    ) -> None:
        self._session = session
        self._target = target
        self._vector = vector
        self._conditions = conditions
        self._locale = locale
        self._window = window

    def records(self) -> list[PassageHit]:
        """The best passage of each of the best records."""
        pgvector_query.prepare(self._session, self._window)
        short = dict(self._conditions)
        rows: list[Any] = []
        for times in WIDENED:
            limit = self._window * times
            found = pgvector_query.passages(self._session, self._target, self._vector, short, self._locale, limit)
            rows_of, records_of = _counted(found)
            done = {entity for entity in short if records_of[entity] >= self._window}
            rows += [row for row in found if row[0] in done]
            short = {entity: condition for entity, condition in short.items() if entity not in done}
            if not any(rows_of[entity] == limit for entity in short):
                break
        if short:
            rows += self._exact(short)
        return self._grouped(rows)

    def _exact(self, short: Mapping[str, ColumnElement[bool]]) -> list[Any]:
        """Every passage in scope, as many as it takes to see a window of records."""
        limit = self._window
        while True:
            found = pgvector_query.passages(
                self._session, self._target, self._vector, short, self._locale, limit, exact=True
            )
            rows_of, records_of = _counted(found)
            if all(rows_of[one] < limit or records_of[one] >= self._window for one in short):
                return list(found)
            limit *= 8

    def _grouped(self, rows: Sequence[Any]) -> list[PassageHit]:
        ordered = sorted(rows, key=lambda row: (row.distance, row.entity, row.record_id))
        best: dict[tuple[str, int], PassageHit] = {}
        for row in ordered:
            similarity = _similarity(self._target.similarity, row.distance)
            best.setdefault(
                (row.entity, row.record_id),
                PassageHit(row.entity, row.record_id, row.locale, similarity, row.start, row.end, row.current),
            )
        return list(best.values())[: self._window]


def _counted(found: Sequence[Any]) -> tuple[Counter[str], Counter[str]]:
    """Rows and records by entity."""
    return Counter(row[0] for row in found), Counter(entity for entity, _ in {(row[0], row[1]) for row in found})


def _target(serving: Serving) -> Target:
    return Target(serving.space_id, serving.dimensions, serving.similarity)


def _similarity(kind: str, distance: float) -> float:
    """The cosine of unit vectors, from the distance of each operator."""
    if kind == "ip":
        return -distance
    return 1 - distance * distance / 2 if kind == "l2" else 1 - distance


Key = TypeVar("Key")
Kept = TypeVar("Kept")


class _Cache(Generic[Key, Kept]):
    """What was used last. Vectors are keyed by space: a new serving model never meets an old one's vector."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, Kept] = OrderedDict()

    def get(self, key: Key) -> Kept | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: Key, kept: Kept) -> None:
        with self._lock:
            self._kept[key] = kept
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
