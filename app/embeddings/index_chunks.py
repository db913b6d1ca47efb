"""The index worker's part: builds one index, or verifies one entity, under a lease and fenced by the epoch."""

from __future__ import annotations

from collections.abc import Callable

import structlog
from sqlalchemy.exc import DBAPIError

from app.core.contracts.checkpoints import Checkpoint
from app.core.contracts.copies import EngineCopies
from app.core.errors import Unavailable
from app.core.unit import Unit, Units
from app.embeddings import ledger_store as ledger
from app.embeddings import store
from app.embeddings.indexes import pgvector, pgvector_checks
from app.embeddings.leases import Fenced, LeaseKeeper, new_token
from app.embeddings.ledger_store import ChunkClaim
from app.embeddings.phases.ports import generation_of
from app.embeddings.spaces import Space

log = structlog.get_logger(__name__)

ATTEMPTS = 3
RESTARTS = ("57P01", "57P02", "57P03", "08006", "08003", "08001")
"""Ended backend, restarting or unreachable server: not the build's fault, however often."""


class IndexChunks:
    """Builds and checks indexes."""

    def __init__(
        self,
        units: Units,
        checkpoint: Checkpoint,
        memory_mb: int,
        wake_step: Callable[[Unit, int], None],
        copies: EngineCopies | None = None,
        give_up_seconds: int = 0,
    ) -> None:
        self.units = units
        self.copies = copies
        self.give_up_seconds = give_up_seconds
        self.checkpoint = checkpoint
        self.memory_mb = memory_mb
        self.wake_step = wake_step

    def work(self, switch_id: int) -> bool:
        """Work on one index or verify chunk; returns whether one was claimed."""
        token = new_token()
        with self.units() as unit:
            claim = ledger.claim_chunk(unit.session, switch_id, ["indexes", "verify"], token)
            switch = ledger.switch(unit.session, switch_id)
            if claim is None or switch is None or switch.to_space_id is None:
                return False
            space = store.space(unit.session, switch.to_space_id)
        keeper = LeaseKeeper(self.units.engine, "switch_chunks", claim.id, token)
        try:
            with keeper.kept():
                if claim.phase == "indexes":
                    self._build(claim, space, generation_of(switch))
                else:
                    self._verify(claim, space, generation_of(switch))
        except Fenced:
            log.info("index_chunk_fenced", switch=switch_id, chunk=claim.id)
        except Unavailable as error:
            self._engine_away(claim, error)
        with self.units() as unit:
            if not ledger.unfinished(unit.session, switch_id, claim.phase):
                self.wake_step(unit, switch_id)
        return True

    def _build(self, claim: ChunkClaim, space: Space, generation: str | None) -> None:
        self.checkpoint("indexes.claimed")
        with self.units() as unit:
            former = ledger.backend_of(unit.session, claim.id)

        def started(pid: int) -> None:
            with self.units() as unit:
                ledger.note_backend(unit.session, claim, pid)
            self.checkpoint("indexes.before_build")

        try:
            pgvector.build(
                self.units.engine,
                space.id,
                claim.entity,
                space.dimensions,
                space.similarity,
                memory_mb=self.memory_mb,
                former_backend=former,
                started=started,
            )
        except DBAPIError as error:
            self._build_failed(claim, error)
            return
        self.checkpoint("indexes.built")
        if self.copies is not None and generation is not None:
            self.copies.copy(generation, claim.entity, lambda: self._hold(claim), self.checkpoint)
        with self.units() as unit:
            ledger.hold_chunk(unit.session, claim, finished=True)
            ledger.server_is_back(unit.session, claim.switch_id)

    def _hold(self, claim: ChunkClaim) -> None:
        """After each portion of a copy: raises :class:`Fenced` when the switch or the chunk is no longer ours."""
        with self.units() as unit:
            ledger.hold_chunk(unit.session, claim)

    def _engine_away(self, claim: ChunkClaim, error: Unavailable) -> None:
        """Wait for the engine as for a model server: the watchdog wakes the chunk again, and in the end it is named."""
        log.warning("index_chunk_waits_for_engine", chunk=claim.id, entity=claim.entity, code=error.code)
        with self.units() as unit:
            try:
                seconds = ledger.wait_for_server(unit.session, claim.switch_id, claim.epoch)
            except Fenced:
                return
            if seconds >= self.give_up_seconds:
                values = {"since": int(seconds), "detail": error.code}
                ledger.fail(unit.session, claim.switch_id, claim.epoch, "switch.failed.engine_away", values)
            ledger.release_chunk(unit.session, claim, error=error.code)

    def _build_failed(self, claim: ChunkClaim, error: DBAPIError) -> None:
        """An ended backend or a restarted server is tried again; what fails three times stops the switch."""
        state = getattr(error.orig, "sqlstate", None) or type(error.orig).__name__
        log.warning("index_build_failed", chunk=claim.id, entity=claim.entity, state=state)
        with self.units() as unit:
            if claim.attempt >= ATTEMPTS and state not in RESTARTS and not error.connection_invalidated:
                values = {"entity": claim.entity, "detail": state}
                ledger.fail(unit.session, claim.switch_id, claim.epoch, "switch.failed.index", values)
            ledger.release_chunk(unit.session, claim, error=state)

    def _verify(self, claim: ChunkClaim, space: Space, generation: str | None) -> None:
        self.checkpoint("verify.claimed")
        with self.units() as unit:
            problem = pgvector_checks.problem(unit.session, space, claim.entity)
        if problem is None and self.copies is not None and generation is not None:
            problem = self.copies.problem(generation, claim.entity, space.id, self.checkpoint)
        self.checkpoint("verify.checked")
        with self.units() as unit:
            if problem is None:
                ledger.hold_chunk(unit.session, claim, finished=True)
            else:
                values = {"entity": claim.entity, "detail": problem}
                ledger.fail(unit.session, claim.switch_id, claim.epoch, "switch.failed.verify", values)
