"""Verify: caught up, nothing missing, every vector right, every index valid and used. Bookkeeping is never believed."""

from __future__ import annotations

from collections.abc import Callable

from app.core.documents import events_store as events
from app.core.unit import Unit, Units
from app.embeddings import ledger_store as ledger
from app.embeddings import store
from app.embeddings.dry_run_store import DRY_RUN
from app.embeddings.ledger_store import Claim
from app.embeddings.models import Switch
from app.embeddings.phases.ports import WAIT, Transition, consumer_of, enter, failed
from app.embeddings.synchroniser import Synchroniser

BATCH = 256
"""How far the consumer may lag when the barrier is taken: one batch (`switch.md`)."""


class Verify:
    """Waits for the consumer, has every entity checked by the index worker, then counts what is missing."""

    def __init__(
        self,
        units: Units,
        wake_indexes: Callable[[Unit, int], None],
        wake_consumer: Callable[[Unit, str], None],
        synchroniser: Synchroniser,
    ) -> None:
        self.units = units
        self.wake_indexes = wake_indexes
        self.wake_consumer = wake_consumer
        self.synchroniser = synchroniser

    def step(self, switch: Switch, claim: Claim) -> Transition:
        assert switch.to_space_id is not None
        consumer = consumer_of(switch)
        with self.units() as unit:
            behind = events.lag(unit.session, consumer, BATCH + 1) or 0
            if behind:
                self.wake_consumer(unit, consumer)
            if behind > BATCH:
                return WAIT
            tallies = ledger.tally(unit.session, switch.id)
            planned = any(part.phase == "verify" for part in tallies)
            if planned and ledger.unfinished(unit.session, switch.id, "verify"):
                self.wake_indexes(unit, switch.id)
                return WAIT
            # An entity that had no record before has no index yet; it gets one after the activation, as any new one.
            entities = [part.entity for part in tallies if part.phase == "indexes"]
            space = store.space(unit.session, switch.to_space_id)
            missing = store.count_missing(unit.session, switch.to_space_id, consumer=consumer)
        if missing.open:
            return self._back(switch, missing.open)
        if missing.undecided and switch.kind != DRY_RUN:
            return failed("switch.failed.decisions", count=missing.undecided)
        if not planned and entities:
            return Transition(moved=True, again=True, apply=lambda unit: self._plan(unit, switch.id, entities))
        if switch.kind != "return":
            self.synchroniser.check_server(space)  # questions will be embedded by it (`faults.md` 51)
        return enter("activate")

    def _plan(self, unit: Unit, switch_id: int, entities: list[str]) -> None:
        for entity in entities:
            ledger.plan_chunks(unit.session, switch_id, "verify", entity, [(None, None, 0)])

    def _back(self, switch: Switch, count: int) -> Transition:
        """Something is missing that no event will bring: embed it, which skips all that is done."""
        return Transition(
            moved=True,
            again=True,
            values={"phase": "embeddings", "rounds": switch.rounds + 1},
            apply=lambda unit: _reopen(unit, switch.id),
        )


def _reopen(unit: Unit, switch_id: int) -> None:
    ledger.reopen_chunks(unit.session, switch_id, "embeddings")
    ledger.drop_chunks(unit.session, switch_id, ["verify"])
