"""How an answer came about, and why a record is not in it (`search-measured.md` 10, 11).

Counts and reasons for everybody who may search; scores, and what row filters took away, for administrators only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from app.core.contracts.conditions import Filter
from app.core.contracts.planning import Plan
from app.core.fusion import word_share
from app.search.counts import Counts
from app.search.engines.ports import KeywordLeg, Scope
from app.search.fusion import Fused
from app.search.legs import VectorLeg
from app.search.matching import ParsedQuery

Reason = Literal[
    "found",
    "not_searchable",
    "entity_filter",
    "only_filter",
    "locale_filter",
    "no_words",
    "no_term",
    "demands",
    "matching",
    "window",
    "no_time",
]
"""Why a record is (not) there; the first that holds, in the order of the search. ``no_time``: the budget of the search
ended before it was known."""


@dataclass(frozen=True)
class Why:
    """What became of one record in a search. Ranks are 1-based places, None where a leg has not got it.

    ``place``: its place in the answer. ``vector_ran`` false: only words could find it, since ``vector_off``.
    """

    entity: str
    id: int
    reason: Reason
    place: int | None
    words_rank: int | None
    vector_rank: int | None
    vector_ran: bool
    vector_off: str | None
    locales: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "entity": self.entity,
            "id": self.id,
            "reason": self.reason,
            "place": self.place,
            "legs": {"words_rank": self.words_rank, "vector_rank": self.vector_rank},
            "vector": {"ran": self.vector_ran, "reason": self.vector_off},
            "locales": list(self.locales),
        }


@dataclass(frozen=True)
class Ran:
    """A search that has run. ``reranked_by`` names what ordered the best hits once more, ``quality`` is in [0, 1], and
    ``covered`` how much of the question the best hits have.

    ``fused`` is the order in the end; ``query`` the question as it was looked for, ``model`` the one of the vectors.
    """

    query: ParsedQuery
    scope: Scope
    locale: str | None
    words: KeywordLeg
    leg: VectorLeg
    fused: Sequence[Fused]
    word_weight: float
    plan: Plan = field(default_factory=Plan)
    corrections: Mapping[str, str] = field(default_factory=dict)
    model: str | None = None
    quality: float | None = None
    covered: Mapping[tuple[str, int], float] = field(default_factory=dict)
    reranked_by: str | None = None

    @property
    def words_late(self) -> bool:
        """Whether the word leg was given up: then nothing more is asked of it."""
        return self.words.degraded in ("words_timeout", "words_failed") and not self.words.hits


def explained(counts: Counts, ran: Ran, everything: Scope, scores: bool, wide: Scope | None = None) -> dict[str, Any]:
    """``meta.explain``: the legs, what filters took away, and for administrators the weights.

    ``wide`` is the scope without what the asker narrowed it to. What was not counted is not among ``removed``.
    """
    told: dict[str, Any] = {
        "legs": [
            {
                "leg": "keyword",
                "ran": True,
                "hits": len(ran.words.hits),
                "total": ran.words.total,
                "empty_because": None if ran.words.hits else _no_words(counts, ran, everything, wide),
                "driver": ran.words.driver,
            },
            {
                "leg": "vector",
                "ran": ran.leg.ran,
                "hits": len(ran.leg.passages),
                "took_ms": ran.leg.took_ms,
                "empty_because": None if ran.leg.passages else _no_vectors(ran),
            },
        ],
        "removed": _removed(counts, ran, everything, scores, wide),
    }
    if scores:
        share = word_share(ran.words.hits, ran.leg.passages, ran.word_weight)
        told["fusion"] = {
            "known_idf_mass": round(ran.words.known_idf_mass, 4),
            "word_weight": round(share, 4),
            "vector_weight": round(1 - share, 4),
        }
        told["plan"] = planned(ran.plan)
    return told


def planned(plan: Plan) -> dict[str, Any]:
    """A plan as it is shown, in the shape of `seed-facts.md` 4.8."""
    return {
        "source": plan.source,
        "strategy": plan.shape,
        "ensemble": {
            "keyword_weight": round(plan.words_weight, 4),
            "vector_weight": round(plan.vector_weight, 4),
            "rrf_k": plan.rrf_k,
            "rrf_weight": plan.rrf_weight,
            "agreement_boost": plan.agreement_boost,
        },
        "ranking": {
            "use_reranker": plan.rerank,
            "rerank_top_k": plan.rerank_top_k,
            "rerank_blend": plan.rerank_blend,
        },
        "retry_policy": {"enabled": plan.retry, "max_attempts": plan.retries, "threshold": plan.retry_below},
    }


def hit_explained(one: Fused, raw: Mapping[tuple[str, int], float], similarity: float | None) -> dict[str, Any]:
    """How the score of one hit came about. ``raw``: the word leg's own scores."""
    return {
        "named": one.first,
        "words": {"score": _rounded(raw.get(one.key)), "part": _rounded(one.words_part)},
        "vector": {"score": _rounded(similarity), "part": _rounded(one.vector_part)},
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _no_words(counts: Counts, ran: Ran, everything: Scope, wide: Scope | None) -> str:
    if ran.words_late:
        return ran.words.degraded or "words_timeout"
    if not ran.query.terms and not ran.query.identifiers:
        return ran.words.note or "no_terms"
    for reason, query, scope, locale in _looser(ran, everything, wide):
        if counts.total(query, scope, locale):
            return reason
    return "no_time" if counts.late else "no_term"


def _looser(ran: Ran, everything: Scope, wide: Scope | None) -> list[tuple[str, ParsedQuery, Scope, str | None]]:
    """What stood in the way, the first to be lifted first."""
    query = ran.query
    any_term = query.any_term()
    return [
        ("matching", query.without_rules(), ran.scope, ran.locale),
        ("demands", any_term, ran.scope, ran.locale),
        ("locale_filter", any_term, ran.scope, None),
        *([("only_filter", any_term, wide, None)] if wide is not None else []),
        ("entity_filter", any_term, everything, None),
    ]


def _no_vectors(ran: Ran) -> str | None:
    if ran.leg.ran:
        return "demands" if ran.query.demands else "filters"
    return ran.leg.disabled or ran.leg.degraded or "not_asked"


def _removed(counts: Counts, ran: Ran, everything: Scope, scores: bool, wide: Scope | None) -> dict[str, int]:
    """How many more records the words match without each filter; every other filter stays."""
    if ran.words_late:
        return {}
    here: int | None = ran.words.total
    removed: dict[str, int | None] = {}
    if ran.locale is not None:
        removed["locale"] = _more(counts.total(ran.query, ran.scope, None), here)
    asked, widest = ran.scope if wide is None else wide, here
    if wide is not None:
        widest = counts.total(ran.query, wide, ran.locale)
        removed["only"] = _more(widest, here)
    if set(everything) != set(asked):
        removed["entity"] = _more(counts.total(ran.query, everything, ran.locale), widest)
    if scores and any(tree is not None for tree in asked.values()):
        unfiltered: dict[str, Filter | None] = dict.fromkeys(asked)
        removed["rows"] = _more(counts.total(ran.query, unfiltered, ran.locale), widest)
    return {name: count for name, count in removed.items() if count is not None}


def _more(count: int | None, than: int | None) -> int | None:
    return None if count is None or than is None else max(0, count - than)


def reason(counts: Counts, ran: Ran, only: Scope, locales: Sequence[str], entity: str, found: bool) -> Reason:
    """Which step of the search lost the one record that ``only`` lets through."""
    if found:
        return "found"
    if not locales:
        return "not_searchable"
    if entity not in ran.scope:
        return "entity_filter"
    if ran.locale is not None and ran.locale not in locales:
        return "locale_filter"
    if not ran.query.terms and not ran.query.identifiers:
        return "no_words"
    return _lost_by_words(counts, ran, only)


def _lost_by_words(counts: Counts, ran: Ran, only: Scope) -> Reason:
    query = ran.query
    steps: tuple[tuple[Reason, ParsedQuery], ...] = (
        ("no_term", query.any_term()),
        ("demands", query.without_rules()),
        ("matching", query),
    )
    for lost, asked in steps:
        total = counts.total(asked, only, ran.locale)
        if not total:
            return "no_time" if total is None else lost
    return "window"
