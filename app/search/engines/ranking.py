"""How the candidates of an engine are ordered by the words they have: BM25. Pure: counts in, order out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.search.engines.ports import KeywordHit

LocaleTerms = Mapping[str, int]
"""A locale's lexemes of a question, each with the place of the term it came from."""
ALL_TERMS_FIRST = 2
"""Up to so many significant terms, hits that have them all come first (`search-measured.md` 1)."""
K1 = 1.2
B = 0.75
TITLE_BONUS = 0.5
"""A word of the title counts as half an occurrence more."""


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


@dataclass(frozen=True)
class Candidate:
    """A row that matches. ``frequencies`` has the occurrences of each of its locale's lexemes, in their order, with the
    title's bonus; ``length`` in words; ``identifiers`` are those of the question that stand in it."""

    entity: str
    record_id: int
    locale: str
    complete: bool
    length: float
    frequencies: Sequence[float]
    identifiers: Sequence[str] = ()


def idf(documents: int, having: int) -> float:
    """Lucene's inverse document frequency; counts taken a moment apart never make it negative."""
    documents = max(documents, having)
    return math.log(1 + (documents - having + 0.5) / (having + 0.5))


def ranked(
    candidates: Sequence[Candidate], terms: Mapping[str, LocaleTerms], statistics: Statistics
) -> list[KeywordHit]:
    """Best first: those with an identifier, then those with all of at most two terms, then by score, entity and id."""
    weights = {code: [statistics.lexeme_idf(code, lexeme) for lexeme in words] for code, words in terms.items()}
    average = _average_lengths(candidates)
    scores = [_score(one, weights.get(one.locale, ()), average, statistics) for one in candidates]
    top = max(scores, default=0.0)
    hits = []
    for one, score in zip(candidates, scores, strict=True):
        first = one.complete and len(set(terms.get(one.locale, {}).values())) == ALL_TERMS_FIRST
        hits.append(
            KeywordHit(one.entity, one.record_id, one.locale, score + (top if first else 0.0), bool(one.identifiers))
        )
    return sorted(hits, key=lambda hit: (not hit.named, -hit.score, hit.entity, hit.record_id))


def _score(one: Candidate, weights: Sequence[float], average: Mapping[str, float], statistics: Statistics) -> float:
    longer = one.length / average[one.locale] if average[one.locale] else 1.0
    damping = K1 * (1 - B + B * longer)
    words = sum(
        weight * count * (K1 + 1) / (count + damping) for weight, count in zip(weights, one.frequencies, strict=False)
    )
    return words + sum(statistics.identifier_idf(identifier) for identifier in one.identifiers)


def _average_lengths(candidates: Sequence[Candidate]) -> dict[str, float]:
    lengths: dict[str, list[float]] = {}
    for one in candidates:
        lengths.setdefault(one.locale, []).append(one.length)
    return {code: sum(values) / len(values) for code, values in lengths.items()}


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
