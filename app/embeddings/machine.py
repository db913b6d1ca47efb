"""The state machine of the switch: claims one step, runs the phase, commits its transition, and goes on.

A step that dies anywhere is taken again by whoever comes after its lease; what it had not committed did not happen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import structlog
from sqlalchemy.exc import DBAPIError

from app.core.contracts.checkpoints import Checkpoint
from app.core.errors import ChangeoverError, ModelServerFailed
from app.core.unit import Unit, Units
from app.embeddings import ledger_store as ledger
from app.embeddings.leases import Fenced, LeaseKeeper, new_token
from app.embeddings.ledger_store import Claim
from app.embeddings.models import Switch
from app.embeddings.phases.ports import NotYet, PhaseStep, Transition, failed

log = structlog.get_logger(__name__)

TROUBLES = 5
"""Jobs that fail in a row, for reasons that are nobody's case, before the switch says so instead of trying for ever."""
SERIALIZATION = ("40001", "40P01")


class Machine:
    """Advances the switch that is running, one committed step after the other."""

    def __init__(
        self,
        units: Units,
        phases: Mapping[str, PhaseStep],
        checkpoint: Checkpoint,
        give_up_seconds: int,
        wake_step: Callable[[Unit, int], None],
    ) -> None:
        self.units = units
        self.phases = phases
        self.checkpoint = checkpoint
        self.give_up_seconds = give_up_seconds
        self.wake_step = wake_step

    def advance(self, switch_id: int) -> bool:
        """Take one step. Returns False when there was nothing to take (not running, or somebody holds it)."""
        token = new_token()
        with self.units() as unit:
            claim = ledger.claim_step(unit.session, switch_id, token)
            switch = ledger.switch(unit.session, switch_id)
        if claim is None or switch is None:
            return False
        self.checkpoint("step.claimed")
        try:
            with LeaseKeeper(self.units.engine, "switches", switch_id, token).kept():
                self._take(switch, claim)
        except Fenced:
            log.info("switch_step_fenced", switch=switch_id)
        return True

    def trouble(self, switch_id: int, error: Exception) -> None:
        """A job of the switch failed for a reason nobody foresaw; several in a row stop the switch, saying so.

        Whatever it was, its leases end and the next job tries again; a restart of the database costs one or two.
        """
        with self.units() as unit:
            noted = ledger.note_trouble(unit.session, switch_id)
            if noted is not None and noted[0] >= TROUBLES:
                values = {"kind": type(error).__name__}
                ledger.fail(unit.session, switch_id, noted[1], "switch.failed.unexpected", values)

    def _take(self, switch: Switch, claim: Claim) -> None:
        try:
            transition = self.phases[switch.phase].step(switch, claim)
        except ModelServerFailed as error:
            self._server_away(switch, claim, error)
            return
        except ChangeoverError as error:
            plain = {
                name: value if isinstance(value, int | float) else str(value) for name, value in error.values.items()
            }
            transition = failed(error.code, **plain)
        self._commit(switch, claim, transition)

    def _commit(self, switch: Switch, claim: Claim, transition: Transition) -> None:
        try:
            with self.units(transition.isolation) as unit:
                if transition.apply is not None:
                    transition.apply(unit)
                values = dict(transition.values)
                ledger.commit_step(unit.session, claim, values, moved=transition.moved)
                if transition.moved and values.get("phase", switch.phase) != switch.phase:
                    ledger.enter_phase(unit.session, switch, str(values["phase"]))
                if transition.again:
                    self.wake_step(unit, switch.id)
                self.checkpoint("step.before_commit")
        except NotYet as refusal:
            self._commit(switch, claim, Transition(moved=True, again=True, values={"phase": refusal.phase}))
            return
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) not in SERIALIZATION:
                raise
            log.info("switch_step_repeats", switch=switch.id, phase=switch.phase)
            self._commit(switch, claim, Transition(moved=False, again=True))
            return
        self.checkpoint("activate.committed" if transition.values.get("status") == "activated" else "step.committed")
        log.info("switch_step", switch=switch.id, phase=switch.phase, moved=transition.moved)

    def _server_away(self, switch: Switch, claim: Claim, error: ModelServerFailed) -> None:
        with self.units() as unit:
            seconds = ledger.wait_for_server(unit.session, switch.id, claim.epoch)
        verdict = server_verdict(switch, error, seconds, self.give_up_seconds)
        self._commit(switch, claim, verdict or Transition(moved=False))


def server_verdict(switch: Switch, error: ModelServerFailed, seconds: float, give_up: int) -> Transition | None:
    """What a failing server means: another model stops at once, absence after ``give_up`` seconds, else wait."""
    if error.reason in ("model", "dimensions"):
        return failed("switch.failed.server_changed", profile=switch.to_key, detail=error.code)
    if seconds >= give_up:
        return failed("switch.failed.server_away", profile=switch.to_key, since=int(seconds))
    return None
