"""The searches that the Elasticsearch engine sends, and how their answers are read. Pure.

Order as on PostgreSQL (`ranking.py`): records with one of the question's identifiers, then those with both of exactly
two terms, then BM25 over title and body together. The steps are constants added to the score, far apart, since no
script runs in the engine; the score of each locale comes back beside them, by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.core.elasticsearch.filters import ALL, NONE, Query, both, either, verbatim
from app.core.locale import LOCALES
from app.search.engines.elasticsearch_stopwords import STOP_WORDS
from app.search.engines.ports import TOTAL_LIMIT, KeywordHit
from app.search.engines.ranking import ALL_TERMS_FIRST, TITLE_BONUS, LocaleTerms, Statistics
from app.search.matching import Demand, ParsedQuery, pieces_of

NAMED, COMPLETE = 8192.0, 2048.0
"""Above any sum of BM25 scores of 64 terms, and small enough that a float still tells these apart."""
ORDER = [{"_score": "desc"}, {"entity": "asc"}, {"record_id": "asc"}]
PREFIX = ":*"


@dataclass(frozen=True)
class Asked:
    """A question for the engine: each locale's terms (``x:*`` a beginning), identifiers, and each locale's rows.

    ``enough`` are the texts of each locale that have as many of the words as the question's rules ask for, ``first``
    those that come first.
    """

    terms: Mapping[str, LocaleTerms]
    identifiers: Sequence[str]
    rows: Mapping[str, Query]
    locale: str | None
    enough: Mapping[str, Query]
    first: Mapping[str, Query]


def spelt(query: ParsedQuery) -> dict[str, dict[str, int]]:
    """Each locale's terms with their places, and the words that count as one of them; its stop words are left out."""
    found: dict[str, dict[str, int]] = {}
    for code in LOCALES:
        stops = STOP_WORDS.get(code, frozenset())
        found[code] = {
            term.text + (PREFIX if term.prefix else ""): place
            for place, term in enumerate(query.terms)
            if term.text not in stops
        }
        for one in query.alternatives:
            if one.locale in (None, code) and one.word not in stops:
                found[code].setdefault(one.word + (PREFIX if one.prefix else ""), one.place)
    return found


def demanded(code: str, query: ParsedQuery) -> Query:
    """Texts of a locale with all that is demanded and nothing that is excluded. Stop words alone ask for nothing."""
    return both([_demand(code, one) for one in query.demands])


def covered(code: str, query: ParsedQuery, terms: LocaleTerms) -> Query:
    """Texts that have enough of the free words and identifiers (`seed-facts.md` 5.3); any where none is asked."""
    tokens = list(_places(code, {term: place for term, place in terms.items() if place < query.free}).values())
    named = [_coded(code, name) for name in query.identifiers[: query.free_identifiers]]
    tokens += named
    if query.filtered is None and query.codes_only:
        return either(named)
    if query.filtered is None or not tokens:
        return ALL
    return {"bool": {"should": tokens, "minimum_should_match": query.filtered.needed(len(tokens))}}


def question_body(asked: Asked, size: int) -> dict[str, Any]:
    """Any of the words or identifiers; counts of each term beside the hits."""
    arms = [arm for code in LOCALES if (arm := _arm(asked, code)) is not None]
    return {
        "query": _restricted({"dis_max": {"queries": arms}} if arms else NONE, asked.locale),
        "aggs": {"index": {"global": {}, "aggs": {"counts": {"filters": {"filters": _counted(asked)}}}}},
        **_page(size, ORDER),
    }


def titles_body(asked: Asked, phrase: str, size: int) -> dict[str, Any]:
    """The phrase inside titles, the shortest title first."""
    arms = [
        {
            "bool": {
                "filter": [both([rows, {"wildcard": {f"heading_{code}": f"*{verbatim(phrase.lower())}*"}}])],
                "_name": f"score_{code}",
            }
        }
        for code, rows in asked.rows.items()
        if rows != NONE
    ]
    order = [{"heading_length": "asc"}, *ORDER[1:]]
    return {"query": _restricted(either(arms), asked.locale), **_page(size, order)}


def read_hit(hit: Mapping[str, Any]) -> KeywordHit:
    """A record in its best locale; the score of its words alone, the steps left out (see :func:`completed`)."""
    by_name: Mapping[str, float] = hit["matched_queries"]
    codes = [code for code in LOCALES if f"score_{code}" in by_name]
    best = max(
        codes,
        key=lambda code: (f"named_{code}" in by_name, f"complete_{code}" in by_name, by_name[f"score_{code}"]),
    )
    return KeywordHit(hit["sort"][-2], hit["sort"][-1], best, by_name[f"score_{best}"], f"named_{best}" in by_name)


def is_complete(hit: Mapping[str, Any], read: KeywordHit) -> bool:
    return f"complete_{read.locale}" in hit["matched_queries"]


def statistics(asked: Asked, answer: Mapping[str, Any]) -> Statistics:
    """What the searched indexes have of the question's terms."""
    buckets = answer["aggregations"]["index"]["counts"]["buckets"]

    def of(name: str) -> int:
        return int(buckets[name]["doc_count"])

    return Statistics(
        documents={code: of(f"documents {code}") for code in LOCALES},
        lexemes={(code, word): of(f"term {code} {word}") for code, words in asked.terms.items() for word in words},
        identifiers={name: of(f"identifier {name}") for name in asked.identifiers},
    )


