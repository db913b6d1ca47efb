"""The end of a dry run: everything up to activation was real; now it is measured and undone instead of activated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.core.unit import Unit, Units
from app.embeddings import activation_store as activation
from app.embeddings import dry_run_store as dry_runs
from app.embeddings import store
from app.embeddings.dry_run_store import DRY_RUN, FINISHED
from app.embeddings.indexes import pgvector, pgvector_recall
from app.embeddings.models import Switch
from app.embeddings.phases.ports import Transition

__all__ = ["DRY_RUN", "FINISHED", "DryRunEnd"]


class DryRunEnd:
    """Takes the place of the activation in a dry run. The serving row is neither read nor written."""

    def __init__(self, units: Units, wake_tidy: Callable[[Unit], None]) -> None:
        self.units = units
        self.wake_tidy = wake_tidy

    def step(self, switch: Switch) -> Transition:
        """Measure what stands, then undo it in the committing transaction; the clean-up removes rows and indexes."""
        figures = self._figures(switch)
        return Transition(
            moved=True, values={"status": FINISHED}, apply=lambda unit: self._apply(unit, switch, figures)
        )

    def _figures(self, switch: Switch) -> dict[str, Any]:
        assert switch.to_space_id is not None
        with self.units() as unit:
            space = store.space(unit.session, switch.to_space_id)
            written = dry_runs.written(unit.session, space.id, switch.actuals["before"]["xid"])
            seconds = dry_runs.builds(unit.session, switch.id)
            sizes = {index.name: index.size for index in pgvector.existing(unit.session)}
            indexes = [
                {
                    "entity": entity,
                    "seconds": took,
                    "bytes": sizes.get(pgvector.index_name(space.id, entity), 0),
                    "recall": pgvector_recall.recall(unit.session, space, entity),
                }
                for entity, took in sorted(seconds.items())
            ]
            undecided = dry_runs.undecided(unit.session, space.id)
        return {"written": written, "indexes": indexes, "undecided": undecided}

    def _apply(self, unit: Unit, switch: Switch, figures: dict[str, Any]) -> None:
        assert switch.to_space_id is not None
        session = unit.session
        activation.finish(session, switch.id, switch.to_space_id, store.count_done(session, switch.to_space_id))
        dry_runs.note(session, switch.id, figures)
        dry_runs.undo(session, switch.id)
        self.wake_tidy(unit)
