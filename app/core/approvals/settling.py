"""The deciding vote: the captured write is done for its author, once, or it is noted why not."""

from __future__ import annotations

from app.core.approvals import store
from app.core.approvals.diff import moved
from app.core.approvals.models import Modification
from app.core.approvals.parts import APPLIED, CONFLICT, FAILED, Parts
from app.core.approvals.ports import Applied
from app.core.contracts.actor import SYSTEM
from app.core.errors import ChangeoverError, Conflict, Forbidden
from app.core.unit import Origin, Unit


class Settling:
    """Runs in the unit of the deciding vote, which holds the modification's row."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts

    def apply(self, unit: Unit, modification: Modification) -> None:
        """Write for the author, or note why not; what a refused write had done is rolled back to before it."""
        origin, wakes = unit.origin, list(unit.wakes)
        unit.origin = Origin("approval", None, origin.request_id)
        try:
            with unit.session.begin_nested():
                applied = self._write(unit, modification)
                self._close_applied(unit, modification, applied)
        except ChangeoverError as refusal:
            unit.wakes[:] = wakes
            status = CONFLICT if isinstance(refusal, Conflict) else FAILED
            if store.close(unit.session, modification, status, self.parts.clock.now(), error=refusal):
                self.parts.note(unit, SYSTEM, "refuse", modification)
        finally:
            unit.origin = origin

    def _write(self, unit: Unit, modification: Modification) -> Applied:
        author = self.parts.authors(unit, modification.author_id)
        if author is None:
            raise Forbidden("approval.author_gone")
        applier = self.parts.appliers[modification.kind]
        if modification.operation != "insert":
            current = applier.current(unit, modification, lock=True)
            if current is None:
                raise Conflict("approval.record_gone")
            changed = moved(modification.diff, current)
            if changed:
                raise Conflict("approval.moved", fields=", ".join(changed))
        return applier.apply(unit, author, modification)

    def _close_applied(self, unit: Unit, modification: Modification, applied: Applied) -> None:
        done = store.close(unit.session, modification, APPLIED, self.parts.clock.now(), applied=applied)
        if not done:
            raise Conflict("approval.resolved", status=modification.status)
