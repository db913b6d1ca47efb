"""The one way in which records reach Elasticsearch: read again in PostgreSQL, written whole, words and vectors alike.

The order is what keeps a late writer from doing harm: draw a version, look where to write, read, write. Whoever drew a
greater version looked and read later; what they did not see has an event, which is applied with a greater one still.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import structlog
from sqlalchemy.orm import Session

from app.core.contracts.copies import StoredPassage, StoredVectors
from app.core.elasticsearch.client import Action, Cluster
from app.core.registry import Registry
from app.core.unit import Units
from app.search.engines import elasticsearch_store as store
from app.search.engines.elasticsearch_index import Generation, Generations
from app.search.engines.elasticsearch_mapping import Indexed, source_of
from app.search.engines.ports import Key

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Refused:
    """A record that Elasticsearch refuses for good, and the class of its error."""

    entity: str
    record_id: int
    kind: str


class Writer:
    """Writes records as they are now."""

    def __init__(
        self,
        units: Units,
        cluster: Cluster,
        registry: Registry,
        generations: Generations,
        vectors: StoredVectors | None,
    ) -> None:
        self.units = units
        self.cluster = cluster
        self.registry = registry
        self.generations = generations
        self.vectors = vectors

    def write(self, keys: Sequence[Key], into: Generation | None = None) -> list[Refused]:
        """Write the records to every index that answers or will, or ``into`` one; what was refused is named.

        Raises :class:`app.core.errors.Unavailable` when not all could be sent; sending all again is harmless.
        """
        with self.units() as unit:
            read = store.next_read(unit.session)
        targets = self._targets(into)
        with self.units("REPEATABLE READ") as unit:
            records = store.read_records(unit.session, self.registry, keys, read)
            passages = self._passages(unit.session, records, targets)
        items = [
            action
            for one in records
            for action in _actions(replace(one, passages=passages.get(_key(one), {})), targets.get(one.entity, ()))
        ]
        if not items:
            return []
        entities = {one.index: one.entity for known in targets.values() for one in known}
        refused = [Refused(entities[index], int(key), kind) for index, key, kind in self.cluster.bulk(items).refused]
        for record in refused:
            log.error("search.record_refused", entity=record.entity, record=record.record_id, kind=record.kind)
        return refused

    def _targets(self, into: Generation | None) -> Mapping[str, Sequence[Generation]]:
        if into is not None:
            return {into.entity: [into]}
        return {entity: [one for one in known if one.written] for entity, known in self.generations.all().items()}

    def _passages(
        self, session: Session, records: Sequence[Indexed], targets: Mapping[str, Sequence[Generation]]
    ) -> Mapping[Key, Mapping[int, Sequence[StoredPassage]]]:
        """The vectors of each record, by space, as far as an index wants them."""
        found: dict[Key, dict[int, Sequence[StoredPassage]]] = {}
        if self.vectors is None:
            return found
        for entity in {one.entity for one in records}:
            ids = [one.record_id for one in records if one.entity == entity and one.texts]
            for space in {space for one in targets.get(entity, ()) for space in one.spaces}:
                for record_id, passages in self.vectors.passages(session, space, entity, ids).items():
                    found.setdefault((entity, record_id), {})[space] = passages
        return found


def _key(one: Indexed) -> Key:
    return one.entity, one.record_id


def _actions(one: Indexed, targets: Sequence[Generation]) -> list[Action]:
    """What is written of a record to each index of its entity."""
    return [
        Action(
            target.index,
            str(one.record_id),
            one.version,
            source_of(one, target.spaces) if one.texts else None,
            sum(len(one.passages.get(space, ())) for space in target.spaces),
        )
        for target in targets
    ]
