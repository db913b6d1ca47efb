"""Queue `default`: index events of the serving model and of Elasticsearch."""

from __future__ import annotations

from app.core.queue import DEFAULT, Wake
from jobs import runtime

APPLY_SERVING = "jobs.index_events.apply_serving"
FOLLOW_ENGINE = "jobs.index_events.follow_engine"


def apply_serving() -> None:
    """Apply index events to the rows of the serving model; Elasticsearch gets the words first, then the vectors."""
    parts = runtime.container()
    follow_engine()
    more = bool(parts.ai and parts.ai.consumers.apply("serving", runtime.STOPPING))
    follow_engine()
    if more:
        parts.queue.send(Wake(APPLY_SERVING, DEFAULT))


def follow_engine() -> None:
    """Write what changed to Elasticsearch; idle while it is not followed."""
    parts = runtime.container()
    if parts.elasticsearch and parts.elasticsearch.apply(runtime.STOPPING):
        parts.queue.send(Wake(FOLLOW_ENGINE, DEFAULT))
