"""Every point at which a process of the switch may die, by name; the fault table enumerates them.

A crash drill (`CHANGEOVER_CRASH_AT=name` or ``name:n`` for the n-th passing; refused in production) kills the process
with SIGKILL right there.
"""

from __future__ import annotations

import os
import signal

from app.core.contracts.checkpoints import Checkpoint, no_checkpoint

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


class CrashDrill:
    """Kills the process at the n-th passing of one checkpoint."""

    def __init__(self, wish: str) -> None:
        name, _, count = wish.partition(":")
        if name not in NAMES:
            raise ValueError(f"CHANGEOVER_CRASH_AT: {name} is none of {', '.join(NAMES)}")
        self.name = name
        self.left = int(count or 1)

    def __call__(self, name: str) -> None:
        if name not in NAMES:
            raise ValueError(f"unknown checkpoint {name}")
        if name == self.name:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


def make_checkpoint(wish: str | None) -> Checkpoint:
    """The crash drill for ``wish``, or nothing at all."""
    return CrashDrill(wish) if wish else no_checkpoint
