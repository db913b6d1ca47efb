"""The strategy of a console with embeddings: it wraps the lexical one (`architecture.md` 2.8)."""

from __future__ import annotations

from app.core.contracts.strategy import Cost, Mode, SearchStrategy, SearchStrategyResolver
from app.core.contracts.vectors import VectorSearch


class VectorResolver:
    """Adds the vector leg where it may be paid for. ``deep`` has no planner of its own yet and says so."""

    def __init__(self, lexical: SearchStrategyResolver, vectors: VectorSearch) -> None:
        self._lexical = lexical
        self._vectors = vectors

    def resolve(self, mode: Mode, cost: Cost) -> SearchStrategy:
        """``basic`` and ``fast`` are words alone, whatever else is there."""
        if mode == "basic" or cost == "fast":
            return self._lexical.resolve(mode, "fast")
        return SearchStrategy(
            mode_applied="balanced",
            vectors=self._vectors,
            degraded_reason="deep_unavailable" if cost == "deep" else None,
        )
