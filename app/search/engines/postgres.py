"""The PostgreSQL engine: words by `tsvector`, ranked in two steps.

Every matching row is ranked cheaply by `ts_rank`; the best of them again with each word's rarity (idf), which is what
brings it near BM25 (`postgres.md`, "Words"). Whatever is spelt by a user goes in as a bound value.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
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
    text,
    true,
    tuple_,
    union_all,
)
from sqlalchemy.dialects.postgresql import ARRAY, REGCONFIG, TSQUERY
from sqlalchemy.orm import Session, aliased

from app.core.clock import Clock
from app.core.contracts.documents import WordColumns
from app.core.documents.models import SearchDocument
from app.core.locale import LOCALES
from app.search.engines.ports import TOTAL_LIMIT, FoundDocument, KeywordHit, KeywordLeg, Key, Scope
from app.search.engines.ranking import Candidate, LocaleTerms, Statistics, known_idf_mass, ranked
from app.search.engines.schema import PostgresWords, RowFilters, configuration
from app.search.matching import ParsedQuery, Term

WEIGHTS = [0.4, 0.4, 0.4, 1.0]
"""Of the classes D, C, B, A: a word of the title counts 2.5 times one of the body."""
CANDIDATES = 2
"""How many times the window is ranked with idf."""


COUNTS_SECONDS = 60.0

LEXEMES = """
select l.code, w.place, x.lexeme
from unnest(cast(:codes as text[]), cast(:configurations as text[])) as l (code, configuration)
cross join unnest(cast(:words as text[])) with ordinality as w (word, place)
cross join lateral unnest(tsvector_to_array(to_tsvector(cast(l.configuration as regconfig), w.word))) as x (lexeme)
order by l.code, w.place, x.lexeme
"""
LEXEME_COUNTS = """
select l.locale, l.lexeme, (select count(*) from search_documents d
    where d.words @@ cast(l.query as tsquery) and d.locale = l.locale and d.entity = any(:entities))
from unnest(cast(:locales as text[]), cast(:lexemes as text[]), cast(:queries as text[])) as l (locale, lexeme, query)
union all
select '', i.word, (select count(*) from search_documents d
    where d.identifiers @> array[i.word] and d.entity = any(:entities))
from unnest(cast(:identifiers as text[])) as i (word)
"""
DOCUMENT_COUNTS = "select locale, count(*) from search_documents where entity = any(:entities) group by locale"
MEASURES = """
select d.entity, d.record_id, d.locale,
    ts_rank(cast(:weights as real[]), d.words, q.every, 0) / nullif(ts_rank(cast(:weights as real[]), d.words, q.every, 2), 0),
    array(select ts_rank(cast(:weights as real[]), d.words, cast(one.query as tsquery), 0)
        from jsonb_array_elements_text(q.single) with ordinality as one (query, place) order by one.place),
    array(select unnest(d.identifiers) intersect select unnest(cast(:identifiers as text[])))
from unnest(cast(:entities as text[]), cast(:ids as bigint[]), cast(:locales as text[])) with ordinality
    as c (entity, record_id, locale, place)
join search_documents d on (d.entity, d.record_id, d.locale) = (c.entity, c.record_id, c.locale)
left join (select code, cast(every as tsquery) as every, cast(single as jsonb) as single
    from unnest(cast(:codes as text[]), cast(:every as text[]), cast(:single as text[])) as u (code, every, single)) q
    on q.code = d.locale
