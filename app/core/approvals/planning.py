"""What a write would change, found by asking for the write itself: it is stopped where it would be captured."""

from __future__ import annotations

from app.core.approvals.ports import Diff, Plan
from app.core.contracts.actor import Actor
from app.core.registry import Entity
from app.core.unit import Unit


class Planned(Exception):
    """No error: the write passed every check, and ``plan`` is what it would have changed."""

    def __init__(self, plan: Plan) -> None:
        super().__init__("planned")
        self.plan = plan


class Planning:
    """Stands in for :class:`Approvals` in a service that is asked what a write would change."""

    def captures(self, actor: Actor, entity: Entity) -> bool:
        return True

    def capture(
        self,
        unit: Unit,
        actor: Actor,
        entity: Entity,
        operation: str,
        record_id: int | None,
        base_revision: int | None,
        diff: Diff,
    ) -> Planned:
        """Raises :class:`Planned`, always."""
        raise Planned(Plan(base_revision, diff))
