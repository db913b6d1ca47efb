"""How long the costly steps of a search took, for who switched `search.debug_timings` on (`seed-facts.md` 12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

import structlog

from app.core.clock import Clock

Stage = Literal["intent", "plan", "vector", "ensemble"]
STAGES: tuple[Stage, ...] = ("intent", "plan", "vector", "ensemble")

log = structlog.get_logger(__name__)


class Stopwatch:
    """Milliseconds by step, to three decimals. A step that did not run has none, never 0; one that ran twice has both.

    ``told`` is set once the settings are known; before, a failing step is not logged.
    """

    def __init__(self, clock: Clock, started: float) -> None:
        self._clock = clock
        self._started = started
        self._took: dict[Stage, float] = {}
        self.told = False

    @contextmanager
    def stage(self, name: Stage) -> Iterator[None]:
        """Measure a step. What it raises goes on unchanged."""
        began = self._clock.monotonic()
        try:
            yield
        except Exception as error:
            if self.told:
                self._add(name, began)
                log.info("search.stage_failed", failed_stage=name, timings=self.as_json(), error=type(error).__name__)
            raise
        self._add(name, began)

    def _add(self, name: Stage, began: float) -> None:
        self._took[name] = self._took.get(name, 0.0) + self._clock.monotonic() - began

    def total(self) -> float:
        """Milliseconds since the search began."""
        return (self._clock.monotonic() - self._started) * 1000

    def as_json(self) -> Mapping[str, float | None]:
        """`meta.search.timings`."""
        stages = {f"{name}_ms": round(self._took[name] * 1000, 3) if name in self._took else None for name in STAGES}
        return {**stages, "total_ms": round(self.total(), 3)}