def unknown_terms(query: ParsedQuery, terms: Mapping[str, LocaleTerms], counts: Statistics) -> tuple[str, ...]:
    """The terms that no text of the entities has, in any language."""
    known: dict[int, bool] = {}
    for code, words in terms.items():
        for word, place in words.items():
            known[place] = known.get(place, False) or counts.lexemes.get((code, word), 0) > 0
    return tuple(query.terms[place].text for place, has in sorted(known.items()) if not has)


def _page(size: int, order: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    return {"size": size, "sort": list(order), "_source": False, "track_total_hits": TOTAL_LIMIT}


def _restricted(query: Query, locale: str | None) -> Query:
    """Records that have a translation in ``locale``; all of their texts compete (`search-measured.md` 5)."""
    if locale is None:
        return query
    return {"bool": {"must": [query], "filter": [{"term": {"locales": locale}}]}}


def _arm(asked: Asked, code: str) -> Query | None:
    """The texts of one locale that have any of its terms or one of the identifiers."""
    rows, terms = asked.rows[code], asked.terms.get(code, {})
    wanted = _scored(code, terms, asked.identifiers)
    if rows == NONE or not wanted:
        return None
    words = {"bool": {"should": wanted, "minimum_should_match": 1, "_name": f"score_{code}"}}
    steps = []
    if asked.identifiers:
        steps.append({"constant_score": {"filter": asked.first[code], "boost": NAMED, "_name": f"named_{code}"}})
    places = _places(code, terms)
    if len(places) == ALL_TERMS_FIRST:
        every = both(list(places.values()))
        steps.append({"constant_score": {"filter": every, "boost": COMPLETE, "_name": f"complete_{code}"}})
    return {"bool": {"must": [words], "should": steps, "filter": [both([rows, asked.enough[code]])]}}


def _demand(code: str, one: Demand) -> Query:
    if one.identifier is not None:
        has = _coded(code, one.identifier)
    else:
        kind = "match_bool_prefix" if one.prefix and len(one.words) == 1 else "match_phrase"
        asked: Query = {"query": " ".join(one.words)}
        if kind == "match_phrase" and not one.negative:
            asked["zero_terms_query"] = "all"
        has = either([{kind: {f"{field}_{code}": asked}} for field in ("title", "body")])
    return {"bool": {"must_not": [has]}} if one.negative else has


def _coded(code: str, name: str) -> Query:
    """Texts that have the identifier: whole, or a code's pieces next to each other."""
    forms: list[Query] = [{"term": {f"identifiers_{code}": name}}]
    if pieces := pieces_of(name):
        forms += [{"match_phrase": {f"{field}_{code}": " ".join(pieces)}} for field in ("title", "body")]
    return either(forms)


def named(code: str, query: ParsedQuery) -> Query:
    """Texts that come first: with one of the codes, however they write it; where nothing else is asked for, with one
    written alone."""
    if query.codes_only:
        return {"terms": {f"identifiers_{code}": list(query.identifiers)}}
    return either([_coded(code, name) for name in query.identifiers])


def _scored(code: str, terms: LocaleTerms, identifiers: Sequence[str]) -> list[Query]:
    words = " ".join(term for term in terms if not term.endswith(PREFIX))
    wanted: list[Query] = []
    if words:
        fields = [f"title_{code}^{1 + TITLE_BONUS}", f"body_{code}"]
        wanted.append({"combined_fields": {"query": words, "fields": fields}})
    wanted += [has_term(code, term) for term in terms if term.endswith(PREFIX)]
    for name in identifiers:
        has: Query = {"term": {f"identifiers_{code}": name}}  # a code weighs what its pieces weigh
        wanted.append({"constant_score": {"filter": has, "boost": 0}} if pieces_of(name) else has)
    return wanted


def _places(code: str, terms: LocaleTerms) -> dict[int, Query]:
    """For each place of the question: texts that have its term, or a word that counts as it."""
    forms: dict[int, list[Query]] = {}
    for term, place in terms.items():
        forms.setdefault(place, []).append(has_term(code, term))
    return {place: either(found) for place, found in forms.items()}


def has_term(code: str, term: str) -> Query:
    """Texts of a locale that have the term."""
    fields = (f"title_{code}", f"body_{code}")
    if term.endswith(PREFIX):
        return either([{"match_bool_prefix": {field: {"query": term.removesuffix(PREFIX)}}} for field in fields])
    return either([{"match": {field: {"query": term}}} for field in fields])


def _counted(asked: Asked) -> dict[str, Query]:
    """What is counted in the whole index, by the names that :func:`statistics` reads."""
    counted: dict[str, Query] = {f"documents {code}": {"term": {"locales": code}} for code in LOCALES}
    for code, words in asked.terms.items():
        counted |= {f"term {code} {word}": has_term(code, word) for word in words}
    for name in asked.identifiers:
        counted[f"identifier {name}"] = either([{"term": {f"identifiers_{code}": name}} for code in LOCALES])
    return counted
