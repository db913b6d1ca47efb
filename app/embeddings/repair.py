"""Fills a space with whatever the anti-join says is missing, without events and without a switch."""

from __future__ import annotations

from app.core.unit import Units
from app.embeddings import store
from app.embeddings.synchroniser import Outcome, Stop, Synchroniser


def fill_space(
    units: Units, synchroniser: Synchroniser, space_id: int, entity: str | None = None, stop: Stop | None = None
) -> Outcome:
    """Embed every document of the space (or of one entity) that lacks current vectors; returns what was done."""
    total = Outcome()
    with units() as unit:
        space = store.space(unit.session, space_id)
        entities = [entity] if entity else list(store.count_embeddable(unit.session))
    for name in entities:
        with units() as unit:
            keys = store.missing_in_range(unit.session, space_id, name, None, None)
        outcome = synchroniser.run(space, keys, stop=stop)
        total.done += outcome.done
        total.passages += outcome.passages
        total.failed += outcome.failed
        total.skipped += outcome.skipped
    return total
