"""Activate: one transaction, no embedding call, no lock on writers (`switch.md`, "activate").

The barrier is the consumer's cursor: every document has its rows, or an event after the cursor will bring them, and the
cursor becomes the serving one in the same commit. What is younger is ordinary lag.
"""

from __future__ import annotations

from collections.abc import Callable

from app.core.contracts.checkpoints import Checkpoint
from app.core.documents import events_store as events
from app.core.unit import Unit
from app.embeddings import activation_store as activation
from app.embeddings import store
from app.embeddings.consumers import SERVING, TARGET
from app.embeddings.dry_run import DRY_RUN, DryRunEnd
from app.embeddings.ledger_store import Claim
from app.embeddings.models import Switch
from app.embeddings.phases.ports import NotYet, Transition, built_generation, consumer_of


class Activate:
    """Makes the target serve, or ends a dry run. Wholly old or wholly new: there is nothing in between."""

    def __init__(self, checkpoint: Checkpoint, wake_after: Callable[[Unit], None], dry_run: DryRunEnd) -> None:
        self.checkpoint = checkpoint
        self.wake_after = wake_after
        self.dry_run = dry_run

    def step(self, switch: Switch, claim: Claim) -> Transition:
        if switch.kind == DRY_RUN:
            return self.dry_run.step(switch)
        return Transition(
            moved=True,
            values={"status": "activated"},
            apply=lambda unit: self._apply(unit, switch),
            isolation="REPEATABLE READ",
        )

    def _apply(self, unit: Unit, switch: Switch) -> None:
        assert switch.to_space_id is not None
        missing = store.count_missing(unit.session, switch.to_space_id, consumer=consumer_of(switch))
        if missing.open or missing.undecided:
            raise NotYet("verify")
        self.checkpoint("activate.before_update")
        space = store.space(unit.session, switch.to_space_id)
        activation.finish(unit.session, switch.id, space.id, store.count_done(unit.session, space.id))
        if switch.kind == "return":
            activation.lift(unit.session, activation.SWITCHING)
        else:
            activation.serve(unit.session, space, built_generation(switch))
            events.rename_cursor(unit.session, TARGET, SERVING)
            if switch.from_space_id is not None:
                activation.retain(unit.session, switch.from_space_id, switch.retain_days)
        self.wake_after(unit)
        self.checkpoint("activate.before_commit")
