"""Keeps Elasticsearch as PostgreSQL is: applies index events, builds new generations, says how things stand."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import uuid4

import structlog

from app.core.clock import Clock
from app.core.contracts.copies import ServingGeneration, Shape, StoredVectors
from app.core.documents import events_store as events
from app.core.documents.events_store import CursorClaim
from app.core.elasticsearch.client import Cluster
from app.core.elasticsearch.reading import CONSUMER
from app.core.errors import Conflict, Unavailable
from app.core.registry import Registry
from app.core.unit import Units
from app.search.engines import elasticsearch_store as store
from app.search.engines.elasticsearch_copy import Copier
from app.search.engines.elasticsearch_index import REINDEX, Generation, Generations
from app.search.engines.elasticsearch_store import LEASE_SECONDS
from app.search.engines.elasticsearch_write import Refused, Writer

PAGE = 256
PAGES = 40
"""Pages of one run; then the queue gets its turn."""
COUNTED = 10_001
"""So many waiting events are counted at most."""
ROUNDS = 20
"""Rounds of catching up before a new generation answers; what is younger follows as always."""

log = structlog.get_logger(__name__)
Progress = Callable[[str, int, int], None]
"""Told the entity, how many of its records were copied, and how many there are."""


@dataclass(frozen=True)
class EntityState:
    """One entity: its records in PostgreSQL and in the index that answers, and what is being built."""

    entity: str
    searchable: int
    index: str | None
    indexed: int | None
    building: str | None
    copied: int | None


@dataclass(frozen=True)
class EngineState:
    """How Elasticsearch stands. ``version`` None: it does not answer. ``lag`` None: events are not followed."""

    version: str | None
    lag: int | None
    entities: Sequence[EntityState]


@dataclass(frozen=True)
class VectorState:
    """Records with a vector in an index and in PostgreSQL, and the length of the vectors."""

    indexed: int
    expected: int
    dimensions: int


@dataclass(frozen=True)
class Reindexed:
    """The indexes that answer now, and the records that Elasticsearch did not take."""

    indexes: Sequence[str]
    refused: Sequence[Refused]


class Elasticsearch:
    """Writes to the indexes of one cluster."""

    def __init__(
        self,
        units: Units,
        cluster: Cluster,
        registry: Registry,
        clock: Clock,
        vectors: StoredVectors | None = None,
        serving: ServingGeneration | None = None,
    ) -> None:
        self.units = units
        self.cluster = cluster
        self.registry = registry
        self.vectors = vectors
        self.serving = serving
        self.generations = Generations(units, cluster, registry, serving)
        self.writer = Writer(units, cluster, registry, self.generations, vectors)
        self.copier = Copier(self.writer, vectors, clock, self.apply)

    def apply(self, stop: threading.Event | None = None) -> bool:
        """Apply the events that are visible; returns whether there is more.

        Does nothing while somebody else does it, while nothing is followed, and while the server is away.
        """
        token = uuid4().hex
        with self.units() as unit:
            moved_here = events.restored(unit.session, CONSUMER)
            claim = None if moved_here else events.claim_cursor(unit.session, CONSUMER, token, LEASE_SECONDS)
        if claim is None:
            return False
        try:
            return self._apply(claim, stop)
        except Unavailable as error:
            log.warning("search.follower_waits", code=error.code)
            return False
        finally:
            with self.units() as unit:
                events.release_cursor(unit.session, claim)

    def _apply(self, claim: CursorClaim, stop: threading.Event | None) -> bool:
        """A record is read again, never an event's payload believed: a late event can't bring anything back."""
        settled, position = True, claim.position
        for _ in range(PAGES):
            if stop is not None and stop.is_set():
                return False
            with self.units() as unit:
                page = events.read_events(unit.session, position, PAGE)
            if not page:
                return False
            self.writer.write([(event.entity, event.record_id) for event in page])
            position = page[-1].position
            below = [event.position for event in page if event.settled] if settled else []
            settled = settled and len(below) == len(page)
            with self.units() as unit:
                if not store.keep_cursor(unit.session, claim, below[-1] if below else None):
                    return False
            if len(page) < PAGE:
                return False
        return True

    def due(self) -> bool:
        """Whether events wait for somebody to apply them."""
        with self.units() as unit:
            return events.is_free(unit.session, CONSUMER) and bool(events.lag(unit.session, CONSUMER, 1))

    def reindex(self, progress: Progress) -> Reindexed:
        """Build a new generation of every entity, catch up, and let it answer.

        Whoever runs it again after a crash goes on where the copy stood. A record that Elasticsearch refuses is named
        and left out. Raises :class:`Unavailable` when the server goes away, and :class:`Conflict` while a switch is
        open, or when the counts don't come to those of PostgreSQL.
        """
        shapes = self._shapes_now()
        if self.generations.current() is None:  # else the clean-up drops them, after their grace
            self.generations.drop_unused()
        with self.units() as unit:
            store.begin_cursor(unit.session)
            expected = store.searchable(unit.session)
        built = self.generations.build(REINDEX, shapes)
        self.keep(shapes)
        refused: dict[tuple[str, int], Refused] = {}
        for one in built:
            total = expected.get(one.entity, 0)

            def noted(generation: Generation, total: int = total) -> None:
                progress(generation.entity, generation.done, max(total, generation.done))

            refused |= {(r.entity, r.record_id): r for r in self.copier.copy(one, noted)}
            done = self.generations.of(one.number)[one.entity].done
            progress(one.entity, done, max(total, done))
        self._catch_up()
        for one in built:
            refused |= self._complete(one, shapes)
        if self._shapes_now() != shapes:
            raise Conflict("engine.switch_open")
        self._serve(built[0].number)
        self.generations.point(built)
        return Reindexed([one.index for one in built], [refused[key] for key in sorted(refused)])

    def _shapes_now(self) -> list[Shape]:
        """The serving space, whose vectors a new generation holds. Raises :class:`Conflict` while a switch is open."""
        with self.units() as unit:
            if self.serving is not None and self.serving.open_switch(unit.session) is not None:
                raise Conflict("engine.switch_open")
            shape = None if self.vectors is None else self.vectors.serving(unit.session)
        return [] if shape is None else [shape]

    def keep(self, shapes: Sequence[Shape]) -> None:
        """Changes of these spaces' vectors leave events from now on."""
        if self.vectors is not None and shapes:
            with self.units() as unit:
                self.vectors.keep(unit.session, [shape.space_id for shape in shapes])

    def _catch_up(self) -> None:
        for _ in range(ROUNDS):
            if not self.apply() and not self._waiting():
                break

    def _serve(self, number: int) -> None:
        """Searches ask the new generation from this commit on."""
        if self.serving is None:
            return
        with self.units() as unit:
            self.serving.serve(unit.session, number)

    def _waiting(self) -> bool:
        with self.units() as unit:
            return bool(events.lag(unit.session, CONSUMER, 1))

    def _complete(self, one: Generation, shapes: Sequence[Shape]) -> dict[tuple[str, int], Refused]:
        """Refreshed, then counted against PostgreSQL; what was refused is told."""
        settled = self.copier.settle(one, shapes[0] if shapes else None)
        if settled.differing:
            expected = self.searchable().get(one.entity, 0)
            got = self.cluster.count(one.index)
            raise Conflict("engine.incomplete", entity=one.entity, got=got, expected=expected)
        return {(record.entity, record.record_id): record for record in settled.refused}

    def stop_following(self) -> None:
        """Leave the indexes as they are; another reindex is needed before they may answer again."""
        with self.units() as unit:
            events.end_cursor(unit.session, CONSUMER)

    def ready(self) -> None:
        """Raises :class:`Conflict` unless every entity has an index that answers and is kept up to date."""
        if not self.follows() or set(self.generations.of(None)) != set(self.registry.names()):
            raise Conflict("engine.reindex_first")

    def follows(self) -> bool:
        """Whether events are followed."""
        with self.units() as unit:
            return events.follows(unit.session, CONSUMER)

    def vectors_of(self, one: Generation) -> VectorState | None:
        """The vectors of an index: of the serving space where it serves, whether it has such a field or not; else of
        the one it is built for. None where there is no such space."""
        if self.vectors is None:
            return None
        with self.units() as unit:
            serving = self.vectors.serving(unit.session) if one.serves else None
            shape = serving or (self.vectors.shape(unit.session, one.spaces[-1]) if one.spaces else None)
            if shape is None:
                return None
            expected, _ = self.vectors.standing(unit.session, shape.space_id, one.entity)
        return VectorState(self.copier.with_vectors(one, shape.space_id), expected, shape.dimensions)

    def lag(self) -> int | None:
        """Events that wait, counted up to 10,001; None while they are not followed."""
        with self.units() as unit:
            return events.lag(unit.session, CONSUMER, COUNTED)

    def searchable(self) -> dict[str, int]:
        """Entity to the number of its searchable records in PostgreSQL."""
        with self.units() as unit:
            return dict(store.searchable(unit.session))

    def state(self) -> EngineState:
        """Counts after a refresh; a server that is away is part of the answer."""
        lag, searchable = self.lag(), self.searchable()
        try:
            version = self.cluster.version()
            known = self.generations.all()
            entities = [self._entity(entity, searchable.get(entity, 0), known[entity]) for entity in known]
        except Unavailable:
            return EngineState(None, lag, ())
        return EngineState(version, lag, entities)

    def _entity(self, entity: str, searchable: int, known: Sequence[Generation]) -> EntityState:
        serving = next((one for one in known if one.serves), None)
        building = next((one for one in known if one.building), None)
        indexed = None
        if serving is not None:
            self.cluster.refresh(serving.index)
            indexed = self.cluster.count(serving.index)
        return EntityState(
            entity,
            searchable,
            serving.index if serving else None,
            indexed,
            building.index if building else None,
            building.done if building else None,
        )
