"""Embeddings: chunks of key ranges are embedded by the workers; this phase hands out rounds and judges them.

A round is one attempt of each chunk, three at most. What an event will bring is not missing; what could not be embedded
needs a person's decision (`product.md`, decisions 3 and 7). The target's events wait until the chunks are through: most
of what they would bring, a chunk brings too, and a text is not embedded twice.
"""

from __future__ import annotations

from collections.abc import Callable

from app.core.unit import Unit, Units
from app.embeddings import ledger_store as ledger
from app.embeddings import store
from app.embeddings.dry_run_store import DRY_RUN
from app.embeddings.ledger_store import Claim
from app.embeddings.models import Switch
from app.embeddings.phases.ports import WAIT, Transition, consumer_of, enter, failed

ROUNDS = 3


class Embeddings:
    """Waits for the chunks, then looks for itself whether anything is missing."""

    def __init__(self, units: Units, wake_chunks: Callable[[Unit, int], None]) -> None:
        self.units = units
        self.wake_chunks = wake_chunks

    def step(self, switch: Switch, claim: Claim) -> Transition:
        assert switch.to_space_id is not None
        with self.units() as unit:
            if ledger.unfinished(unit.session, switch.id, "embeddings"):
                self.wake_chunks(unit, switch.id)
                return WAIT
            missing = store.count_missing(unit.session, switch.to_space_id, consumer=consumer_of(switch))
        if missing.open and switch.rounds >= ROUNDS:
            return self._give_up(switch, missing.open)
        if missing.open:
            return Transition(
                moved=True,
                again=True,
                values={"rounds": switch.rounds + 1},
                apply=lambda unit: self._again(unit, switch.id),
            )
        if missing.undecided and switch.kind != DRY_RUN:  # a dry run counts them and goes on
            return failed("switch.failed.decisions", count=missing.undecided)
        return enter("indexes")

    def _again(self, unit: Unit, switch_id: int) -> None:
        ledger.reopen_chunks(unit.session, switch_id, "embeddings")

    def _give_up(self, switch: Switch, count: int) -> Transition:
        with self.units() as unit:
            examples = store.missing_examples(unit.session, switch.to_space_id or 0, consumer_of(switch))
        more = ", …" if count > len(examples) else ""
        return failed("switch.failed.rounds", rounds=ROUNDS, count=count, examples=", ".join(examples) + more)
