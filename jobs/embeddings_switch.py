"""Queue `embeddings-switch`: one step of the state machine."""

from __future__ import annotations

from jobs import runtime


def advance(switch_id: int) -> None:
    """Take one step; its commit wakes the next."""
    parts = runtime.container()
    if parts.ai:
        with runtime.trouble_told(switch_id):
            parts.ai.machine.advance(switch_id)
