"""What a search may ask before it looks: what is meant (intent), and what to run and how to weigh it (plan).

Called by `search`; answered by its own rules, or by a language model behind `chat.py`. Absence (None in the strategy)
means the rules: nothing is expanded, and the settings' plan runs (`seed-facts.md` 4.8, 4.9).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Shape = Literal["hybrid", "fulltext", "vector"]
"""Which legs a plan wants: both and fused, words alone, vectors alone."""
PlanSource = Literal["fallback_rules", "llm+guardrails"]


@dataclass(frozen=True)
class Intent:
    """What a question is about: its ``keywords``, and the text that is searched beside the question's own words.

    ``expanded`` None: nothing but what was typed.
    """

    keywords: tuple[str, ...] = ()
    expanded: str | None = None


@dataclass(frozen=True)
class Plan:
    """What one search runs and how it is put together (`seed-facts.md` 4.8, 8; `search-measured.md` 2, 6).

    ``words_weight`` and ``vector_weight`` are shares in [0, 1] that sum to 1; the former is multiplied with what the
    word leg knows. ``rrf_weight`` and ``agreement_boost`` 0 leave their parts of the score out. ``retry_below`` is a
    quality in [0, 1]. ``tuning`` names the profile that was applied.
    """

    shape: Shape = "hybrid"
    words_weight: float = 0.5
    vector_weight: float = 0.5
    rrf_k: int = 60
    rrf_weight: float = 0.0
    agreement_boost: float = 0.0
    rerank: bool = False
    rerank_top_k: int = 30
    rerank_blend: float = 0.6
    retry: bool = True
    retries: int = 2
    retry_below: float = 0.3
    source: PlanSource = "fallback_rules"
    tuning: Mapping[str, Any] | None = None

    @property
    def wants_vectors(self) -> bool:
        return self.shape != "fulltext"


class IntentParser(Protocol):
    """Says what a question is about. Safe for threads."""

    def intent(self, question: str, timeout: float) -> Intent:
        """Within ``timeout`` seconds, no transaction open. Raises :class:`app.core.errors.Unavailable`, also for an
        answer that can't be read."""
        ...


class Planner(Protocol):
    """Says what to run for a question. Safe for threads."""

    def plan(self, question: str, rules: Plan, timeout: float) -> Plan:
        """A plan in place of ``rules``, whose values hold wherever it says nothing; within ``timeout`` seconds, no
        transaction open. Raises :class:`app.core.errors.Unavailable`, also for an answer that can't be read."""
        ...
