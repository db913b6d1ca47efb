"""The questions that the PostgreSQL engine asks about words: lexemes, document frequencies, occurrences."""

from __future__ import annotations

import bisect
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.core.clock import Clock
from app.core.locale import LOCALES
from app.search.engines.ranking import TITLE_BONUS, Candidate, LocaleTerms, Statistics
from app.search.engines.schema import configuration
from app.search.matching import Term

EVEN = [1.0, 1.0, 1.0, 1.0]
"""With these `ts_rank` of a single lexeme tells how often it occurs, see :func:`frequency`."""
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
select c.entity, c.record_id, c.locale,
    ts_rank(cast(:even as real[]), d.words, q.every, 0)
        / nullif(ts_rank(cast(:even as real[]), d.words, q.every, 2), 0),
    array(select ts_rank(cast(:even as real[]), d.words, cast(one.queries ->> 0 as tsquery), 0)
        from jsonb_array_elements(q.single) with ordinality as one (queries, place) order by one.place),
    array(select d.words @@ cast(one.queries ->> 1 as tsquery)
        from jsonb_array_elements(q.single) with ordinality as one (queries, place) order by one.place),
    d.named
from unnest(cast(:entities as text[]), cast(:ids as bigint[]), cast(:locales as text[])) with ordinality
    as c (entity, record_id, locale, place)
cross join lateral (select s.words || cast('' as tsvector) as words,
        array(select unnest(s.identifiers) intersect select unnest(cast(:identifiers as text[]))) as named
    from search_documents s where (s.entity, s.record_id, s.locale) = (c.entity, c.record_id, c.locale) offset 0) d
left join (select code, cast(every as tsquery) as every, cast(single as jsonb) as single
    from unnest(cast(:codes as text[]), cast(:every as text[]), cast(:single as text[])) as u (code, every, single)) q
    on q.code = c.locale
order by c.place
"""
"""The first concatenation unpacks a long tsvector once instead of once per lexeme."""


class Counts:
    """Document frequencies, read for each question, and the size of the index, read once a minute."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._documents: dict[tuple[str, ...], tuple[float, Mapping[str, int]]] = {}

    def statistics(
        self, session: Session, entities: Sequence[str], terms: Mapping[str, LocaleTerms], identifiers: Sequence[str]
    ) -> Statistics:
        """What the index has of the question's terms."""
        pairs = [(code, lexeme) for code, words in terms.items() for lexeme in words]
        counted = session.execute(
            text(LEXEME_COUNTS),
            {
                "entities": list(entities),
                "locales": [code for code, _ in pairs],
                "lexemes": [lexeme for _, lexeme in pairs],
                "queries": [quoted(lexeme) for _, lexeme in pairs],
                "identifiers": list(identifiers),
            },
        ).all()
        return Statistics(
            documents=self._documents_by_locale(session, entities),
            lexemes={(code, word): count for code, word, count in counted if code},
            identifiers={word: count for code, word, count in counted if not code},
        )

    def _documents_by_locale(self, session: Session, entities: Sequence[str]) -> Mapping[str, int]:
        """Documents by locale, at most a minute old: idf needs the order of magnitude only."""
        key = tuple(sorted(entities))
        at, counts = self._documents.get(key, (-math.inf, {}))
        if self._clock.monotonic() - at > COUNTS_SECONDS:
            rows = session.execute(text(DOCUMENT_COUNTS), {"entities": list(key)})
            counts = {row[0]: row[1] for row in rows}
            self._documents[key] = (self._clock.monotonic(), counts)
        return counts


def quoted(lexeme: str) -> str:
    """The lexeme as part of a tsquery, so that none can be an operator; ``x:*`` stays a prefix."""
    word, prefix = (lexeme.removesuffix(":*"), ":*") if lexeme.endswith(":*") else (lexeme, "")
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'" + prefix


def lexemes(session: Session, terms: Sequence[Term]) -> dict[str, dict[str, int]]:
    """Each locale's lexemes of the terms, with the place of the term that gave them; stop words give none."""
    found: dict[str, dict[str, int]] = {code: {} for code in LOCALES}
    if not terms:
        return found
    rows = session.execute(
        text(LEXEMES),
        {
            "codes": list(LOCALES),
            "configurations": [configuration(code) for code in LOCALES],
            "words": [term.text for term in terms],
        },
    )
    for code, place, word in rows:
        found[code].setdefault(f"{word}:*" if terms[place - 1].prefix else word, place - 1)
    return found


def measured(
    session: Session, found: Sequence[Any], terms: Mapping[str, LocaleTerms], identifiers: Sequence[str]
) -> list[Candidate]:
    """The candidates with each lexeme's saturated frequency, their length, and the identifiers they have."""
    if not found:
        return []
    rows = session.execute(
        text(MEASURES),
        {
            "even": EVEN,
            "entities": [row.entity for row in found],
            "ids": [row.record_id for row in found],
            "locales": [row.locale for row in found],
            "codes": list(terms),
            "every": [" | ".join(map(quoted, words)) for words in terms.values()],
            "single": [json.dumps([(quoted(word), _titled(word)) for word in words]) for words in terms.values()],
            "identifiers": list(identifiers),
        },
    )
    complete = {(row.entity, row.record_id): row.complete for row in found}
    return [
        Candidate(
            entity,
            record_id,
            locale,
            complete[entity, record_id],
            float(length or 0),
            [frequency(rank) + TITLE_BONUS * titled for rank, titled in zip(ranks, titles, strict=True)],
            named,
        )
        for entity, record_id, locale, length, ranks, titles, named in rows
    ]


def _titled(lexeme: str) -> str:
    """The same, of class A alone (the title)."""
    return quoted(lexeme) + ("A" if lexeme.endswith(":*") else ":A")


def frequency(rank: float) -> int:
    """How often a lexeme occurs, at most 255 times, from its `ts_rank` with even weights.

    PostgreSQL sums 1/j² over the occurrences and divides by π²/6 (`tsrank.c`, ``calc_rank_or``).
    """
    return bisect.bisect_left(_SUMS, rank * 1.64493406685 - 1e-6)


_SUMS = [0.0, *itertools.accumulate(1 / (j * j) for j in range(1, 256))]
