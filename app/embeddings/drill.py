"""A crash drill for staging: a real switch in which one process kills itself at a named point, once, and who then
watches how long it takes until somebody goes on (`flask embeddings switch --simulate-crash`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from app.core.clock import Clock
from app.core.errors import Conflict, Forbidden, Invalid
from app.core.processes import store as processes
from app.core.queue import QUEUES
from app.core.unit import Unit, Units
from app.embeddings import drill_store
from app.embeddings.checkpoints import DRILLED
from app.embeddings.drill_store import Course
from app.embeddings.models import Switch

POINT_OF_PHASE = {
    "preflight": "preflight.counted",
    "embeddings": "chunk.embedded",
    "indexes": "indexes.before_build",
    "verify": "verify.checked",
    "activate": "activate.before_commit",
}
ALIVE_SECONDS = 15
POLL_SECONDS = 0.25
PATIENCE_SECONDS = 120.0
"""How long a switch may stand still after the crash until the drill says that nobody has come back."""


@dataclass
class Outcome:
    """What a drill came to. ``seconds``: from the crash until what the dead held was taken and the ledger moved."""

    point: str
    crashed: bool = False
    seconds: float | None = None
    status: str = ""
    violations: dict[str, int] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        ended = self.crashed and self.seconds is not None and self.status == "activated"
        return ended and not any(self.violations.values())

    def shown(self) -> dict[str, Any]:
        """As JSON."""
        return {**vars(self), "passed": self.passed}


class Drills:
    """Refuses where a drill may not be, and watches one."""

    def __init__(self, units: Units, clock: Clock) -> None:
        self.units = units
        self.clock = clock

    def refuse(self, environment: str) -> None:
        """Refuse in production, and where a living process is missing: the switch could not go on by itself.

        That somebody starts an ended process again can't be seen from here; the watch says when nobody did.
        """
        if environment == "production":
            raise Forbidden("switch.drill_production")
        with self.units() as unit:
            alive = processes.alive(unit.session, ALIVE_SECONDS)
        there = {process.queue for process in alive} | {process.kind for process in alive}
        missing = sorted({*QUEUES, processes.SCHEDULER} - there)
        if missing:
            raise Conflict("switch.drill_unattended", missing=", ".join(missing))

    @staticmethod
    def point(name: str) -> str:
        """The checkpoint for a phase or a checkpoint's name. Raises :class:`Invalid` listing the known ones."""
        found = POINT_OF_PHASE.get(name, name)
        if found not in DRILLED:
            raise Invalid("switch.drill_point", point=name, known=", ".join((*POINT_OF_PHASE, *DRILLED)))
        return found

    @staticmethod
    def arming(at: str) -> Callable[[Unit, int], None]:
        """What a start does within its unit, so that the switch begins with its drill."""
        return lambda unit, switch_id: drill_store.arm(unit.session, switch_id, at)

    def watch(self, switch: Switch, at: str) -> Outcome:
        """Watch until the switch has ended, or stands still for too long after the crash."""
        outcome = Outcome(at)
        while True:
            with self.units() as unit:
                course = drill_store.course(unit.session, switch.id)
            outcome.crashed, outcome.status = course.crashed, course.status
            if outcome.seconds is None and course.crashed and self._goes_on(course):
                outcome.seconds = round(course.seconds, 1)
            if course.status != "running" or (outcome.seconds is None and course.seconds > PATIENCE_SECONDS):
                break
            self.clock.sleep(POLL_SECONDS)
        if outcome.status == "activated" and switch.to_space_id is not None:
            with self.units() as unit:
                outcome.violations = drill_store.violations(unit.session, switch.to_space_id)
        return outcome

    @staticmethod
    def _goes_on(course: Course) -> bool:
        return course.held == 0 and (course.moved or course.status != "running")
