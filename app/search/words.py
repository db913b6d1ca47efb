"""The word leg: the question with what means the same, and once more with corrections where a word is unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from app.search.budget import LEGS_UNTIL, Budget
from app.search.engines.ports import KeywordLeg, LegFailed, Scope, SearchEngine, TooSlow
from app.search.matching import ParsedQuery
from app.search.options import Synonyms
from app.search.spelling import correctable, corrected, with_beginning, with_synonyms

WINDOW = 200
"""Records of each leg; ranks, normalisation and pages come from it alone (`search-measured.md` 3)."""
FEW = 5
"""Fewer hits are a poor result (`seed-facts.md` 4.6): then every word is looked at, not only those no text has."""
SUGGESTED = 3
"""Words of a question that are corrected at most, where matching itself allows none or fewer."""
LATE, FAILED = "words_timeout", "words_failed"


@dataclass(frozen=True)
class Words:
    """The leg, the question as it was asked in the end, and the corrections that are worth a suggestion.

    ``uncorrected``: there was no time to look for them.
    """

    leg: KeywordLeg
    query: ParsedQuery
    corrections: Mapping[str, str] = field(default_factory=dict)
    uncorrected: bool = False


class WordLeg:
    """Asks an engine for words."""

    def __init__(self, engine: SearchEngine) -> None:
        self._engine = engine

    def ask(
        self,
        session: Any,
        query: ParsedQuery,
        scope: Scope,
        locale: str | None,
        synonyms: Synonyms,
        budget: Budget,
    ) -> Words:
        """What was typed is looked for first: a word that some text has is never exchanged for another.

        A leg that is late has no hits, and its total is "at least 0"; one whose corrections are late stays as it was.
        """
        query = with_synonyms(query, synonyms) if query.terms else query
        try:
            leg = self._keyword(session, query, scope, locale, budget)
        except LegFailed as error:
            return Words(KeywordLeg(hits=(), total=0, known_idf_mass=0.0, capped=True, degraded=_why(error)), query)
        leg, query = self._begun(session, query, scope, locale, budget, leg)
        unknown = [word for word in correctable(query) if word in leg.unknown or len(leg.hits) < FEW]
        if not unknown:
            return Words(leg, query)
        try:
            corrections = self._corrections(session, unknown[:SUGGESTED], scope, budget)
        except LegFailed:
            return Words(leg, query, uncorrected=True)
        most = query.rules.fuzzy if query.rules else 0
        applied = dict(list(corrections.items())[:most])
        if not applied:
            return Words(leg, query, corrections)
        respelt = corrected(query, applied)
        try:
            return Words(self._keyword(session, respelt, scope, locale, budget), respelt, corrections)
        except LegFailed as error:
            return Words(replace(leg, degraded=leg.degraded or _why(error)), query, corrections)

    def _begun(
        self, session: Any, query: ParsedQuery, scope: Scope, locale: str | None, budget: Budget, leg: KeywordLeg
    ) -> tuple[KeywordLeg, ParsedQuery]:
        """Few hits of one word: the words that begin so as well."""
        looser = with_beginning(query) if len(leg.hits) < FEW and not budget.spent(LEGS_UNTIL) else query
        if looser is query:
            return leg, query
        try:
            return self._keyword(session, looser, scope, locale, budget), looser
        except LegFailed:
            return leg, query

    def _corrections(self, session: Any, words: Sequence[str], scope: Scope, budget: Budget) -> Mapping[str, str]:
        if budget.spent(LEGS_UNTIL):
            raise TooSlow
        return self._engine.corrections(session, words, scope, budget.left(LEGS_UNTIL))

    def _keyword(
        self, session: Any, query: ParsedQuery, scope: Scope, locale: str | None, budget: Budget
    ) -> KeywordLeg:
        return self._engine.keyword(session, query, scope, locale, WINDOW, budget.left(LEGS_UNTIL))


def _why(error: LegFailed) -> str:
    return LATE if isinstance(error, TooSlow) else FAILED
