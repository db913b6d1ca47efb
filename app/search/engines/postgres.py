"""The PostgreSQL engine: words by `tsvector`, ranked in two steps.

Every matching row is ranked cheaply by `ts_rank`; the best of them again with each word's rarity (idf), which is what
brings it near BM25 (`postgres.md`, "Words"). Whatever is spelt by a user goes in as a bound value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from sqlalchemy import (
    CTE,
    ColumnElement,
    Float,
    Select,
    Text,
    and_,
    cast,
    exists,
    false,
    func,
    literal,
    or_,
    select,
    true,
    tuple_,
    union_all,
)
from sqlalchemy.dialects.postgresql import ARRAY, REGCONFIG, TSQUERY, distinct_on
from sqlalchemy.orm import Session, aliased

from app.core.clock import Clock
from app.core.contracts.documents import WordColumns
from app.core.documents.models import SearchDocument
from app.core.locale import LOCALES
from app.search.engines.ports import TOTAL_LIMIT, Facet, FoundDocument, Key, KeywordHit, KeywordLeg, Scope
from app.search.engines.postgres_demands import covered, demanded, satisfied
from app.search.engines.postgres_facets import facets
from app.search.engines.postgres_spelling import corrections
from app.search.engines.postgres_words import EVEN, Counts, lexemes, measured, quoted
from app.search.engines.ranking import (
    ALL_TERMS_FIRST,
    LocaleTerms,
    Statistics,
    in_every_locale,
    known_idf_mass,
    ranked,
    significant,
)
from app.search.engines.schema import PostgresWords, RowFilters, configuration
from app.search.matching import ParsedQuery, Term


class PostgresEngine:
    """The :class:`~app.search.engines.ports.SearchEngine` on `search_documents`."""

    def __init__(self, filters: RowFilters, clock: Clock) -> None:
        self._filters = filters
        self._counts = Counts(clock)
        self._words = PostgresWords()

    @property
    def words(self) -> WordColumns:
        """See :class:`app.search.engines.schema.PostgresWords`."""
        return self._words

    def keyword(
        self, session: Session, query: ParsedQuery, scope: Scope, locale: str | None, window: int
    ) -> KeywordLeg:
        """See :meth:`app.search.engines.ports.SearchEngine.keyword`."""
        spelt = _with_alternatives(session, query, lexemes(session, query.terms))
        terms = significant(spelt)
        found = self._candidates(session, query, scope, locale, terms, window)
        if not found and not query.identifiers and not in_every_locale(spelt):
            return self._titles(session, query, scope, locale, window)
        statistics = self._counts.statistics(session, list(scope), terms, query.identifiers)
        candidates = measured(session, found, terms, query.identifiers)
        hits = ranked(candidates, terms, statistics)
        return KeywordLeg(
            hits=hits,
            total=min(found[0].total, TOTAL_LIMIT) if found else 0,
            capped=bool(found) and found[0].total > TOTAL_LIMIT,
            known_idf_mass=known_idf_mass(terms, query.identifiers, statistics),
            lexemes={code: list(words) for code, words in terms.items()},
            unknown=_unknown(query, terms, statistics),
        )

    def corrections(self, session: Session, words: Sequence[str], scope: Scope) -> Mapping[str, str]:
        """See :meth:`app.search.engines.ports.SearchEngine.corrections`."""
        return corrections(session, words, list(scope), self._filters.scope(scope))

    def satisfying(self, session: Session, query: ParsedQuery, keys: Sequence[Key]) -> AbstractSet[Key]:
        """See :meth:`app.search.engines.ports.SearchEngine.satisfying`."""
        if not query.demands or not keys:
            return frozenset(keys)
        key = (SearchDocument.entity, SearchDocument.record_id)
        rows = session.execute(select(*key).distinct().where(tuple_(*key).in_(list(keys)), satisfied(query)))
        return frozenset((entity, record) for entity, record in rows)

    def documents(self, session: Session, keys: Sequence[Key], scope: Scope) -> Sequence[FoundDocument]:
        """See :meth:`app.search.engines.ports.SearchEngine.documents`."""
        columns = (
            SearchDocument.entity,
            SearchDocument.record_id,
            SearchDocument.locale,
            SearchDocument.title,
            SearchDocument.body,
        )
        rows = session.execute(
            select(*columns)
            .where(tuple_(SearchDocument.entity, SearchDocument.record_id).in_(list(keys)), self._filters.scope(scope))
            .order_by(*columns[:3])
        )
        return [FoundDocument(*row) for row in rows]

    def matching(
        self, session: Session, words: Mapping[str, AbstractSet[str]], lexemes: Mapping[str, Sequence[str]]
    ) -> Mapping[str, AbstractSet[str]]:
        """See :meth:`app.search.engines.ports.SearchEngine.matching`."""
        found: dict[str, AbstractSet[str]] = {}
        for code, asked in words.items():
            if not asked or not lexemes.get(code):
                continue
            word = func.unnest(cast(sorted(asked), ARRAY(Text))).column_valued("word")
            vector = func.to_tsvector(cast(configuration(code), REGCONFIG), word)
            found[code] = frozenset(session.scalars(select(word).where(vector.bool_op("@@")(_query(lexemes[code])))))
        return found

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
    ) -> Sequence[Facet]:
        """See :meth:`app.search.engines.ports.SearchEngine.facets`."""
        terms = significant(_with_alternatives(session, query, lexemes(session, query.terms)))
        matched = self._matched(query, scope, locale, terms)
        found = select(matched.c.entity, matched.c.record_id).distinct().limit(TOTAL_LIMIT).cte("found")
        return facets(session, found, self._filters.registry, fields)

    def _matched(self, query: ParsedQuery, scope: Scope, locale: str | None, terms: Mapping[str, LocaleTerms]) -> CTE:
        """Every matching text of every locale, with its score."""
        conditions = and_(self._filters.scope(scope), _has_locale(locale))
        arms = (_arm(code, terms.get(code), query, conditions) for code in LOCALES)
        return union_all(*arms).cte("matched")

    def _candidates(
        self,
        session: Session,
        query: ParsedQuery,
        scope: Scope,
        locale: str | None,
        terms: Mapping[str, LocaleTerms],
        limit: int,
    ) -> Sequence[Any]:
        """The best ``limit`` records by `ts_rank`, in their best locale each; ``total`` counts all that match."""
        best = _best_locale(self._matched(query, scope, locale, terms))
        counted = select(func.count()).select_from(
            select(literal(1)).select_from(best).limit(TOTAL_LIMIT + 1).subquery()
        )
        order = (best.c.named.desc(), best.c.complete.desc(), best.c.score.desc(), best.c.entity, best.c.record_id)
        statement = select(best, counted.scalar_subquery().label("total")).order_by(*order).limit(limit)
        return session.execute(statement).all()


def _arm(
    code: str, words: LocaleTerms | None, query: ParsedQuery, conditions: ColumnElement[bool]
) -> Select[*tuple[Any, ...]]:
    """The rows of one locale that have any of its lexemes or one of the identifiers, and what else is demanded."""
    named: ColumnElement[bool] = false()
    if query.identifiers:
        named = SearchDocument.identifiers.bool_op("&&")(cast(list(query.identifiers), ARRAY(Text)))
    wanted: ColumnElement[bool] = named
    score: ColumnElement[float] = cast(literal(0), Float)
    complete: ColumnElement[bool] = false()
    if words:
        anything = SearchDocument.words.bool_op("@@")(_query(words))
        wanted = or_(anything, named)
        score = func.ts_rank(cast(EVEN, ARRAY(Float(24))), SearchDocument.words, _query(words), 1)
        complete = _complete(words)
    arm: Select[*tuple[Any, ...]] = select(
        SearchDocument.entity,
        SearchDocument.record_id,
        SearchDocument.locale,
        named.label("named"),
        complete.label("complete"),
        score.label("score"),
    )
    return arm.where(SearchDocument.locale == code, wanted, demanded(code, query), covered(query, words), conditions)


def _unknown(query: ParsedQuery, terms: Mapping[str, LocaleTerms], statistics: Statistics) -> tuple[str, ...]:
    """The terms that no text of the entities has, in no form and language."""
    known: dict[int, bool] = {}
    for code, words in terms.items():
        for lexeme, place in words.items():
            known[place] = known.get(place, False) or statistics.lexemes.get((code, lexeme), 0) > 0
    return tuple(query.terms[place].text for place, has in sorted(known.items()) if not has)


def _complete(words: LocaleTerms) -> ColumnElement[bool]:
    """Every term, in one of its forms, when there are at most two."""
    places: dict[int, list[str]] = {}
    for lexeme, place in words.items():
        places.setdefault(place, []).append(lexeme)
    if len(places) > ALL_TERMS_FIRST:
        return true()
    return and_(*(SearchDocument.words.bool_op("@@")(_query(forms)) for forms in places.values()))


def _with_alternatives(
    session: Session, query: ParsedQuery, spelt: dict[str, dict[str, int]]
) -> dict[str, dict[str, int]]:
    """The lexemes of synonyms and corrections at the place of the term that they stand for."""
    if query.alternatives:
        other = lexemes(session, [Term(one.word) for one in query.alternatives])
        for code, words in other.items():
            for lexeme, at in words.items():
                one = query.alternatives[at]
                if one.locale in (None, code):
                    spelt[code].setdefault(lexeme, one.place)
    return spelt


def _best_locale(matched: CTE) -> CTE:
    c = matched.c
    return (
        select(matched)
        .ext(distinct_on(c.entity, c.record_id))
        .order_by(c.entity, c.record_id, c.named.desc(), c.complete.desc(), c.score.desc(), c.locale)
        .cte("best")
    )


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


def _query(words: Sequence[str] | LocaleTerms, junction: str = " | ") -> ColumnElement[Any]:
    """A tsquery of lexemes (``x:*`` stays a prefix), each quoted, so that none can be an operator."""
    return cast(junction.join(quoted(word) for word in words), TSQUERY)
