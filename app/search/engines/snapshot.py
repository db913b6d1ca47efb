"""What every engine leaves to PostgreSQL: texts and counts are of the search's own snapshot, whoever ranks words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from app.core.contracts.documents import WordColumns
from app.search.engines.ports import Facet, FoundDocument, Key, KeywordHit, Scope, SearchEngine
from app.search.matching import ParsedQuery


class SnapshotInPostgres:
    """The part of a :class:`~app.search.engines.ports.SearchEngine` that is PostgreSQL's, whichever engine it is."""

    def __init__(self, postgres: SearchEngine) -> None:
        self._postgres = postgres

    @property
    def words(self) -> WordColumns:
        """PostgreSQL's words are written with each row, whatever is chosen: it answers when the other is away."""
        return self._postgres.words

    def satisfying(self, session: Any, query: ParsedQuery, keys: Sequence[Key]) -> AbstractSet[Key]:
        """Asked of the texts in the search's own snapshot."""
        return self._postgres.satisfying(session, query, keys)

    def coverage(self, session: Any, query: ParsedQuery, scope: Scope, hits: Sequence[KeywordHit]) -> Sequence[float]:
        """Judged by PostgreSQL's words, so that quality means the same whichever engine ranks."""
        return self._postgres.coverage(session, query, scope, hits)

    def corrections(
        self, session: Any, words: Sequence[str], scope: Scope, seconds: float | None = None
    ) -> Mapping[str, str]:
        """Asked of the texts in the search's own snapshot, which has every word of it."""
        return self._postgres.corrections(session, words, scope, seconds)

    def suggestions(self, session: Any, prefix: str, scope: Scope, locale: str | None, limit: int) -> Sequence[str]:
        """Words of the list that PostgreSQL keeps, seen in the search's own snapshot."""
        return self._postgres.suggestions(session, prefix, scope, locale, limit)

    def facets(
        self,
        session: Any,
        query: ParsedQuery,
        scope: Scope,
        locale: str | None,
        fields: Mapping[str, Sequence[str]],
        seconds: float | None = None,
    ) -> Sequence[Facet]:
        """Counted in the search's own snapshot, so that exactly the rows count that the scope allows."""
        return self._postgres.facets(session, query, scope, locale, fields, seconds)

    def documents(self, session: Any, keys: Sequence[Key], scope: Scope) -> Sequence[FoundDocument]:
        """Read in the search's own snapshot."""
        return self._postgres.documents(session, keys, scope)
