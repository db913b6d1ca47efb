"""The questions that the PostgreSQL engine asks about words: their lexemes, and how many documents have them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.core.clock import Clock
from app.core.locale import LOCALES
from app.search.engines.ranking import LocaleTerms, Statistics
from app.search.engines.schema import configuration
from app.search.matching import ParsedQuery, Term

COUNTS_SECONDS = 60.0
NEW_WORD = 1_000
"""A word that the statistics lack is new: so many of its documents are counted at most."""

LEXEMES = """
select l.code, w.place, x.lexeme
from unnest(cast(:codes as text[]), cast(:configurations as text[])) as l (code, configuration)
cross join unnest(cast(:words as text[])) with ordinality as w (word, place)
cross join lateral unnest(tsvector_to_array(to_tsvector(cast(l.configuration as regconfig), w.word))) as x (lexeme)
order by l.code, w.place, x.lexeme
"""
LEXEME_COUNTS = """
select l.locale, l.lexeme, coalesce(
    (select sum(s.documents) from word_stems s where s.word = l.lexeme and s.locale = l.locale
        and s.entity = any(:entities) and s.documents > 0),
    (select count(*) from (select from search_documents d where d.words @@ cast(l.query as tsquery)
        and d.locale = l.locale and d.entity = any(:entities) limit cast(:most as bigint)) as sample))
from unnest(cast(:locales as text[]), cast(:lexemes as text[]), cast(:queries as text[])) as l (locale, lexeme, query)
union all
select '', i.word, (select count(*) from search_documents d
    where d.identifiers @> array[i.word] and d.entity = any(:entities))
from unnest(cast(:identifiers as text[])) as i (word)
"""
DOCUMENT_COUNTS = "select locale, count(*) from search_documents where entity = any(:entities) group by locale"
COUNTED = """
select count(*) from word_walks where entity = any(:entities) and finished_at is not null
"""
COUNTED_DOCUMENTS = """
select locale, sum(documents) from word_statistics where entity = any(:entities) group by locale
"""


@dataclass(frozen=True)
class _Size:
    """Documents by locale, when they were asked for, and whether the statistics know all of the entities."""

    at: float = -math.inf
    documents: Mapping[str, int] | None = None
    counted: bool = False


class Counts:
    """Document frequencies, read for each question, and the size of the index, read once a minute."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._sizes: dict[tuple[str, ...], _Size] = {}

    def statistics(
        self, session: Session, entities: Sequence[str], terms: Mapping[str, LocaleTerms], identifiers: Sequence[str]
    ) -> Statistics:
        """What the index has of the question's terms: by the last walk's figures, or counted where they lack a word."""
        size = self._size(session, entities)
        pairs = [(code, lexeme) for code, words in terms.items() for lexeme in words]
        counted = session.execute(
            text(LEXEME_COUNTS),
            {
                "entities": list(entities),
                "locales": [code for code, _ in pairs],
                "lexemes": [lexeme for _, lexeme in pairs],
                "queries": [quoted(lexeme) for _, lexeme in pairs],
                "identifiers": list(identifiers),
                "most": NEW_WORD if size.counted else None,
            },
        ).all()
        return Statistics(
            documents=size.documents or {},
            lexemes={(code, word): int(count) for code, word, count in counted if code},
            identifiers={word: int(count) for code, word, count in counted if not code},
        )

    def _size(self, session: Session, entities: Sequence[str]) -> _Size:
        """At most a minute old: idf needs the order of magnitude only."""
        key = tuple(sorted(entities))
        known = self._sizes.get(key, _Size())
        if self._clock.monotonic() - known.at <= COUNTS_SECONDS:
            return known
        values = {"entities": list(key)}
        counted = session.scalar(text(COUNTED), values) == len(key)
        rows = session.execute(text(COUNTED_DOCUMENTS if counted else DOCUMENT_COUNTS), values)
        size = _Size(self._clock.monotonic(), {code: int(count) for code, count in rows}, counted)
        self._sizes[key] = size
        return size


def quoted(lexeme: str) -> str:
    """The lexeme as part of a tsquery, so that none can be an operator; ``x:*`` stays a prefix."""
    word, prefix = (lexeme.removesuffix(":*"), ":*") if is_beginning(lexeme) else (lexeme, "")
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'" + prefix


def is_beginning(lexeme: str) -> bool:
    """Whether it stands for every word that begins so."""
    return lexeme.endswith(":*")


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


def with_alternatives(session: Session, query: ParsedQuery) -> dict[str, dict[str, int]]:
    """The lexemes of the question, those of synonyms and corrections at the place of the term that they stand for."""
    spelt = lexemes(session, query.terms)
    if query.alternatives:
        other = lexemes(session, [Term(one.word, one.prefix) for one in query.alternatives])
        for code, words in other.items():
            for lexeme, at in words.items():
                one = query.alternatives[at]
                if one.locale in (None, code):
                    spelt[code].setdefault(lexeme, one.place)
    return spelt
