"""How much of a question stands in given texts, by the same lexemes and rarity that rank records."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.core.clock import Clock
from app.core.contracts.conditions import Filter
from app.core.contracts.words import WordHit, WordMatches
from app.search.engines.ports import KeywordHit, SearchEngine
from app.search.engines.postgres_matched import NAMED, Asked, anything, having
from app.search.engines.postgres_words import Counts, Lexemes, quoted
from app.search.engines.ranking import Statistics, significant
from app.search.engines.schema import configuration
from app.search.matching import parse_query, words_of

HELD = f"""
select {having("v.words", "unnest(cast(:queries as text[]))")}
from unnest(cast(:texts as text[])) with ordinality as t (text, place)
cross join lateral (select to_tsvector(cast(:configuration as regconfig), t.text) as words offset 0) v
order by t.place
"""
SHARES = text(f"""
select {having("d.words", "jsonb_array_elements_text(cast(c.queries as jsonb))")}, {NAMED}
from unnest(cast(:entities as text[]), cast(:ids as bigint[]), cast(:locales as text[]), cast(:queries as text[]))
    with ordinality as c (entity, record_id, locale, queries, place)
left join search_documents d on (d.entity, d.record_id, d.locale) = (c.entity, c.record_id, c.locale)
order by c.place
""")


def shares(session: Session, asked: Asked, hits: Sequence[KeywordHit], statistics: Statistics) -> list[float]:
    """The :func:`share` of each hit."""
    if not hits:
        return []
    queries = {code: json.dumps([anything(one) for one in forms]) for code, forms in asked.forms.items()}
    values = {
        "names": list(asked.names),
        "entities": [hit.entity for hit in hits],
        "ids": [hit.record_id for hit in hits],
        "locales": [hit.locale for hit in hits],
        "queries": [queries.get(hit.locale, "[]") for hit in hits],
    }
    found = session.execute(SHARES, values).all()
    return [share(asked, statistics, hit.locale, held, named) for hit, (held, named) in zip(hits, found, strict=True)]


def share(asked: Asked, statistics: Statistics, locale: str, held: Sequence[bool], named: Sequence[str]) -> float:
    """The share, in [0, 1], of the question's idf that a text has; a word in several forms counts once.

    ``held`` says so of each term that was typed, ``named`` are the identifiers that it has. A word that no text has
    counts, and is missing everywhere.
    """
    weights = [max(statistics.lexeme_idf(locale, word) for word in one) for one in asked.forms.get(locale, [])]
    whole = sum(weights) + sum(asked.names.values())
    has = sum(weight for weight, here in zip(weights, held, strict=True) if here)
    return (has + sum(asked.names[name] for name in named)) / whole if whole else 0.0


class PostgresWordSearch:
    """The :class:`~app.core.contracts.words.WordSearch` of the PostgreSQL engine."""

    def __init__(self, engine: SearchEngine, clock: Clock) -> None:
        self._engine = engine
        self._counts = Counts(clock)
        self._lexemes = Lexemes()

    def matches(
        self, session: Session, question: str, scope: Mapping[str, Filter | None], locale: str | None, window: int
    ) -> WordMatches:
        """See :meth:`app.core.contracts.words.WordSearch.matches`."""
        leg = self._engine.keyword(session, parse_query(question), scope, locale, window)
        return WordMatches([WordHit(hit.entity, hit.record_id, hit.score) for hit in leg.hits], leg.known_idf_mass)

    def coverage(
        self, session: Session, question: str, entities: Sequence[str], locale: str, texts: Sequence[str]
    ) -> Sequence[float]:
        """See :meth:`app.core.contracts.words.WordSearch.coverage`.

        Identifiers count as their parts: a text that names one has all of them.
        """
        if not texts:
            return []
        query = parse_query(question)
        parts = [*query.terms, *(term for one in query.identifiers for term in parse_query(_parts(one)).terms)]
        terms = significant(self._lexemes.of_terms(session, parts))
        own = {locale: terms.get(locale, {})}
        statistics = self._counts.statistics(session, entities, own, ())
        weights = [statistics.lexeme_idf(locale, word) for word in own[locale]]
        whole = sum(weights)
        if not whole:
            return [0.0] * len(texts)
        return [
            sum(weight for weight, held in zip(weights, held_here, strict=True) if held) / whole
            for held_here in _held(session, locale, list(own[locale]), texts)
        ]


def _parts(identifier: str) -> str:
    return " ".join(words_of(identifier))


def _held(session: Session, locale: str, words: Sequence[str], texts: Sequence[str]) -> list[Sequence[Any]]:
    """For each text, which of the lexemes it has."""
    values = {
        "queries": [quoted(word) for word in words],
        "texts": [" ".join(words_of(one)) for one in texts],
        "configuration": configuration(locale),
    }
    return list(session.scalars(text(HELD), values))
