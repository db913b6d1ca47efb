"""How the candidates of an engine are ordered by the words they have. Pure: counts in, order out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.search.engines.ports import KeywordHit

LocaleTerms = Mapping[str, int]
"""A locale's lexemes of a question, each with the place of the term it came from."""
ALL_TERMS_FIRST = 2
"""Up to so many significant terms, hits that have them all come first (`search-measured.md` 1)."""
LENGTH_WEIGHT = 0.75


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
    """A row that matches. ``ranks`` has a saturated frequency for each of its locale's lexemes, in their order;
    ``length`` in words; ``identifiers`` are those of the question that stand in it."""

    entity: str
    record_id: int
    locale: str
    complete: bool
    length: float
    ranks: Sequence[float]
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
        first = one.complete and len(terms.get(one.locale, ())) == ALL_TERMS_FIRST
        hits.append(
            KeywordHit(one.entity, one.record_id, one.locale, score + (top if first else 0.0), bool(one.identifiers))
        )
    return sorted(hits, key=lambda hit: (not hit.named, -hit.score, hit.entity, hit.record_id))


def _score(
    one: Candidate, weights: Sequence[float], average: Mapping[str, float], statistics: Statistics
) -> float:
    words = sum(weight * rank for weight, rank in zip(weights, one.ranks, strict=False))
    longer = one.length / average[one.locale] if average[one.locale] else 1.0
    named = sum(statistics.identifier_idf(identifier) for identifier in one.identifiers)
    return words / math.sqrt(1 - LENGTH_WEIGHT + LENGTH_WEIGHT * longer) + named


def _average_lengths(candidates: Sequence[Candidate]) -> dict[str, float]:
    lengths: dict[str, list[float]] = {}
    for one in candidates:
        lengths.setdefault(one.locale, []).append(one.length)
    return {code: sum(values) / len(values) for code, values in lengths.items()}


def known_idf_mass(
    terms: Mapping[str, LocaleTerms], identifiers: Sequence[str], statistics: Statistics
) -> float:
    """The share, in [0, 1], of the question's idf whose terms the index has, in the locale that has most of it.

    Terms that are stop words in any locale say nothing about the language of a question and don't count
    (`seed-facts.md` 5.1, "significant").
    """
    places = [set(words.values()) for words in terms.values()]
    significant = set.intersection(*places) if places else set()
    named = [(statistics.identifier_idf(one), statistics.identifiers.get(one, 0) > 0) for one in identifiers]
    return max((_mass(code, words, significant, named, statistics) for code, words in terms.items()), default=_share(named))


def _mass(
    code: str,
    words: LocaleTerms,
    significant: set[int],
    named: Sequence[tuple[float, bool]],
    statistics: Statistics,
) -> float:
    counted = [lexeme for lexeme, place in words.items() if place in significant or not significant]
    return _share(
        [(statistics.lexeme_idf(code, one), statistics.lexemes.get((code, one), 0) > 0) for one in counted] + list(named)
    )


def _share(weighed: Sequence[tuple[float, bool]]) -> float:
    whole = sum(weight for weight, _ in weighed)
    return sum(weight for weight, known in weighed if known) / whole if whole else 0.0
