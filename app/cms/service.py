"""What contents need beyond the generic records: time passes, and validity begins and ends without an edit."""

from __future__ import annotations

from app.cms import store
from app.cms.entities import NAME, documents
from app.core.clock import Clock
from app.core.contracts.documents import DocumentIndex
from app.core.unit import Unit

BATCH = 200


class Contents:
    """Called by the scheduler."""

    def __init__(self, index: DocumentIndex, clock: Clock) -> None:
        self.index = index
        self.clock = clock

    def refresh_validity(self, unit: Unit) -> int:
        """Index contents whose validity has begun and hide those whose validity has ended; at most :data:`BATCH`.

        Returns how many were changed: the caller opens another unit until it is 0. Safe to run twice.
        """
        now = self.clock.now()
        due = store.whose_validity_crossed(unit.session, NAME, now, BATCH)
        if due:
            self.index.put_many(unit, NAME, {content.id: documents(content, now) for content in due})
        return len(due)
