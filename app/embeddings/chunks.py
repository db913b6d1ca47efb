"""The workers' part of the embeddings phase: one chunk at a time, under a lease, fenced by the switch's epoch."""

from __future__ import annotations

import random
from collections.abc import Callable

import structlog
from sqlalchemy.orm import Session

from app.core.clock import Clock
from app.core.contracts.checkpoints import Checkpoint
from app.core.errors import ModelServerFailed
from app.core.unit import Unit, Units
from app.embeddings import ledger_store as ledger
from app.embeddings import store
from app.embeddings.leases import Fenced, LeaseKeeper, new_token
from app.embeddings.ledger_store import ChunkClaim
from app.embeddings.machine import server_verdict
from app.embeddings.synchroniser import AnyStop, Stop, Synchroniser

log = structlog.get_logger(__name__)

LONGEST_PAUSE = 15.0


class EmbeddingChunks:
    """Embeds the documents of a chunk's key range that are still missing."""

    def __init__(
        self,
        units: Units,
        synchroniser: Synchroniser,
        clock: Clock,
        checkpoint: Checkpoint,
        give_up_seconds: int,
        wake_step: Callable[[Unit, int], None],
    ) -> None:
        self.units = units
        self.synchroniser = synchroniser
        self.clock = clock
        self.checkpoint = checkpoint
        self.give_up_seconds = give_up_seconds
        self.wake_step = wake_step

    def work(self, switch_id: int, stop: Stop) -> bool:
        """Work on one chunk; returns whether one was claimed. A last chunk wakes the state machine."""
        token = new_token()
        with self.units() as unit:
            claim = ledger.claim_chunk(unit.session, switch_id, ["embeddings"], token)
        if claim is None:
            return False
        self.checkpoint("chunk.claimed")
        keeper = LeaseKeeper(self.units.engine, "switch_chunks", claim.id, token)
        try:
            with keeper.kept():
                self._patiently(claim, AnyStop(keeper.lost, stop))
        except Fenced:
            log.info("chunk_fenced", switch=switch_id, chunk=claim.id)
            with self.units() as unit:
                ledger.release_chunk(unit.session, claim)
        with self.units() as unit:
            if not ledger.unfinished(unit.session, switch_id, "embeddings"):
                self.wake_step(unit, switch_id)
        return True

    def _patiently(self, claim: ChunkClaim, stop: Stop) -> None:
        """Wait for a server that is away, under the lease, with growing pauses and jitter."""
        pause = 0.5
        while True:
            try:
                self._embed(claim, stop)
                return
            except ModelServerFailed as error:
                self._judge(claim, error)
            until = self.clock.monotonic() + pause * random.uniform(0.5, 1.5)
            while self.clock.monotonic() < until:
                if stop.is_set():
                    raise Fenced
                self.clock.sleep(0.2)
            pause = min(pause * 2, LONGEST_PAUSE)

    def _judge(self, claim: ChunkClaim, error: ModelServerFailed) -> None:
        with self.units() as unit:
            seconds = ledger.wait_for_server(unit.session, claim.switch_id, claim.epoch)
            switch = ledger.switch(unit.session, claim.switch_id)
            verdict = None if switch is None else server_verdict(switch, error, seconds, self.give_up_seconds)
            if verdict is not None:
                code, values = verdict.values["error_code"], verdict.values["error_values"]
                ledger.fail(unit.session, claim.switch_id, claim.epoch, code, values)
        log.warning("chunk_waits_for_server", chunk=claim.id, reason=error.reason, seconds=round(seconds))
        if verdict is not None:
            raise Fenced

    def _embed(self, claim: ChunkClaim, stop: Stop) -> None:
        with self.units() as unit:
            switch = ledger.switch(unit.session, claim.switch_id)
            if switch is None or switch.to_space_id is None or switch.epoch != claim.epoch:
                raise Fenced
            space = store.space(unit.session, switch.to_space_id)
            keys = store.missing_in_range(unit.session, space.id, claim.entity, claim.from_id, claim.to_id)
        if keys and switch.waiting_since is not None:
            self.synchroniser.check_server(space)  # somebody waits for it: ask with a short text first
            with self.units() as unit:
                ledger.server_is_back(unit.session, claim.switch_id)

        def hold(session: Session, *, done: int, passages: int) -> None:
            ledger.hold_chunk(session, claim, done=done, passages=passages)

        self.synchroniser.run(space, keys, hold, stop)
        self.checkpoint("chunk.before_done")
        with self.units() as unit:
            ledger.hold_chunk(unit.session, claim, finished=True)
            ledger.trouble_is_over(unit.session, claim.switch_id)
        self.checkpoint("chunk.done")
