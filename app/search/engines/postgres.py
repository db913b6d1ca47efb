"""The PostgreSQL engine: words by `tsvector`, ranked by BM25 over what they weigh in each text (ADR 0009).

Whatever is spelt by a user goes in as a bound value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Select,
    and_,
    any_,
    bindparam,
    exists,
    false,
    func,
    or_,
    select,
    true,
    tuple_,
)
from sqlalchemy.orm import Session, aliased

from app.core.clock import Clock
from app.core.contracts.documents import WordColumns
from app.core.documents.models import SearchDocument
from app.core.recent import Recent
from app.search.engines.ports import TOTAL_LIMIT, Facet, FoundDocument, Key, KeywordHit, KeywordLeg, Scope
from app.search.engines.postgres_coverage import share, shares
from app.search.engines.postgres_demands import satisfied
from app.search.engines.postgres_facets import facets
from app.search.engines.postgres_limit import limited, paced
from app.search.engines.postgres_matched import COVERED, Asked, best, keys
from app.search.engines.postgres_spelling import corrections
from app.search.engines.postgres_suggestions import suggestions
from app.search.engines.postgres_words import Counts, Lexemes
from app.search.engines.ranking import (
    LocaleTerms,
    Statistics,
    in_every_locale,
    is_wide,
    known_idf_mass,
    least,
    necessary,
    ranked,
    rarest,
    significant,
    typed,
    weights_of,
)
from app.search.engines.schema import PostgresWords, RowFilters
from app.search.engines.statements import prepared_of
from app.search.matching import ParsedQuery

SCOPES = 1024
ASKED = "search.asked"


class PostgresEngine:
    """The :class:`~app.search.engines.ports.SearchEngine` on `search_documents`."""

    def __init__(self, filters: RowFilters, clock: Clock) -> None:
        self._filters = filters
        self._clock = clock
        self._counts = Counts(clock)
        self._lexemes = Lexemes()
        self._words = PostgresWords()
        self._filters_kept: Recent[object, ColumnElement[bool]] = Recent(SCOPES)

    @property
    def words(self) -> WordColumns:
        """See :class:`app.search.engines.schema.PostgresWords`."""
        return self._words

    def keyword(
        self,
        session: Session,
        query: ParsedQuery,
        scope: Scope,
        locale: str | None,
        window: int,
        seconds: float | None = None,
    ) -> KeywordLeg:
        """See :meth:`app.search.engines.ports.SearchEngine.keyword`."""
        with limited(session, seconds):
            return self._keyword(session, query, scope, locale, window)

    def _keyword(
        self, session: Session, query: ParsedQuery, scope: Scope, locale: str | None, window: int
    ) -> KeywordLeg:
        asked, statistics, only_stop_words = self._asked(session, query, scope)
        terms = asked.terms
        rows, total = self._found(session, asked, self._conditions(scope, locale), window, statistics)
        if not rows and not query.identifiers and only_stop_words:
            return self._titles(session, query, scope, locale, window)
        hits = ranked(rows)
        shared = [share(asked, statistics, row[2], *row[8:10]) for row in rows[:COVERED]]
        return KeywordLeg(
            hits=[*(hit._replace(coverage=part) for hit, part in zip(hits, shared, strict=False)), *hits[COVERED:]],
            total=min(total, TOTAL_LIMIT),
            capped=total > TOTAL_LIMIT,
            known_idf_mass=known_idf_mass(typed(terms, query.typed), query.unbroken, statistics),
            lexemes={code: list(words) for code, words in terms.items()},
            unknown=_unknown(query, terms, statistics),
        )

    def _asked(self, session: Session, query: ParsedQuery, scope: Scope) -> tuple[Asked, Statistics, bool]:
        """The question with what its words weigh, and whether some locale takes each of them for a stop word.

        Read once in a search: hits, what the best of them have, and facets ask for the same.
        """
        known = session.info.get(ASKED)
        if known is not None and known[0] is query and known[1] == frozenset(scope):
            found: tuple[Asked, Statistics, bool] = known[2]
            return found
        found = self._read(session, query, scope)
        session.info[ASKED] = (query, frozenset(scope), found)
        return found

    def _read(self, session: Session, query: ParsedQuery, scope: Scope) -> tuple[Asked, Statistics, bool]:
        spelt = self._lexemes.of_question(session, query)
        terms = significant(spelt)
        statistics = self._counts.statistics(session, list(scope), terms, query.identifiers)
        names = dict.fromkeys(query.identifiers, 0.0)  # a code weighs what its pieces weigh
        names |= {name: statistics.identifier_idf(name) for name in query.unbroken}
        asked = Asked(query, terms, weights_of(terms, statistics), names)
        return asked, statistics, not in_every_locale(spelt)

    def coverage(
        self, session: Session, query: ParsedQuery, scope: Scope, hits: Sequence[KeywordHit]
    ) -> Sequence[float]:
        """See :meth:`app.search.engines.ports.SearchEngine.coverage`."""
        asked, statistics, _ = self._asked(session, query, scope)
        return shares(session, asked, hits, statistics)

    def _found(
        self, session: Session, asked: Asked, conditions: ColumnElement[bool], window: int, statistics: Statistics
    ) -> tuple[Sequence[Any], int]:
        """The best records, and how many match.

        Where very many match, those with one of the rarest words are ranked first. What the last of a full window
        reaches tells which words a text must have to come before it; mostly they have been looked at already.
        """
        chosen = {code: set(words) for code, words in asked.terms.items()}
        if is_wide(asked.weights, statistics):
            chosen = rarest(asked.weights, statistics)
        while True:
            whole = all(len(chosen[code]) == len(words) for code, words in asked.terms.items())
            rows = best(session, asked, conditions, chosen, window, counted=whole)
            if whole:
                return rows, rows[0][6] if rows else 0
            needed = necessary(asked.weights, least(rows, window))
            if all(needed[code] <= chosen[code] for code in chosen):
                break
            chosen = {code: chosen[code] | needed[code] for code in chosen}
        every = keys(asked, conditions, TOTAL_LIMIT + 1)
        return rows, session.scalar(select(func.count()).select_from(every)) or 0

    def _conditions(self, scope: Scope, locale: str | None) -> ColumnElement[bool]:
        """Rows in scope; the same condition for the same scope, since statements are kept by it."""
        key = (tuple(scope.items()), locale)
        return self._filters_kept.of(key, lambda: and_(self._filters.scope(scope), _has_locale(locale)))

    def suggestions(self, session: Session, prefix: str, scope: Scope, locale: str | None, limit: int) -> Sequence[str]:
        """See :meth:`app.search.engines.ports.SearchEngine.suggestions`."""
        return suggestions(session, prefix, list(scope), self._conditions(scope, None), locale, limit)

    def corrections(
        self, session: Session, words: Sequence[str], scope: Scope, seconds: float | None = None
    ) -> Mapping[str, str]:
        """See :meth:`app.search.engines.ports.SearchEngine.corrections`."""
        with paced(session, seconds, self._clock):
            return corrections(session, words, list(scope), self._conditions(scope, None))

    def satisfying(self, session: Session, query: ParsedQuery, keys: Sequence[Key]) -> AbstractSet[Key]:
        """See :meth:`app.search.engines.ports.SearchEngine.satisfying`."""
        if not query.demands or not keys:
            return frozenset(keys)
        key = (SearchDocument.entity, SearchDocument.record_id)
        rows = session.execute(select(*key).distinct().where(tuple_(*key).in_(list(keys)), satisfied(query)))
        return frozenset((entity, record) for entity, record in rows)

    def documents(self, session: Session, keys: Sequence[Key], scope: Scope) -> Sequence[FoundDocument]:
        """See :meth:`app.search.engines.ports.SearchEngine.documents`."""
        conditions, entities = self._conditions(scope, None), tuple(scope)
        wanted: dict[str, list[int]] = {f"records_{at}": [] for at in range(len(entities))}
        for entity, record in keys:
            if entity in scope:
                wanted[f"records_{entities.index(entity)}"].append(record)
        rows = prepared_of(session, conditions, _documents, entities).tuples(session, wanted)
        return [FoundDocument(*row) for row in rows]

    def matching(
        self, session: Session, words: Mapping[str, AbstractSet[str]], lexemes: Mapping[str, Sequence[str]]
    ) -> Mapping[str, AbstractSet[str]]:
        """See :meth:`app.search.engines.ports.SearchEngine.matching`."""
        return {
            code: self._lexemes.matching(session, code, asked, lexemes[code])
            for code, asked in words.items()
            if asked and lexemes.get(code)
        }

    def _titles(
        self, session: Session, query: ParsedQuery, scope: Scope, locale: str | None, window: int
    ) -> KeywordLeg:
        """A question of stop words or of nothing but marks: its whole phrase in titles, or nothing."""
        if sum(character.isalnum() for character in query.phrase) < 2:
            return KeywordLeg(hits=(), total=0, known_idf_mass=0.0, note="no_terms")
        key = (SearchDocument.entity, SearchDocument.record_id)
        shortest = func.min(func.length(SearchDocument.title))
        rows = session.execute(
            select(*key, func.min(SearchDocument.locale), shortest, func.count().over())
            .where(
                SearchDocument.title.icontains(query.phrase, autoescape=True),
                self._filters.scope(scope),
                satisfied(query),
                _has_locale(locale),
            )
            .group_by(*key)
            .order_by(shortest, *key)
            .limit(window)
        ).all()
        hits = [KeywordHit(entity, record, code, 1.0 / (1 + length)) for entity, record, code, length, _ in rows]
        total = rows[0][4] if rows else 0
        return KeywordLeg(
            hits=hits,
            total=min(total, TOTAL_LIMIT),
            capped=total > TOTAL_LIMIT,
            known_idf_mass=1.0 if hits else 0.0,
            note="title_only",
        )

    def facets(
        self,
        session: Session,
        query: ParsedQuery,
        scope: Scope,
        locale: str | None,
        fields: Mapping[str, Sequence[str]],
        seconds: float | None = None,
    ) -> Sequence[Facet]:
        """See :meth:`app.search.engines.ports.SearchEngine.facets`."""
        with paced(session, seconds, self._clock):
            asked, _, _ = self._asked(session, query, scope)
            found = keys(asked, self._conditions(scope, locale), TOTAL_LIMIT)
            return facets(session, found, self._filters.registry, fields)


def _documents(conditions: ColumnElement[bool], entities: Sequence[str]) -> Select[str, int, str, str, str]:
    """Texts of the records that are bound to one list for each entity: in one of pairs the planner sees no key."""
    one = SearchDocument
    lists = (bindparam(f"records_{at}", None, ARRAY(BigInteger)) for at in range(len(entities)))
    wanted = (
        and_(one.entity == entity, one.record_id == any_(records))
        for entity, records in zip(entities, lists, strict=True)
    )
    found = select(one.entity, one.record_id, one.locale, one.title, one.body)
    return found.where(or_(false(), *wanted), conditions).order_by(one.entity, one.record_id, one.locale)


def _unknown(query: ParsedQuery, terms: Mapping[str, LocaleTerms], statistics: Statistics) -> tuple[str, ...]:
    """The terms that no text of the entities has, in no form and language."""
    known: dict[int, bool] = {}
    for code, words in terms.items():
        for lexeme, place in words.items():
            known[place] = known.get(place, False) or statistics.lexemes.get((code, lexeme), 0) > 0
    return tuple(query.terms[place].text for place, has in sorted(known.items()) if not has)


def _has_locale(locale: str | None) -> ColumnElement[bool]:
    """Records that have a translation in ``locale``; all of their texts compete (`search-measured.md` 5)."""
    if locale is None:
        return true()
    other = aliased(SearchDocument)
    return (
        exists()
        .where(
            other.entity == SearchDocument.entity,
            other.record_id == SearchDocument.record_id,
            other.locale == locale,
        )
        .correlate(SearchDocument)
    )
