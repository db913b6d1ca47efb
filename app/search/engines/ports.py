"""What `search` needs of an engine. PostgreSQL answers it now; an engine on another machine answers the same.

`tests/contracts/test_search_engine.py` runs on every implementation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from app.core.contracts.conditions import Filter
from app.core.contracts.documents import WordColumns
from app.search.matching import ParsedQuery

Key = tuple[str, int]
"""(entity, record_id)."""
Scope = Mapping[str, Filter | None]
"""The entities to search, each with its row filter; what is not named is not searched."""

TOTAL_LIMIT = 10_000


class LegFailed(Exception):
    """An engine could not look for words; nothing of it is used. The session goes on as if it had not been asked."""


class TooSlow(LegFailed):
    """A leg took longer than it may."""


class KeywordHit(NamedTuple):
    """A record that has words of the question. ``locale`` is where it matches best; scores of one leg compare.

    ``named``: one of the question's identifiers stands in it; such hits come before all others. ``coverage`` in [0, 1]
    is the share of the question's idf whose terms and identifiers the text has (`search-measured.md` 6), unknown words
    counting as missing; None where the leg did not say.
    """

    entity: str
    record_id: int
    locale: str
    score: float
    named: bool = False
    coverage: float | None = None

    @property
    def key(self) -> Key:
        return (self.entity, self.record_id)


@dataclass(frozen=True)
class KeywordLeg:
    """The word leg: at most ``window`` hits, best first, ties by entity and id.

    ``total`` counts matching records up to 10,000 (``capped`` beyond). ``known_idf_mass`` in [0, 1] is the share of
    the question's idf that belongs to terms which the index has (`search-measured.md` 2). ``lexemes`` are the
    question's terms as each locale's index writes them, for :meth:`SearchEngine.matching`. ``note`` says why there are
    no words to search by (``no_terms``) or that only titles were looked at (``title_only``). ``degraded`` says why
    another engine than the chosen one answered. ``unknown`` are the terms that no text of the entities has. ``driver``
    names the engine that answered.
    """

    hits: Sequence[KeywordHit]
    total: int
    known_idf_mass: float
    capped: bool = False
    lexemes: Mapping[str, Sequence[str]] | None = None
    note: str | None = None
    degraded: str | None = None
    unknown: Sequence[str] = ()
    driver: str = "postgres"


@dataclass(frozen=True)
class Facet:
    """Values with how many matching records have each, most first. ``entity`` None: of all entities.

    A record counts once for each locale that it has, so the counts of ``locale`` may sum to more than the total.
    """

    name: str
    entity: str | None
    values: tuple[tuple[str, int], ...]


class FoundDocument(NamedTuple):
    """A searchable text as it stands in the engine's snapshot."""

    entity: str
    record_id: int
    locale: str
    title: str
    body: str


class SearchEngine(Protocol):
    """Searches by words. ``session`` is a SQLAlchemy session in the search's own snapshot."""

    @property
    def words(self) -> WordColumns:
        """The engine's own columns of a document, written with it."""
        ...

    def keyword(
        self,
        session: Any,
        query: ParsedQuery,
        scope: Scope,
        locale: str | None,
        window: int,
        seconds: float | None = None,
    ) -> KeywordLeg:
        """The best ``window`` records for any word of the question, or for as many as its rules ask for, that have
        what it demands.

        ``locale`` restricts records to those that have that translation. Raises :class:`TooSlow` after ``seconds``
        (None: as long as it takes), :class:`LegFailed` for another failure of the leg, and
        :class:`app.core.errors.Invalid` for a filter on an unknown field.
        """
        ...

    def coverage(self, session: Any, query: ParsedQuery, scope: Scope, hits: Sequence[KeywordHit]) -> Sequence[float]:
        """``KeywordHit.coverage`` of a few hits that have none yet, in their order."""
        ...

    def satisfying(self, session: Any, query: ParsedQuery, keys: Sequence[Key]) -> AbstractSet[Key]:
        """Which records have what the question demands; all of them when it demands nothing."""
        ...

    def corrections(
        self, session: Any, words: Sequence[str], scope: Scope, seconds: float | None = None
    ) -> Mapping[str, str]:
        """A word one edit away for each of ``words`` that no text in scope has; only words of texts in scope.

        Raises as :meth:`keyword` does after ``seconds``.
        """
        ...

    def suggestions(self, session: Any, prefix: str, scope: Scope, locale: str | None, limit: int) -> Sequence[str]:
        """Words of texts in scope that begin with ``prefix``, those of most documents first.

        They are as old as the engine's list of words. ``locale`` restricts the texts to those of one language.
        """
        ...

    def facets(
        self,
        session: Any,
        query: ParsedQuery,
        scope: Scope,
        locale: str | None,
        fields: Mapping[str, Sequence[str]],
        seconds: float | None = None,
    ) -> Sequence[Facet]:
        """What the records are that the words match, up to 10,000 of them; ``fields`` of each entity are counted.

        Raises as :meth:`keyword` does after ``seconds``.
        """
        ...

    def documents(self, session: Any, keys: Sequence[Key], scope: Scope) -> Sequence[FoundDocument]:
        """Every locale of the records that are (still) inside ``scope``, for pages of results."""
        ...

    def matching(
        self, session: Any, words: Mapping[str, AbstractSet[str]], lexemes: Mapping[str, Sequence[str]]
    ) -> Mapping[str, AbstractSet[str]]:
        """Which of the ``words`` (by locale, lower-cased, as written) count as terms of the question."""
        ...
