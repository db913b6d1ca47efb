"""Every point at which a process of the switch may die, by name; the fault table enumerates them.

A crash drill (`CHANGEOVER_CRASH_AT=name` or ``name:n`` for the n-th passing; refused in production) kills the process
with SIGKILL right there. A drill that is started with a switch (`flask embeddings switch --simulate-crash`) kills
whichever worker comes to its point first, once.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from app.core.contracts.checkpoints import Checkpoint, no_checkpoint
from app.embeddings import drill_store
from app.embeddings.leases import new_token

NAMES = (
    "start.before_insert",
    "start.before_commit",
    "start.committed",
    "step.claimed",
    "step.before_commit",
    "step.committed",
    "preflight.counted",
    "chunk.claimed",
    "chunk.read",
    "chunk.embedded",
    "chunk.batch_before_commit",
    "chunk.batch_committed",
    "chunk.before_done",
    "chunk.done",
    "events.claimed",
    "events.applied",
    "events.moved",
    "indexes.dropped_serving",
    "indexes.claimed",
    "indexes.before_build",
    "indexes.built",
    "verify.claimed",
    "verify.checked",
    "activate.before_update",
    "activate.before_commit",
    "activate.committed",
    "tidy.before_drop",
    "tidy.dropped",
    "abandon.before_commit",
    "abandon.committed",
    "resume.before_commit",
)


ENGINE_NAMES = (
    "copies.before_bulk",
    "copies.bulk_written",
    "copies.noted",
    "copies.copied",
    "copies.refreshed",
    "copies.before_alias",
    "copies.alias_moved",
    "copies.dropped",
)
"""Passed by Elasticsearch's part of a switch only, where it keeps copies of the vectors."""
JOB_BEGINS = ("step.claimed", "chunk.claimed", "events.claimed", "indexes.claimed", "verify.claimed")
DRILLED = tuple(name for name in NAMES if not name.startswith(("start.", "abandon.", "resume.", "tidy.")))
"""Points that the workers of a running switch pass."""


class CrashDrill:
    """Kills the process at the n-th passing of one checkpoint."""

    def __init__(self, wish: str) -> None:
        name, _, count = wish.partition(":")
        if name not in NAMES + ENGINE_NAMES:
            raise ValueError(f"CHANGEOVER_CRASH_AT: {name} is none of {', '.join(NAMES + ENGINE_NAMES)}")
        self.name = name
        self.left = int(count or 1)

    def __call__(self, name: str) -> None:
        if name not in NAMES + ENGINE_NAMES:
            raise ValueError(f"unknown checkpoint {name}")
        if name == self.name:
            self.left -= 1
            if self.left == 0:
                kill_this_process()


class StagedCrash:
    """Kills the process at the point that a running switch's drill names, unless another has died there already.

    The drill is read when a job begins, so that the points amid it cost nothing.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._armed: tuple[int, str] | None = None

    def __call__(self, name: str) -> None:
        if name in JOB_BEGINS:
            self._armed = None
            with suppress(SQLAlchemyError), self.engine.connect() as connection:
                self._armed = drill_store.armed(connection)
        if self._armed is not None and self._armed[1] == name:
            with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                dies = drill_store.fire(connection, self._armed[0], new_token().rpartition(".")[0] + ".")
            if dies:
                kill_this_process()


def kill_this_process() -> None:
    """Nothing of it runs any more, not even what stands in a ``finally``."""
    os.kill(os.getpid(), signal.SIGKILL)


def staged(checkpoint: Checkpoint, engine: Engine, environment: str) -> Checkpoint:
    """Let drills be started on this console, unless it is in production or has a crash of its own."""
    return StagedCrash(engine) if checkpoint is no_checkpoint and environment != "production" else checkpoint


def make_checkpoint(wish: str | None) -> Checkpoint:
    """The crash drill for ``wish``, or nothing at all."""
    return CrashDrill(wish) if wish else no_checkpoint
