"""What an answer says about itself (`seed-facts.md` 11): counts, reasons and orders, never a word of the question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.search.answer import SearchMeta
from app.search.explain import Ran
from app.search.matching import ParsedQuery
from app.search.tolerance import described
from app.search.words import WINDOW
from app.search.work import Run, Work

TOLD = 10
"""Places of each leg's own order that administrators are told; all of them with an explanation."""


def meta_of(work: Work, run: Run, ran: Ran, retries: int, shown: int, note: str | None) -> SearchMeta:
    """``shown`` counts the hits of the page; ``note`` stands in place of the word leg's own."""
    words, leg = ran.words, ran.leg
    return SearchMeta(
        mode=work.request.mode,
        mode_applied=work.strategy.mode_applied,
        cost=work.request.cost,
        strategies=_strategies(ran),
        degraded_reason=work.strategy.degraded_reason or work.notes.first,
        vector_disabled=leg.disabled,
        model=ran.model,
        took_ms=round(work.watch.total(), 1),
        window=WINDOW,
        words=len(words.hits),
        vector=len(leg.passages),
        note=note or words.note,
        matching=_matching(work.query, ran.query),
        retries_used=retries,
        corrected=any(one.locale is None for one in ran.query.alternatives),
        driver=words.driver,
        reranked=ran.reranked_by is not None,
        reranker_model=ran.reranked_by,
        quality=None if ran.quality is None else round(ran.quality, 4),
        total_results=shown,
        per_strategy=_per_strategy(ran, work.request.explain) if work.reach.scores else None,
        tuning=ran.plan.tuning,
        left_out=tuple(work.notes.left_out) or None,
        timings=work.watch.as_json() if run.options.timings else None,
    )


def _strategies(ran: Ran) -> tuple[str, ...]:
    legs = (("keyword", not ran.words_late), ("vector", ran.leg.ran))
    return tuple(name for name, has_run in legs if has_run)


def _matching(typed: ParsedQuery, asked: ParsedQuery) -> Mapping[str, Any]:
    if typed.analysis is None or typed.rules is None:
        return {}
    return described(typed.analysis, typed.rules, asked.counts())


def _per_strategy(ran: Ran, everything: bool) -> Mapping[str, Any]:
    most = None if everything else TOLD
    words = [(hit.entity, hit.record_id, hit.score) for hit in ran.words.hits[:most]]
    vector = [(hit.entity, hit.record_id, hit.similarity) for hit in ran.leg.passages[:most]]
    return {
        name: [
            {"entity": entity, "id": record, "score": round(score, 4), "rank": rank}
            for rank, (entity, record, score) in enumerate(hits, start=1)
        ]
        for name, hits in (("keyword", words), ("vector", vector))
    }