order by c.place
"""


class PostgresEngine:
    """The :class:`~app.search.engines.ports.SearchEngine` on `search_documents`."""

    def __init__(self, filters: RowFilters, clock: Clock) -> None:
        self._filters = filters
        self._clock = clock
        self._words = PostgresWords()
        self._documents: dict[tuple[str, ...], tuple[float, Mapping[str, int]]] = {}

    @property
    def words(self) -> WordColumns:
        """See :class:`app.search.engines.schema.PostgresWords`."""
        return self._words

    def keyword(
        self, session: Session, query: ParsedQuery, scope: Scope, locale: str | None, window: int
    ) -> KeywordLeg:
        """See :meth:`app.search.engines.ports.SearchEngine.keyword`."""
        terms = _lexemes(session, query.terms)
        if not terms and not query.identifiers:
            return self._titles(session, query, scope, locale, window)
        statistics = self._statistics(session, list(scope), terms, query.identifiers)
        found = self._candidates(session, query, scope, locale, terms, window * CANDIDATES)
        candidates = _measured(session, found, terms, query.identifiers)
        hits = ranked(candidates, terms, statistics)[:window]
        return KeywordLeg(
            hits=hits,
            total=min(found[0].total, TOTAL_LIMIT) if found else 0,
            capped=bool(found) and found[0].total > TOTAL_LIMIT,
            known_idf_mass=known_idf_mass(terms, query.identifiers, statistics),
            lexemes={code: list(words) for code, words in terms.items()},
        )

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
            found[code] = frozenset(
                session.scalars(select(word).where(vector.bool_op("@@")(_query(lexemes[code]))))
            )
        return found

    def _statistics(
        self, session: Session, entities: Sequence[str], terms: Mapping[str, LocaleTerms], identifiers: Sequence[str]
    ) -> Statistics:
        pairs = [(code, lexeme) for code, words in terms.items() for lexeme in words]
        counted = session.execute(
            text(LEXEME_COUNTS),
            {
                "entities": list(entities),
                "locales": [code for code, _ in pairs],
                "lexemes": [lexeme for _, lexeme in pairs],
                "queries": [_quoted(lexeme) for _, lexeme in pairs],
                "identifiers": list(identifiers),
            },
        ).all()
        return Statistics(
            documents=self._document_counts(session, entities),
            lexemes={(code, word): count for code, word, count in counted if code},
            identifiers={word: count for code, word, count in counted if not code},
        )

    def _document_counts(self, session: Session, entities: Sequence[str]) -> Mapping[str, int]:
        """Documents by locale, at most a minute old: idf needs the order of magnitude only."""
        key = tuple(sorted(entities))
        at, counts = self._documents.get(key, (-math.inf, {}))
        if self._clock.monotonic() - at > COUNTS_SECONDS:
            rows = session.execute(text(DOCUMENT_COUNTS), {"entities": list(key)})
            counts = {code: count for code, count in rows}
            self._documents[key] = (self._clock.monotonic(), counts)
        return counts

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
        conditions = and_(self._filters.scope(scope), _has_locale(locale))
        matched = union_all(
            *(_arm(code, terms.get(code), query.identifiers, conditions) for code in LOCALES)
        ).cte("matched")
        best = _best_locale(matched)
        counted = select(func.count()).select_from(select(literal(1)).select_from(best).limit(TOTAL_LIMIT + 1).subquery())
        order = (best.c.named.desc(), best.c.complete.desc(), best.c.score.desc(), best.c.entity, best.c.record_id)
        statement = select(best, counted.scalar_subquery().label("total")).order_by(*order).limit(limit)
        return session.execute(statement).all()


def _arm(
    code: str, words: LocaleTerms | None, identifiers: Sequence[str], conditions: ColumnElement[bool]
) -> Select[Any]:
    """The rows of one locale that have any of its lexemes or one of the identifiers."""
    named: ColumnElement[bool] = false()
    if identifiers:
        named = SearchDocument.identifiers.bool_op("&&")(cast(list(identifiers), ARRAY(Text)))
    wanted, score, complete = named, cast(literal(0), Float), named
    if words:
        anything = SearchDocument.words.bool_op("@@")(_query(words))
        wanted = or_(anything, named)
        score = func.ts_rank(cast(WEIGHTS, ARRAY(Float(24))), SearchDocument.words, _query(words), 1)
        complete = SearchDocument.words.bool_op("@@")(_query(words, " & ")) if len(words) <= 2 else true()
    return select(
        SearchDocument.entity,
        SearchDocument.record_id,
        SearchDocument.locale,
        named.label("named"),
        complete.label("complete"),
        score.label("score"),
    ).where(SearchDocument.locale == code, wanted, conditions)


def _best_locale(matched: CTE) -> CTE:
    c = matched.c
    return (
        select(matched)
        .distinct(c.entity, c.record_id)
        .order_by(c.entity, c.record_id, c.named.desc(), c.complete.desc(), c.score.desc(), c.locale)
        .cte("best")
    )


def _has_locale(locale: str | None) -> ColumnElement[bool]:
    """Records that have a translation in ``locale``; all of their texts compete (`search-measured.md` 5)."""
    if locale is None:
        return true()
    other = aliased(SearchDocument)
    return exists().where(
        other.entity == SearchDocument.entity,
        other.record_id == SearchDocument.record_id,
        other.locale == locale,
    ).correlate(SearchDocument)


def _query(words: Sequence[str] | LocaleTerms, junction: str = " | ") -> ColumnElement[Any]:
    """A tsquery of lexemes (``x:*`` stays a prefix), each quoted, so that none can be an operator."""
    return cast(junction.join(_quoted(word) for word in words), TSQUERY)


def _quoted(lexeme: str) -> str:
    word, prefix = (lexeme.removesuffix(":*"), ":*") if lexeme.endswith(":*") else (lexeme, "")
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'" + prefix


def _lexemes(session: Session, terms: Sequence[Term]) -> dict[str, dict[str, int]]:
    """Each locale's lexemes of the terms, with the place of the term that gave them; stop words give none."""
    if not terms:
        return {}
    rows = session.execute(
        text(LEXEMES),
        {
            "codes": list(LOCALES),
            "configurations": [configuration(code) for code in LOCALES],
            "words": [term.text for term in terms],
        },
    )
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for code, place, word in rows:
        found[code].setdefault(f"{word}:*" if terms[place - 1].prefix else word, place - 1)
    return dict(found)


def _measured(
    session: Session, found: Sequence[Any], terms: Mapping[str, LocaleTerms], identifiers: Sequence[str]
) -> list[Candidate]:
    """The candidates with each lexeme's saturated frequency, their length, and the identifiers they have."""
    rows = session.execute(
        text(MEASURES),
        {
            "weights": WEIGHTS,
            "entities": [row.entity for row in found],
            "ids": [row.record_id for row in found],
            "locales": [row.locale for row in found],
            "codes": list(terms),
            "every": [" | ".join(map(_quoted, words)) for words in terms.values()],
            "single": [json.dumps([_quoted(word) for word in words]) for words in terms.values()],
            "identifiers": list(identifiers),
        },
    )
    complete = {(row.entity, row.record_id): row.complete for row in found}
    return [
        Candidate(entity, record_id, locale, complete[entity, record_id], float(length or 0), ranks, named)
        for entity, record_id, locale, length, ranks, named in rows
    ]
