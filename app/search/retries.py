"""Whether a poor answer is looked for again, and how (`search-measured.md` 6, `seed-facts.md` 4.6). Pure.

A retry is not the same question again: the user's own words replace an expansion, vectors are used where the strategy
has them, and the rules weigh. Each leg's window is 200 records anyhow (`search-measured.md` 3). Where nothing would be
different, there is no retry.
"""

from __future__ import annotations

from dataclasses import replace

from app.search.budget import LEGS_UNTIL
from app.search.explain import Ran
from app.search.plan import capable, rule_plan
from app.search.quality import poor
from app.search.work import Run, Work

TRANSIENT = frozenset({"embedder_unavailable", "embedder_timeout", "vector_timeout", "vector_failed"})
"""What kept vectors away and may not do so a moment later."""


def allowed(work: Work, run: Run) -> int:
    """Retries at most: what was asked for, within the setting, the strategy and the plan."""
    if not run.plan.retry:
        return 0
    return max(0, min(work.request.retries, run.options.max_retries, work.strategy.max_retries, run.plan.retries))


def worth_another(work: Work, run: Run, ran: Ran, used: int) -> bool:
    """Whether the answer is poor, and a retry may still be made."""
    return (
        used < allowed(work, run)
        and not run.budget.spent(LEGS_UNTIL)
        and poor(len(ran.fused), ran.quality or 0.0, run.plan.retry_below)
    )


def differently(work: Work, run: Run, ran: Ran) -> Run | None:
    """How to look again; None when it would be the same once more."""
    vectors = work.strategy.vectors is not None and run.disabled is None
    rules = rule_plan(run.options)
    weighed = replace(run.plan, shape="hybrid", words_weight=rules.words_weight, vector_weight=rules.vector_weight)
    plan = capable(weighed, vectors)
    again = replace(run, query=work.query, wording=work.query.phrase, plan=plan)
    same_words = again.query == run.query and again.wording == run.wording
    same_plan = (plan.shape, plan.words_weight) == (run.plan.shape, run.plan.words_weight)
    if same_words and same_plan and not (vectors and ran.leg.degraded in TRANSIENT):
        return None
    return again


def better(found: Ran, before: Ran) -> bool:
    """Whether a retry's result replaces the one before: at least as many hits, and no lower quality."""
    return len(found.fused) >= len(before.fused) and (found.quality or 0.0) >= (before.quality or 0.0)
