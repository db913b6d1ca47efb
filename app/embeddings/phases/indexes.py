"""Indexes: one partial HNSW index per entity, and an engine's copy of the vectors where there is one, built by the
index worker. In place, the serving ones go first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from app.core.contracts.checkpoints import Checkpoint
from app.core.contracts.copies import EngineCopies
from app.core.errors import Unavailable
from app.core.unit import Unit, Units
from app.embeddings import ledger_store as ledger
from app.embeddings import store
from app.embeddings.indexes import pgvector
from app.embeddings.ledger_store import Claim
from app.embeddings.models import Switch
from app.embeddings.phases.ports import GENERATION, WAIT, Transition, engine_away, enter


class Indexes:
    """Plans one chunk per entity and waits until all are built. ``copies`` None: PostgreSQL alone has vectors."""

    def __init__(
        self,
        units: Units,
        wake_indexes: Callable[[Unit, int], None],
        checkpoint: Checkpoint,
        copies: EngineCopies | None = None,
        give_up_seconds: int = 0,
    ) -> None:
        self.units = units
        self.wake_indexes = wake_indexes
        self.checkpoint = checkpoint
        self.copies = copies
        self.give_up_seconds = give_up_seconds

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
        try:
            generation = self._prepared(switch, claim)
        except Unavailable as error:
            return self._engine_away(switch, claim, error)
        if generation is not None:  # its words are copied as well, where there is nothing to embed, too
            with self.units() as unit:
                entities = store.searchable_entities(unit.session)
        actuals = {**switch.actuals, GENERATION: generation}
        if not entities:
            return enter("verify", actuals=actuals)
        return Transition(
            moved=True,
            again=True,
            values={"actuals": actuals},
            apply=lambda unit: _plan(unit, switch.id, "indexes", entities),
        )

    def _prepared(self, switch: Switch, claim: Claim) -> str | None:
        """The engine's indexes that will hold the target's vectors; None where none keeps copies."""
        assert switch.to_space_id is not None
        if self.copies is None:
            return None
        with self.units() as unit:
            if not self.copies.takes_part(unit.session):
                return None
            ledger.check_claim(unit.session, claim)
        mode: Literal["side_by_side", "in_place"] = "in_place" if switch.mode == "in_place" else "side_by_side"
        return self.copies.prepare(switch.id, switch.to_space_id, mode)

    def _engine_away(self, switch: Switch, claim: Claim, error: Unavailable) -> Transition:
        with self.units() as unit:
            seconds = ledger.wait_for_server(unit.session, switch.id, claim.epoch)
        return engine_away(error, seconds, self.give_up_seconds) or WAIT


def _plan(unit: Unit, switch_id: int, phase: str, entities: list[str]) -> None:
    for entity in entities:
        ledger.plan_chunks(unit.session, switch_id, phase, entity, [(None, None, 0)])
