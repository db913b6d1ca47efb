"""Fills an index from PostgreSQL, and says whether it holds what PostgreSQL has, counted after a refresh."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from app.core.clock import Clock
from app.core.contracts.checkpoints import Checkpoint, no_checkpoint
from app.core.contracts.copies import Shape, StoredVectors
from app.core.elasticsearch.names import PASSAGES, vector_field
from app.search.engines import elasticsearch_store as store
from app.search.engines.elasticsearch_index import Generation
from app.search.engines.elasticsearch_write import Refused, Writer

BATCH = 250
ROUNDS = 20
"""Rounds of catching up before what differs counts; what is younger follows as always."""
PAUSE_SECONDS = 0.25
PAGE = 1_000


@dataclass(frozen=True)
class Settled:
    """How an index stands beside PostgreSQL.

    ``differing``: records that it lacks, or has too many, for no known reason; ``refused``: that it does not take.
    """

    differing: frozenset[int]
    refused: tuple[Refused, ...]


class Copier:
    """Copies one entity at a time. ``catch_up`` applies the events that wait; says whether there are more."""

    def __init__(
        self, writer: Writer, vectors: StoredVectors | None, clock: Clock, catch_up: Callable[[], bool]
    ) -> None:
        self.writer = writer
        self.units = writer.units
        self.cluster = writer.cluster
        self.generations = writer.generations
        self.vectors = vectors
        self.clock = clock
        self.catch_up = catch_up

    def copy(
        self, generation: Generation, noted: Callable[[Generation], None], checkpoint: Checkpoint = no_checkpoint
    ) -> list[Refused]:
        """Copy in batches by record id, from where the last run stood; ``noted`` hears of each batch, and may raise."""
        refused: list[Refused] = []
        while True:
            with self.units() as unit:
                ids = store.record_ids(unit.session, generation.entity, generation.after, BATCH)
            if not ids:
                return refused
            checkpoint("copies.before_bulk")
            refused += self.writer.write([(generation.entity, one) for one in ids], generation)
            checkpoint("copies.bulk_written")
            generation = replace(generation, after=ids[-1], done=generation.done + len(ids))
            self.generations.note(generation)
            checkpoint("copies.noted")
            noted(generation)

    def settle(self, one: Generation, shape: Shape | None = None, checkpoint: Checkpoint = no_checkpoint) -> Settled:
        """Refresh, count, catch up, and mend what still differs; never longer than :data:`ROUNDS` rounds."""
        before: frozenset[int] | None = None
        for _ in range(ROUNDS):
            self.catch_up()
            self.cluster.refresh(one.index)
            checkpoint("copies.refreshed")
            if self._counts_agree(one, shape):
                return Settled(frozenset(), ())
            now = self._differing(one, shape)
            if before is not None and (stuck := now & before):
                return self._mended(one, shape, stuck)
            before = now
            self.clock.sleep(PAUSE_SECONDS)
        return Settled(frozenset(), ())  # other records each time: writes outpace the counting, events bring them

    def _mended(self, one: Generation, shape: Shape | None, stuck: frozenset[int]) -> Settled:
        refused: list[Refused] = []
        ids = sorted(stuck)
        for start in range(0, len(ids), BATCH):
            refused += self.writer.write([(one.entity, key) for key in ids[start : start + BATCH]], one)
        self.cluster.refresh(one.index)
        known = {record.record_id for record in refused}
        return Settled((self._differing(one, shape) & stuck) - known, tuple(refused))

    def _counts_agree(self, one: Generation, shape: Shape | None) -> bool:
        with self.units() as unit:
            expected = store.searchable(unit.session).get(one.entity, 0)
            vectors = None
            if shape is not None and self.vectors is not None:
                vectors, _ = self.vectors.standing(unit.session, shape.space_id, one.entity)
        if self.cluster.count(one.index) != expected:
            return False
        return vectors is None or shape is None or self.with_vectors(one, shape.space_id) == vectors

    def with_vectors(self, one: Generation, space_id: int) -> int:
        """Documents that have a vector of the space: `_source` would not tell (`search-measured.md` 9)."""
        return self.cluster.matching(one.index, has_vector(space_id))

    def _differing(self, one: Generation, shape: Shape | None) -> frozenset[int]:
        found: set[int] = set()
        after = 0
        while True:
            with self.units() as unit:
                ours = store.record_ids(unit.session, one.entity, after, PAGE)
                last = ours[-1] if len(ours) == PAGE else None
                embedded: set[int] = set()
                if shape is not None and self.vectors is not None:
                    embedded = set(self.vectors.passages(unit.session, shape.space_id, one.entity, ours))
            found |= set(ours) ^ self._keys(one, {"match_all": {}}, after, last)
            if shape is not None:
                found |= embedded ^ self._keys(one, has_vector(shape.space_id), after, last)
            if last is None:
                return frozenset(found)
            after = last

    def _keys(self, one: Generation, query: dict[str, Any], after: int, last: int | None) -> set[int]:
        """Record ids in the index in (after, last]."""
        found: set[int] = set()
        while True:
            keys = self.cluster.keys(one.index, "record_id", query, after, PAGE)
            found |= {key for key in keys if last is None or key <= last}
            if len(keys) < PAGE or (last is not None and keys[-1] >= last):
                return found
            after = keys[-1]


def has_vector(space_id: int) -> dict[str, Any]:
    """Documents with at least one passage in the space."""
    exists = {"exists": {"field": vector_field(space_id)}}
    return {"nested": {"path": PASSAGES, "query": exists, "ignore_unmapped": True}}
