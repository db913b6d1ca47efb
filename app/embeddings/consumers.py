"""Those who apply index events: ``serving`` and, while a switch runs, ``target``, each for its own space.

A consumer re-reads the record and never believes an event's payload, so a late event can't resurrect anything;
deletions are the foreign key's work and need no consumer (`switch.md`).
"""

from __future__ import annotations

import structlog

from app.core.contracts.checkpoints import Checkpoint, no_checkpoint
from app.core.documents import events_store as events
from app.core.documents.events_store import CursorClaim, Position
from app.core.errors import ModelServerFailed
from app.core.unit import Units
from app.embeddings import store
from app.embeddings.leases import SECONDS, Fenced, LeaseKeeper, new_token
from app.embeddings.repair import fill_space
from app.embeddings.synchroniser import AnyStop, Stop, Synchroniser

log = structlog.get_logger(__name__)

SERVING = "serving"
TARGET = "target"
PAGE = 256
PAGES = 40
"""Pages of one run; then the queue gets its turn, and whoever woke us wakes the next run."""


class Consumers:
    """Applies events to the rows of a consumer's space."""

    def __init__(self, units: Units, synchroniser: Synchroniser, checkpoint: Checkpoint = no_checkpoint) -> None:
        self.units = units
        self.synchroniser = synchroniser
        self.checkpoint = checkpoint

    def apply(self, consumer: str, stop: Stop | None = None) -> bool:
        """Apply what is visible; returns whether there is more. Does nothing while somebody else does it."""
        token = new_token()
        with self.units() as unit:
            claim = events.claim_cursor(unit.session, consumer, token, SECONDS)
        if claim is None:
            return False
        self.checkpoint("events.claimed")
        keeper = LeaseKeeper(self.units.engine, "index_cursors", consumer, token)
        try:
            with keeper.kept():
                return self._apply(claim, AnyStop(keeper.lost, stop) if stop else keeper.lost)
        except Fenced:
            return False
        except ModelServerFailed as error:
            log.warning("consumer_waits_for_server", consumer=consumer, reason=error.reason)
            with self.units() as unit:
                events.note_waiting(unit.session, consumer, True)
            return False
        finally:
            with self.units() as unit:
                events.release_cursor(unit.session, claim)

    def _apply(self, claim: CursorClaim, stop: Stop) -> bool:
        with self.units() as unit:
            space = store.space(unit.session, claim.space_id)
            restored = events.system_identifier(unit.session) != claim.system_identifier
            pending = bool(events.lag(unit.session, claim.consumer, 1))
        if restored:
            self._reconcile(claim)
            return True
        if not pending:
            return False
        self.synchroniser.check_server(space)
        with self.units() as unit:
            events.note_waiting(unit.session, claim.consumer, False)
        position, settled = claim.position, True
        for _ in range(PAGES):
            with self.units() as unit:
                page = events.read_events(unit.session, position, PAGE)
                records = sorted({(event.entity, event.record_id) for event in page})
                keys = store.missing_of_records(unit.session, space.id, records)
            if not page:
                return False
            self.synchroniser.run(space, keys, stop=stop)
            self.checkpoint("events.applied")
            position = page[-1].position
            below = [event.position for event in page if event.settled] if settled else []
            settled = settled and len(below) == len(page)
            if below:
                self._move(claim, below[-1])
            if len(page) < PAGE:
                return False
        return True

    def _move(self, claim: CursorClaim, position: Position) -> None:
        with self.units() as unit:
            if not events.move_cursor(unit.session, claim, position):
                raise Fenced
        self.checkpoint("events.moved")

    def _reconcile(self, claim: CursorClaim) -> None:
        """The database was restored elsewhere: its events' transaction ids mean nothing here. Fill by the anti-join."""
        with self.units() as unit:
            events.forget_events(unit.session)
            events.begin_cursor(unit.session, claim.consumer, claim.space_id, events.now(unit.session))
        fill_space(self.units, self.synchroniser, claim.space_id)
