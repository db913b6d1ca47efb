"""The second look at the best hits: their texts, read in the search's snapshot, and a reranker's scores for them.

A reranker that fails, is late or gives no usable scores leaves the fused order (`seed-facts.md` 9).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import structlog

from app.core.contracts.rerank import Reranker
from app.core.contracts.vectors import PassageHit
from app.core.documents.text import document_text
from app.core.errors import ModelServerFailed
from app.search.beside import beside
from app.search.budget import LEGS_UNTIL
from app.search.engines.ports import FoundDocument, Key, SearchEngine
from app.search.explain import Ran
from app.search.rerank import HeuristicReranker, reranked
from app.search.work import Run, Work

READ = 2_000
"""Characters of a text that a cross-encoder is given; it reads some 512 tokens."""
WHOLE = 20_000
"""Characters of a text that the heuristic is given, which counts the question's words in it (`seed-facts.md` 9). In the
best passage of a long page too few of them stand: nDCG@10 on docs-en-it −.039 with passages, −.021 with whole texts."""

log = structlog.get_logger(__name__)


def texts(engine: SearchEngine, session: Any, ran: Ran, *, whole: bool = False) -> tuple[str, ...]:
    """One text for each of the best hits: of the requested language where it has one, its passage where one was found
    and ``whole`` texts are not wanted.

    Empty for a record that is not (or no longer) in scope.
    """
    best = ran.fused[: ran.plan.rerank_top_k]
    documents: dict[Key, dict[str, FoundDocument]] = {}
    for document in engine.documents(session, [one.key for one in best], ran.scope) if best else ():
        documents.setdefault((document.entity, document.record_id), {})[document.locale] = document
    passages = {(hit.entity, hit.record_id): hit for hit in ran.leg.passages}
    matched = {hit.key: hit.locale for hit in ran.words.hits}
    return tuple(
        _text(documents.get(one.key, {}), (ran.locale, matched.get(one.key)), passages.get(one.key), whole=whole)
        for one in best
    )


def _text(
    locales: Mapping[str, FoundDocument], wished: Sequence[str | None], passage: PassageHit | None, *, whole: bool
) -> str:
    if not locales:
        return ""
    found = (code for code in (*wished, passage.locale if passage else None) if code in locales)
    document = locales[next(found, None) or min(locales)]
    text = document_text(document.title, document.body)
    if whole:
        return text[:WHOLE]
    if passage and passage.current and passage.locale == document.locale and passage.start > len(document.title):
        return f"{document.title}\n\n{text[passage.start : passage.end]}"[:READ]
    return text[:READ]


def second_look(work: Work, run: Run, ran: Ran, read: Sequence[str]) -> Ran:
    """The best hits in the order that a reranker gives; with a model's, call it with no transaction open."""
    reranker: Reranker = work.strategy.reranker or HeuristicReranker()
    if not read:
        return ran
    seconds = run.budget.left(LEGS_UNTIL)
    phrase = work.query.phrase
    try:
        if work.strategy.reranker is None:
            scores = reranker.scores(phrase, read, seconds)
        else:
            scores = beside(lambda: reranker.scores(phrase, read, seconds)).result(timeout=seconds)
        fused = reranked(ran.fused, read, scores, ran.plan.rerank_blend)
    except TimeoutError:
        work.notes.add("reranker_timeout")
        return ran
    except Exception as error:  # noqa: BLE001 - search never fails because of reranking
        late = isinstance(error, ModelServerFailed) and error.reason == "timeout"
        log.warning("search.reranker_failed", code=getattr(error, "code", type(error).__name__))
        work.notes.add("reranker_timeout" if late else "reranker_failed")
        return ran
    return replace(ran, fused=fused, reranked_by=reranker.name)
