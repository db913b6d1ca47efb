"""Queue `embeddings`: one chunk of texts to embed, or events of a switch's target."""

from __future__ import annotations

from app.core.queue import EMBEDDINGS, Wake
from jobs import runtime

EMBED_CHUNK = "jobs.embeddings.embed_chunk"
APPLY_TARGET = "jobs.embeddings.apply_target"


def embed_chunk(switch_id: int, slot: int) -> None:
    """Work on one chunk, then come again for the next; ``slot`` tells the wakes of several workers apart."""
    parts = runtime.container()
    with runtime.trouble_told(switch_id):
        worked = parts.ai is not None and parts.ai.chunks.work(switch_id, runtime.STOPPING)
    if worked and not runtime.STOPPING.is_set():
        parts.queue.send(Wake(EMBED_CHUNK, EMBEDDINGS, {"switch_id": switch_id, "slot": slot}))


def apply_target() -> None:
    """Apply index events to the rows of the switch's target."""
    parts = runtime.container()
    if parts.ai and parts.ai.consumers.apply("target", runtime.STOPPING):
        parts.queue.send(Wake(APPLY_TARGET, EMBEDDINGS))
