"""Keeps Elasticsearch as PostgreSQL is: applies index events, builds new generations, says how things stand."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

import structlog

from app.core.documents import events_store as events
from app.core.documents.events_store import CursorClaim
from app.core.errors import Conflict, Unavailable
from app.core.registry import Registry
from app.core.unit import Units
from app.search.engines import elasticsearch_store as store
from app.search.engines.elasticsearch_client import Cluster
from app.search.engines.elasticsearch_index import Generation, Generations, actions
from app.search.engines.elasticsearch_store import CONSUMER, LEASE_SECONDS

PAGE = 256
PAGES = 40
"""Pages of one run; then the queue gets its turn."""
BATCH = 250
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


class Elasticsearch:
    """Writes to the indexes of one cluster."""

    def __init__(self, units: Units, cluster: Cluster, registry: Registry) -> None:
        self.units = units
        self.cluster = cluster
        self.generations = Generations(cluster, registry)
        self.registry = registry

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
            # Asked after the events were read: an index made later copies what these events say.
            targets = {
                entity: [one.index for one in known if one.written] for entity, known in self.generations.all().items()
            }
            self._write([(event.entity, event.record_id) for event in page], targets)
            position = page[-1].position
            below = [event.position for event in page if event.settled] if settled else []
            settled = settled and len(below) == len(page)
            with self.units() as unit:
                if not store.keep_cursor(unit.session, claim, below[-1] if below else None):
                    return False
            if len(page) < PAGE:
                return False
        return True

    def _write(self, keys: Sequence[tuple[str, int]], targets: Mapping[str, Sequence[str]]) -> int:
        """Write records as they are now; how many Elasticsearch refused."""
        with self.units() as unit:
            records = store.read_records(unit.session, self.registry, keys)
        items = actions(records, targets)
        if not items:
            return 0
        report = self.cluster.bulk(items)
        for key, kind in report.refused:
            log.error("search.record_refused", record=key, kind=kind)
        return len(report.refused)

    def reindex(self, progress: Progress) -> Sequence[str]:
        """Build a new generation of every entity, catch up, and let the aliases stand for it; returns the indexes.

        Whoever runs it again after a crash goes on where the copy stood. Raises :class:`Unavailable` when the server
        goes away, and :class:`Conflict` when its counts don't come to those of PostgreSQL.
        """
        self.generations.drop_unused()
        with self.units() as unit:
            store.begin_cursor(unit.session)
            expected = store.searchable(unit.session)
        built = [
            self._copied(self.generations.build(entity), expected.get(entity, 0), progress)
            for entity in self.registry.names()
        ]
        for _ in range(ROUNDS):
            if not self.apply() and not self._waiting():
                break
        for one in built:
            self._complete(one)
        self.generations.activate(built)
        return [one.index for one in built]

    def _copied(self, generation: Generation, expected: int, progress: Progress) -> Generation:
        """Copy in batches by record id, from where the last run stood."""
        while True:
            with self.units() as unit:
                ids = store.record_ids(unit.session, generation.entity, generation.after, BATCH)
            if not ids:
                progress(generation.entity, generation.done, max(expected, generation.done))
                return generation
            self._write([(generation.entity, one) for one in ids], {generation.entity: [generation.index]})
            generation = replace(generation, after=ids[-1], done=generation.done + len(ids))
            self.generations.note(generation)
            progress(generation.entity, generation.done, max(expected, generation.done))

    def _waiting(self) -> bool:
        with self.units() as unit:
            return bool(events.lag(unit.session, CONSUMER, 1))

    def _complete(self, generation: Generation) -> None:
        """Refreshed, then counted against PostgreSQL; what changes meanwhile is applied before it counts again."""
        counts = (0, 0)
        for _ in range(ROUNDS):
            self.apply()
            self.cluster.refresh(generation.index)
            with self.units() as unit:
                expected = store.searchable(unit.session).get(generation.entity, 0)
            counts = self.cluster.count(generation.index), expected
            if counts[0] == counts[1]:
                return
        raise Conflict("engine.incomplete", entity=generation.entity, got=counts[0], expected=counts[1])

    def stop_following(self) -> None:
        """Leave the indexes as they are; another reindex is needed before they may answer again."""
        with self.units() as unit:
            events.end_cursor(unit.session, CONSUMER)

    def ready(self) -> None:
        """Raises :class:`Conflict` unless every entity has an index that answers and is kept up to date."""
        with self.units() as unit:
            follows = store.follows(unit.session)
        if not follows or not all(any(one.serves for one in known) for known in self.generations.all().values()):
            raise Conflict("engine.reindex_first")

    def state(self) -> EngineState:
        """Counts after a refresh; a server that is away is part of the answer."""
        with self.units() as unit:
            lag = events.lag(unit.session, CONSUMER, COUNTED)
            searchable = store.searchable(unit.session)
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
