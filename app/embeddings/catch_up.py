"""Embeds what an entity lacks right now, for commands that must not end before it is done.

The serving consumer's cursor is shared with the workers: whoever holds it works, the other one waits for it, so that no
text is embedded twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.core.clock import Clock
from app.core.unit import Units
from app.embeddings import store
from app.embeddings.consumers import SERVING, Consumers
from app.embeddings.upkeep import Upkeep

PATIENCE = 20
"""Rounds in which nothing moves before the rest is left to the workers."""
PAUSE = 0.5
"""Seconds between two rounds while somebody else works."""


@dataclass(frozen=True)
class CatchUp:
    """Raises what the server's client raises when the first model can't be set up."""

    units: Units
    upkeep: Upkeep
    consumers: Consumers
    clock: Clock

    def entity(self, name: str) -> tuple[int, int]:
        """(texts that were embedded meanwhile, texts that still lack vectors) of an entity."""
        self.upkeep.set_up()
        before = left = self._left(name)
        idle = 0
        while left and idle < PATIENCE:
            more = self.consumers.apply(SERVING)
            now = self._left(name)
            idle = 0 if now < left else idle + 1
            if now and not more and now == left:
                self.clock.sleep(PAUSE)
            left = now
        return before - left, left

    def waiting(self, session: Session, entity: str) -> int:
        """Texts of an entity that could be embedded now and lack vectors of the serving model; 0 before any serves."""
        serving = store.serving(session)
        return 0 if serving is None else store.count_missing(session, serving.space_id, entity).open

    def serving(self, session: Session) -> str | None:
        """The model that answers now."""
        serving = store.serving(session)
        return None if serving is None else serving.model_key

    def _left(self, name: str) -> int:
        with self.units() as unit:
            return self.waiting(unit.session, name)
