"""The word leg: the question with what means the same, and once more with corrections where a word is unknown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.search.engines.ports import KeywordLeg, Scope, SearchEngine
from app.search.matching import ParsedQuery
from app.search.spelling import correctable, corrected, with_synonyms

WINDOW = 200
"""Records of each leg; ranks, normalisation and pages come from it alone (`search-measured.md` 3)."""
FEW = 5
"""Fewer hits are a poor result (`seed-facts.md` 4.6): then every word is looked at, not only those no text has."""
SUGGESTED = 3
"""Words of a question that are corrected at most, where matching itself allows none or fewer."""

Synonyms = Mapping[str, Sequence[Sequence[str]]]
"""Locale to groups of words."""


class WordLeg:
    """Asks an engine for words."""

    def __init__(self, engine: SearchEngine, synonyms: Callable[[Any], Synonyms]) -> None:
        self._engine = engine
        self._synonyms = synonyms

    def ask(
        self, session: Any, query: ParsedQuery, scope: Scope, locale: str | None
    ) -> tuple[KeywordLeg, ParsedQuery, Mapping[str, str]]:
        """The leg, the question as it was asked in the end, and the corrections that are worth a suggestion.

        What was typed is looked for first: a word that some text has is never exchanged for another.
        """
        query = with_synonyms(query, self._synonyms(session)) if query.terms else query
        leg = self._engine.keyword(session, query, scope, locale, WINDOW)
        unknown = [word for word in correctable(query) if word in leg.unknown or len(leg.hits) < FEW]
        corrections = self._engine.corrections(session, unknown[:SUGGESTED], scope) if unknown else {}
        most = query.rules.fuzzy if query.rules else 0
        applied = dict(list(corrections.items())[:most])
        if applied:
            query = corrected(query, applied)
            leg = self._engine.keyword(session, query, scope, locale, WINDOW)
        return leg, query, corrections
