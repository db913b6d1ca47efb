"""Queue `default`: index events of the serving model."""

from __future__ import annotations

from app.core.queue import DEFAULT, Wake
from jobs import runtime

APPLY_SERVING = "jobs.index_events.apply_serving"


def apply_serving() -> None:
    """Apply index events to the rows of the serving model."""
    parts = runtime.container()
    if parts.ai and parts.ai.consumers.apply("serving", runtime.STOPPING):
        parts.queue.send(Wake(APPLY_SERVING, DEFAULT))
