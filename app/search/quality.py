"""Is this answer good enough? (`search-measured.md` 6). Pure.

Half of it is how much of the question the best of the first five hits has, half where the best cosine lies between what
questions off the topic reach and what answered ones do. The mean of fused scores, which it replaces, tells the two
apart with an AUC of .78; this with .98.
"""

from __future__ import annotations

from app.core.quality import quality
from app.search.engines.ports import KeywordHit
from app.search.explain import Ran

TOP = 5
ENOUGH = 5
"""Fewer hits are a poor result, whatever their quality (`seed-facts.md` 4.6)."""


def unmeasured(ran: Ran, most: int = TOP) -> list[KeywordHit]:
    """Those of the first ``most`` that have words of the question, and of which nobody said yet how many.

    None when one of them has all of the question, and stays among the first: no other can have more.
    """
    if most == TOP and coverage(ran) == 1.0:
        return []
    best = {one.key for one in ran.fused[:most]}
    return [hit for hit in ran.words.hits if hit.key in best and hit.coverage is None and hit.key not in ran.covered]


def coverage(ran: Ran) -> float:
    """The idf coverage of the best of the first five."""
    known = {**{hit.key: hit.coverage for hit in ran.words.hits if hit.coverage is not None}, **ran.covered}
    return max((known[one.key] for one in ran.fused[:TOP] if one.key in known), default=0.0)


def judged(ran: Ran, calibration: tuple[float, float] | None) -> float:
    """The quality of what was found. ``calibration``: noise and span of the model, None where nobody measured it."""
    noise, span = calibration or (0.0, 0.0)
    cosine = ran.leg.passages[0].similarity if ran.leg.ran and ran.leg.passages else None
    return quality(coverage(ran), cosine, noise, span)


def poor(hits: int, value: float, threshold: float) -> bool:
    """Whether a result is worth another look."""
    return hits < ENOUGH or value < threshold
