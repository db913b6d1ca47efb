"""The AI upgrade of search is this one contract (`architecture.md` 2.8).

Called by `search/service.py` for each request; answered by the lexical resolver, or by the AI resolver that wraps it.
Exactly one is wired. `search-facts` 4.1: `mode` picks the path, `cost` what may be spent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from app.core.contracts.planning import IntentParser, Planner
from app.core.contracts.rerank import Reranker
from app.core.contracts.vectors import VectorSearch

Mode = Literal["auto", "basic", "orchestrated"]
Cost = Literal["fast", "balanced", "deep"]
Matching = Literal["strict", "balanced", "tolerant", "auto"]
"""How forgiving words are (`seed-facts.md` 5); ``auto`` orders hits and removes none."""


@dataclass(frozen=True)
class SearchStrategy:
    """The components of one search. ``vectors`` None: words only. ``degraded_reason`` says why less than asked.

    ``planner`` and ``intent`` None: rules. ``reranker`` None: the heuristic one, where a plan asks for any.
    ``max_retries`` limits how often a poor answer is looked for again.
    """

    mode_applied: Cost
    vectors: VectorSearch | None
    degraded_reason: str | None = None
    planner: Planner | None = None
    intent: IntentParser | None = None
    reranker: Reranker | None = None
    max_retries: int = 0


class SearchStrategyResolver(Protocol):
    """Answers every mode and cost; never raises for what is merely absent."""

    def resolve(self, mode: Mode, cost: Cost) -> SearchStrategy: ...
