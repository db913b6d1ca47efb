"""Indexes: one partial HNSW index per entity, built by the index worker. In place, the serving ones go first."""

from __future__ import annotations

from collections.abc import Callable

from app.core.contracts.checkpoints import Checkpoint
from app.core.unit import Unit, Units
from app.embeddings import ledger_store as ledger
from app.embeddings import store
from app.embeddings.indexes import pgvector
from app.embeddings.ledger_store import Claim
from app.embeddings.models import Switch
from app.embeddings.phases.ports import WAIT, Transition, enter


class Indexes:
    """Plans one chunk per entity and waits until all are built."""

    def __init__(self, units: Units, wake_indexes: Callable[[Unit, int], None], checkpoint: Checkpoint) -> None:
        self.units = units
        self.wake_indexes = wake_indexes
        self.checkpoint = checkpoint

    def step(self, switch: Switch, claim: Claim) -> Transition:
        with self.units() as unit:
            planned = any(part.phase == "indexes" for part in ledger.tally(unit.session, switch.id))
            if planned and ledger.unfinished(unit.session, switch.id, "indexes"):
                self.wake_indexes(unit, switch.id)
                return WAIT
            entities = list(store.count_embeddable(unit.session))
        if planned:
            return enter("verify")
        if switch.mode == "in_place" and switch.kind == "switch" and switch.from_space_id is not None:
            # A step that slept over an abandon must not drop the indexes that serve again.
            with self.units() as unit:
                ledger.check_claim(unit.session, claim)
            pgvector.drop_space(self.units.engine, switch.from_space_id)
            self.checkpoint("indexes.dropped_serving")
        if not entities:
            return enter("verify")
        return Transition(moved=True, again=True, apply=lambda unit: _plan(unit, switch.id, "indexes", entities))


def _plan(unit: Unit, switch_id: int, phase: str, entities: list[str]) -> None:
    for entity in entities:
        ledger.plan_chunks(unit.session, switch_id, phase, entity, [(None, None, 0)])
