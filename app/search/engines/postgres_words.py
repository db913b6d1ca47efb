"""The questions that the PostgreSQL engine asks about words: their lexemes, and how many documents have them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.core.clock import Clock
from app.core.locale import LOCALES
from app.core.recent import Recent
from app.search.engines.ranking import LocaleTerms, Statistics
from app.search.engines.schema import configuration
from app.search.matching import ParsedQuery, Term

COUNTS_SECONDS = 60.0
WORDS_KEPT = 16_384
"""Words whose lexemes are remembered: those of questions, and those of shown texts that may have to be marked."""
NEW_WORD = 1_000
"""A word that the statistics lack is new: so many of its documents are counted at most."""

LEXEMES = text("""
select l.code, w.place, x.lexeme
from unnest(cast(:codes as text[]), cast(:configurations as text[])) as l (code, configuration)
cross join unnest(cast(:words as text[])) with ordinality as w (word, place)
cross join lateral unnest(tsvector_to_array(to_tsvector(cast(l.configuration as regconfig), w.word))) as x (lexeme)
order by l.code, w.place, x.lexeme
""")
LEXEME_COUNTS = text("""
select l.locale, l.lexeme, case
    when s.here is not null then s.here
    when s.elsewhere is not null and cast(:most as bigint) is not null then 0
    else (select count(*) from (select from search_documents d where d.words @@ cast(l.query as tsquery)
        and d.locale = l.locale and d.entity = any(:entities) limit cast(:most as bigint)) as sample) end
from unnest(cast(:locales as text[]), cast(:lexemes as text[]), cast(:queries as text[])) as l (locale, lexeme, query)
cross join lateral (
    select sum(s.documents) filter (where s.locale = l.locale) as here, sum(s.documents) as elsewhere
    from word_stems s where s.word = l.lexeme and s.entity = any(:entities) and s.documents > 0) as s
union all
select '', i.word, (select count(*) from search_documents d
    where d.identifiers @> array[i.word] and d.entity = any(:entities))
from unnest(cast(:identifiers as text[])) as i (word)
""")
"""A lexeme that texts of other locales have is not counted in one whose statistics lack it: all of those texts would be
read, to find none. A word that is new to a locale weighs there as if no text had it until the next walk."""
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
            LEXEME_COUNTS,
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


class Lexemes:
    """What each locale's configuration makes of a word: the same at any time, and so kept. Safe for threads."""

    def __init__(self) -> None:
        self._kept: Recent[str, Mapping[str, Sequence[str]]] = Recent(WORDS_KEPT)

    def of_question(self, session: Session, query: ParsedQuery) -> dict[str, dict[str, int]]:
        """Those of the question; of synonyms and corrections at the place of the term that they stand for."""
        alternatives = [Term(one.word, one.prefix) for one in query.alternatives]
        made = self._made(session, {term.text for term in (*query.terms, *alternatives)})
        spelt = _placed(query.terms, made)
        for code, words in _placed(alternatives, made).items():
            for lexeme, at in words.items():
                one = query.alternatives[at]
                if one.locale in (None, code):
                    spelt[code].setdefault(lexeme, one.place)
        return spelt

    def of_terms(self, session: Session, terms: Sequence[Term]) -> dict[str, dict[str, int]]:
        """By locale, with the place of the term that gave them; stop words give none."""
        return _placed(terms, self._made(session, {term.text for term in terms}))

    def matching(self, session: Session, code: str, words: AbstractSet[str], lexemes: Sequence[str]) -> set[str]:
        """Which of the words have one of the lexemes, as a text of that locale would."""
        whole = {lexeme for lexeme in lexemes if not is_beginning(lexeme)}
        beginnings = tuple(lexeme.removesuffix(":*") for lexeme in lexemes if is_beginning(lexeme))
        return {
            word
            for word, made in self._made(session, words).items()
            if any(lexeme in whole or lexeme.startswith(beginnings) for lexeme in made.get(code, ()))
        }

    def _made(self, session: Session, words: AbstractSet[str]) -> Mapping[str, Mapping[str, Sequence[str]]]:
        """Word to locale to lexemes."""
        known = {word: self._kept.get(word) for word in words}
        made = {word: one for word, one in known.items() if one is not None}
        new = sorted(word for word, one in known.items() if one is None)
        if new:
            values = {"codes": list(LOCALES), "configurations": [configuration(code) for code in LOCALES], "words": new}
            read: dict[str, dict[str, list[str]]] = {word: {} for word in new}
            for code, place, lexeme in session.execute(LEXEMES, values):
                read[new[place - 1]].setdefault(code, []).append(lexeme)
            for word, lexemes in read.items():
                self._kept.put(word, lexemes)
            made.update(read)
        return made


def _placed(terms: Sequence[Term], made: Mapping[str, Mapping[str, Sequence[str]]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {code: {} for code in LOCALES}
    for place, term in enumerate(terms):
        for code, lexemes in made[term.text].items():
            for lexeme in lexemes:
                found[code].setdefault(f"{lexeme}:*" if term.prefix else lexeme, place)
    return found
