"""What a phase is: one step at a time, each ending in one transition that the machine commits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from app.core.contracts.copies import LIVE
from app.core.errors import Unavailable
from app.core.unit import Isolation, Unit
from app.embeddings.ledger_store import Claim
from app.embeddings.models import Switch

PHASES = ("preflight", "embeddings", "indexes", "verify", "activate")
Phase = Literal["preflight", "embeddings", "indexes", "verify", "activate"]


@dataclass(frozen=True)
class Transition:
    """How a step ends.

    ``moved`` False: nothing changed, wait to be woken. ``again``: take the next step at once. ``apply`` runs in the
    committing transaction before the conditional update of the switch, and may raise to refuse the commit.
    """

    moved: bool
    again: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)
    apply: Callable[[Unit], None] | None = None
    isolation: Isolation = "READ COMMITTED"


WAIT = Transition(moved=False)


def enter(phase: Phase, **values: Any) -> Transition:
    """Go to ``phase`` and take its first step at once."""
    return Transition(moved=True, again=True, values={"phase": phase, **values})


def failed(code: str, /, **values: Any) -> Transition:
    """Stop with a reason; serving goes on as it was."""
    return Transition(moved=True, values={"status": "failed", "error_code": code, "error_values": values})


def engine_away(error: Unavailable, seconds: float, give_up: int) -> Transition | None:
    """What the absence of an engine that keeps copies means: to wait (None), and to stop after ``give_up`` seconds."""
    if seconds < give_up:
        return None
    return failed("switch.failed.engine_away", since=int(seconds), detail=error.code)


class PhaseStep(Protocol):
    """One phase. Reads in its own units, changes nothing but through its transition or idempotent work."""

    def step(self, switch: Switch, claim: Claim) -> Transition: ...


class NotYet(Exception):
    """Raised by an ``apply`` whose conditions no longer hold: roll back, and go to ``phase`` instead."""

    def __init__(self, phase: Phase) -> None:
        super().__init__(phase)
        self.phase = phase


GENERATION = "generation"
"""In a switch's actuals: where an engine keeps copies of its vectors (`core/contracts/copies.py`)."""


def generation_of(switch: Switch) -> str | None:
    """The generation of an engine's indexes that the switch builds, :data:`LIVE` in place, None without an engine."""
    found = switch.actuals.get(GENERATION)
    return None if found is None else str(found)


def built_generation(switch: Switch) -> str | None:
    """The generation that is to answer from the activation on; None when it is the one that answers already."""
    found = generation_of(switch)
    return None if found == LIVE else found


def consumer_of(switch: Switch) -> str:
    """The consumer that keeps the switch's rows up to date: a return rebuilds what serves already."""
    return "serving" if switch.kind == "return" else "target"
