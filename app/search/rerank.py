"""Reranking without a model, and how any reranker's scores are blended into the fused order (`seed-facts.md` 4.9, 9).

Off by default: on public sets the heuristic moves nDCG@10 by −.008 … +.001 (`search-measured.md` 7). Pure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from app.core.errors import Unavailable
from app.core.fusion import DIGITS
from app.search.fusion import Fused

BEGINNING = 100
"""Characters at the start of a text where the whole question counts once more."""

_WORD = re.compile(r"\w+")


class HeuristicReranker:
    """0.4 if the whole question stands in the text + 0.4 · share of its distinct words that do, as whole words
    + 0.2 if the whole question stands in the first hundred characters. Case and runs of white space don't matter."""

    name = "heuristic"

    def scores(self, query: str, texts: Sequence[str], timeout: float) -> Sequence[float]:
        """See :class:`~app.core.contracts.rerank.Reranker`; it never fails and takes no noticeable time."""
        question = _plain(query)
        words = frozenset(_WORD.findall(question))
        return [_score(question, words, _plain(text)) for text in texts]


def reranked(fused: Sequence[Fused], texts: Sequence[str], scores: Sequence[float], blend: float) -> list[Fused]:
    """``fused`` in the order that its best hits' scores give: (1 − blend) · fused + blend · score · highest fused.

    ``texts`` and ``scores`` belong to the first hits, one each; the hits behind them keep their score, and all are
    sorted again. Hits with one of the question's identifiers stay first. Raises :class:`Unavailable` when all texts are
    empty, or when a score is missing or no number in [0, 1].
    """
    if len(scores) != len(texts) or len(texts) > len(fused) or not all(map(_usable, scores)):
        raise Unavailable("rerank.scores", got=len(scores), sent=len(texts))
    if not any(text.strip() for text in texts):
        raise Unavailable("rerank.no_text")
    share = min(max(blend, 0.0), 1.0)
    highest = max(one.score for one in fused[: len(texts)]) or 1.0
    blended = [
        one._replace(score=round(one.score * (1 - share) + score * highest * share, DIGITS))
        for one, score in zip(fused, scores, strict=False)
    ]
    return sorted([*blended, *fused[len(texts) :]], key=lambda one: (not one.first, -one.score, one.key))


def _score(question: str, words: frozenset[str], text: str) -> float:
    if not question or not text:
        return 0.0
    present = words & frozenset(_WORD.findall(text))
    share = len(present) / len(words) if words else 0.0
    whole = 0.4 if question in text else 0.0
    early = 0.2 if question in text[:BEGINNING] else 0.0
    return min(1.0, whole + 0.4 * share + early)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _usable(score: float) -> bool:
    return math.isfinite(score) and 0 <= score <= 1
