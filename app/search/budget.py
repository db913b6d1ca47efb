"""What a search may still take (`search-measured.md` 8). Every step asks, and gets a share that leaves some for others.

A step that runs elsewhere (a model, a leg) carries its share as its own limit, so that nothing lives on for long.
"""

from __future__ import annotations

from collections.abc import Mapping

from app.core.clock import Clock
from app.core.contracts.strategy import Cost

BUDGETS: Mapping[Cost, int] = {"fast": 300, "balanced": 1500, "deep": 10_000}
"""Milliseconds."""
INTENT_UNTIL = 0.25
"""Of the whole: by then a language model must have said what is meant."""
PLAN_UNTIL = 0.5
LEGS_UNTIL = 0.9
"""Both legs and reranking; the rest is for the page."""
EMBED_SHARE = 0.5
"""What the question's vector may take of what the legs have left: 675 ms of a balanced search. The rest is for the
legs, so that a model that hangs does not take the words with it."""
LEAST = 0.001
"""Nothing that is limited by a budget may take 0 for endless."""


class Budget:
    """Seconds that began with the search at ``started``, the clock's monotonic time."""

    def __init__(self, clock: Clock, milliseconds: int, started: float) -> None:
        self._clock = clock
        self._started = started
        self.seconds = milliseconds / 1000

    def left(self, until: float = 1.0) -> float:
        """Seconds to that share of the whole, at least `LEAST`."""
        return max(LEAST, self._started + self.seconds * until - self._clock.monotonic())

    def spent(self, until: float = 1.0) -> bool:
        """Whether that share of the whole is over."""
        return self.left(until) <= LEAST
