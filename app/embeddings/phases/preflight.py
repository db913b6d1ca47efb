"""Preflight: is the server still the profile's, is there room, how much is there to do, and the plan of chunks."""

from __future__ import annotations

from app.core.contracts.checkpoints import Checkpoint
from app.core.unit import Unit, Units
from app.embeddings import ledger_store as ledger
from app.embeddings import store
from app.embeddings.indexes import pgvector
from app.embeddings.ledger_store import Claim
from app.embeddings.models import Switch
from app.embeddings.phases.ports import Transition, enter, failed
from app.embeddings.room import free_bytes
from app.embeddings.synchroniser import Synchroniser


class Preflight:
    """Counts and plans; nothing that serves is touched."""

    def __init__(
        self,
        units: Units,
        synchroniser: Synchroniser,
        checkpoint: Checkpoint,
        chunk_size: int,
        documentation_chunk_size: int,
    ) -> None:
        self.units = units
        self.synchroniser = synchroniser
        self.checkpoint = checkpoint
        self.chunk_size = chunk_size
        self.documentation_chunk_size = documentation_chunk_size

    def step(self, switch: Switch, claim: Claim) -> Transition:
        assert switch.to_space_id is not None
        space_id = switch.to_space_id
        with self.units() as unit:
            space = store.space(unit.session, space_id)
        self.synchroniser.check_server(space)
        with self.units() as unit:
            total = store.count_embeddable(unit.session)
            done = store.count_done(unit.session, space_id)
            needed = pgvector.bytes_needed(
                unit.session, space.dimensions, sum(total.values()) - sum(done.values()), sum(total.values())
            )
            free = free_bytes(unit.session)
        if free is not None and needed > free:
            return failed("switch.failed.disk", needed=needed, free=free)
        self.checkpoint("preflight.counted")
        counts = {"total": total, "already": done}
        return Transition(
            moved=True,
            again=True,
            values={**enter("embeddings").values, "rounds": 1, "actuals": {**switch.actuals, **counts}},
            apply=lambda unit: self._plan(unit, switch, total),
        )

    def _plan(self, unit: Unit, switch: Switch, entities: dict[str, int]) -> None:
        for entity in entities:
            size = self.documentation_chunk_size if entity.startswith("documentation.") else self.chunk_size
            ranges = ledger.ranges(unit.session, switch.to_space_id or 0, entity, size)
            ledger.plan_chunks(unit.session, switch.id, "embeddings", entity, ranges)
