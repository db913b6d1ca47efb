"""The strategy of a console without AI packages: every mode and cost is answered, by words (`seed-facts.md` 4.2)."""

from __future__ import annotations

from app.core.contracts.strategy import Cost, Mode, SearchStrategy


class LexicalResolver:
    """The :class:`~app.core.contracts.strategy.SearchStrategyResolver` that only knows words."""

    def resolve(self, mode: Mode, cost: Cost) -> SearchStrategy:
        """Words, and ``mode_unavailable`` where more was asked for."""
        asked_for_words = mode == "basic" or cost == "fast"
        return SearchStrategy(
            mode_applied="fast", vectors=None, degraded_reason=None if asked_for_words else "mode_unavailable"
        )
