"""Points where a process may die (`switch.md`, "For tests"). Called by the switch, its phases and its consumers;
answered by nothing in production and by the crash drill in tests. Absence is `no_checkpoint`."""

from __future__ import annotations

from typing import Protocol


class Checkpoint(Protocol):
    """``name`` is ``<phase or part>.<point>``, all of them listed in `app/embeddings/checkpoints.py`."""

    def __call__(self, name: str) -> None: ...


def no_checkpoint(name: str) -> None:
    """Do nothing."""
