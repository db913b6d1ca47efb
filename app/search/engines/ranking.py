"""What words weigh, and which of them a text needs to be among the best: BM25. Pure: counts in, order out.

What a word weighs in one text is made when the text is written (migration 0010: k1 1.2, b 0.75, the title's bonus).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from app.search.engines.ports import KeywordHit

LocaleTerms = Mapping[str, int]
"""A locale's lexemes of a question, each with the place of the term it came from."""
ALL_TERMS_FIRST = 2
"""Up to so many significant terms, hits that have them all come first (`search-measured.md` 1)."""
K1 = 1.2
TITLE_BONUS = 0.5
"""A word of the title counts as half an occurrence more."""
MOST = K1 + 1
"""No word weighs more in a text than this times its idf."""
CUT_FROM = 50_000
"""Matching texts, from which on looking twice is cheaper than ranking all of them: up to 60,000 it was dearer in almost
every question (`make bench-search`), since the whole look also counts."""
FIRST_CUT = 1_000

Weights = Mapping[str, Mapping[str, float]]
"""Locale to lexeme to its idf in the searched entities."""


Row = Sequence[Any]
"""A record as a statement found it: entity, record_id, locale, named, complete, score, and more. ``complete``: the
question has two terms and the text has both."""


@dataclass(frozen=True)
class Statistics:
    """Counts of the searched entities: documents by locale, and documents by (locale, lexeme) and by identifier."""

    documents: Mapping[str, int]
    lexemes: Mapping[tuple[str, str], int]
    identifiers: Mapping[str, int]

    def lexeme_idf(self, locale: str, lexeme: str) -> float:
        return idf(self.documents.get(locale, 0), self.lexemes.get((locale, lexeme), 0))

    def identifier_idf(self, identifier: str) -> float:
        return idf(sum(self.documents.values()), self.identifiers.get(identifier, 0))


def idf(documents: int, having: int) -> float:
    """Lucene's inverse document frequency; counts taken a moment apart never make it negative."""
    documents = max(documents, having)
    return math.log(1 + (documents - having + 0.5) / (having + 0.5))


def weights_of(terms: Mapping[str, LocaleTerms], statistics: Statistics) -> Weights:
    """The idf of each lexeme."""
    return {code: {word: statistics.lexeme_idf(code, word) for word in words} for code, words in terms.items()}


def ranked(rows: Sequence[Row]) -> list[KeywordHit]:
    """The hits of rows that come best first: the score says so too, where both of two terms stand together."""
    top = max(map(itemgetter(5), rows), default=0.0)
    return [KeywordHit(row[0], row[1], row[2], row[5] + top if row[4] else row[5], row[3]) for row in rows]


def is_wide(weights: Weights, statistics: Statistics) -> bool:
    """Whether so many texts match that those which can't be among the best are worth leaving out."""
    several = any(len(words) > 1 for words in weights.values())
    return several and sum(_having(code, words, statistics) for code, words in weights.items()) > CUT_FROM


def rarest(weights: Weights, statistics: Statistics) -> dict[str, set[str]]:
    """The rarest lexemes of each locale, until enough texts have them to fill a window several times."""
    chosen: dict[str, set[str]] = {}
    for code, words in weights.items():
        having = 0
        chosen[code] = set()
        for word in sorted(words, key=lambda one: (-words[one], one)):
            if having >= FIRST_CUT:
                break
            chosen[code].add(word)
            having += statistics.lexemes.get((code, word), 0)
    return chosen


def necessary(weights: Weights, least: float | None) -> dict[str, set[str]]:
    """Lexemes of which a text must have one to reach the score ``least`` (MaxScore); all of them for None.

    The others, all together and as often as may be, stay below it: an impact is always less than :data:`MOST`.
    """
    found = {}
    for code, words in weights.items():
        found[code] = set(words)
        reach = 0.0
        for word in sorted(words, key=lambda one: (words[one], one)):
            reach += MOST * words[word]
            if least is None or reach >= least:
                break
            found[code].discard(word)
    return found


def least(rows: Sequence[Row], window: int) -> float | None:
    """The score that a record must reach to come into a full window; None while there is room in it."""
    if len(rows) < window:
        return None
    last = rows[window - 1]
    return math.inf if last[3] or last[4] else float(last[5])


def _having(code: str, words: Mapping[str, float], statistics: Statistics) -> int:
    return sum(statistics.lexemes.get((code, word), 0) for word in words)


def typed(terms: Mapping[str, LocaleTerms], count: int) -> Mapping[str, LocaleTerms]:
    """The terms of a question that its asker typed, without what expands it: only they say how well it is known."""
    return {code: {word: place for word, place in words.items() if place < count} for code, words in terms.items()}


def known_idf_mass(terms: Mapping[str, LocaleTerms], identifiers: Sequence[str], statistics: Statistics) -> float:
    """The share, in [0, 1], of the question's idf whose terms the index has, in the locale that has most of it."""
    named = [(statistics.identifier_idf(one), statistics.identifiers.get(one, 0) > 0) for one in identifiers]
    shares = []
    for code, words in terms.items():
        counted = [(statistics.lexeme_idf(code, one), statistics.lexemes.get((code, one), 0) > 0) for one in words]
        shares.append(_share(counted + named))
    return max(shares, default=_share(named))


def significant(terms: Mapping[str, LocaleTerms]) -> Mapping[str, LocaleTerms]:
    """The terms that are stop words in no locale (`seed-facts.md` 5.1), or all of them when none is left.

    Without this the stop words of one language are rare words of the other, and weigh most: nDCG@10 of the English
    half of docs-en-it .658 against .803.
    """
    kept = in_every_locale(terms)
    if not kept:
        return terms
    return {code: {word: place for word, place in words.items() if place in kept} for code, words in terms.items()}


def in_every_locale(terms: Mapping[str, LocaleTerms]) -> set[int]:
    """The places of the terms that are stop words in no locale."""
    places = [set(words.values()) for words in terms.values()]
    return set.intersection(*places) if places else set()


def _share(weighed: Sequence[tuple[float, bool]]) -> float:
    whole = sum(weight for weight, _ in weighed)
    return sum(weight for weight, known in weighed if known) / whole if whole else 0.0
