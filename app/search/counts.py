"""How many records another question would have: what an explanation and an empty page tell."""

from __future__ import annotations

from typing import Any

from app.search.budget import Budget
from app.search.engines.ports import LegFailed, Scope, SearchEngine
from app.search.matching import ParsedQuery


class Counts:
    """Counts within what the search has left of its budget, or of the share ``until`` of it.

    ``late``: one was not counted, for want of time or because the engine failed; nothing is counted after it.
    """

    def __init__(self, engine: SearchEngine, session: Any, budget: Budget, until: float = 1.0) -> None:
        self._engine = engine
        self._session = session
        self._budget = budget
        self._until = until
        self.late = False

    def total(self, query: ParsedQuery, scope: Scope, locale: str | None) -> int | None:
        """The records that the words match; None where nobody counted."""
        self.late = self.late or self._budget.spent(self._until)
        if self.late:
            return None
        try:
            return self._engine.keyword(self._session, query, scope, locale, 1, self._budget.left(self._until)).total
        except LegFailed:
            self.late = True
            return None
