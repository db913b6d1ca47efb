"""Queue `embeddings-index`: one index build or one verify chunk."""

from __future__ import annotations

from app.core.queue import INDEX, Wake
from jobs import runtime

INDEX_CHUNK = "jobs.embeddings_index.index_chunk"


def index_chunk(switch_id: int) -> None:
    """Build or verify one entity, then come again for the next."""
    parts = runtime.container()
    with runtime.trouble_told(switch_id):
        worked = parts.ai is not None and parts.ai.index_chunks.work(switch_id)
    if worked and not runtime.STOPPING.is_set():
        parts.queue.send(Wake(INDEX_CHUNK, INDEX, {"switch_id": switch_id}))


def build_missing() -> None:
    """Build indexes of the serving model that are missing (a new installation, a restore, one dropped by hand)."""
    parts = runtime.container()
    if parts.ai:
        parts.ai.upkeep.build_missing_indexes()


def rebuild(space_id: int) -> None:
    """Drop the invalid indexes of the serving space and build what is missing; somebody asked for it."""
    parts = runtime.container()
    if parts.ai:
        parts.ai.health.rebuild_indexes(space_id)
