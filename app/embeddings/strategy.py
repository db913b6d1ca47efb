"""The strategy of a console with embeddings: it wraps the lexical one (`architecture.md` 2.8)."""

from __future__ import annotations

from dataclasses import replace

from app.core.contracts.planning import IntentParser, Planner
from app.core.contracts.rerank import Reranker
from app.core.contracts.strategy import Cost, Mode, SearchStrategy, SearchStrategyResolver
from app.core.contracts.vectors import VectorSearch

RETRIES = 2
"""Of a deep search at most."""


class VectorResolver:
    """Adds the vector leg where it may be paid for, and to a deep search what a language model says (`seed-facts` 4.2).

    Without a language model there is no deep search: it is answered fast. A cross-encoder is used where there is one
    and a plan asks for it; the setting `search.reranker.enabled` does.
    """

    def __init__(
        self,
        lexical: SearchStrategyResolver,
        vectors: VectorSearch,
        intent: IntentParser | None = None,
        planner: Planner | None = None,
        reranker: Reranker | None = None,
    ) -> None:
        self._lexical = lexical
        self._vectors = vectors
        self._intent = intent
        self._planner = planner
        self._reranker = reranker

    def resolve(self, mode: Mode, cost: Cost) -> SearchStrategy:
        """``basic`` and ``fast`` are words alone, whatever else is there."""
        if mode == "basic" or cost == "fast":
            return self._lexical.resolve(mode, "fast")
        if cost == "balanced":
            return SearchStrategy("balanced", self._vectors, reranker=self._reranker)
        if self._intent is None or self._planner is None:
            return replace(self._lexical.resolve(mode, "fast"), degraded_reason="deep_unavailable")
        return SearchStrategy(
            "deep",
            self._vectors,
            planner=self._planner,
            intent=self._intent,
            reranker=self._reranker,
            max_retries=RETRIES,
        )
