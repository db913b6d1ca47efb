"""Over how many cases each figure of a run is, so that what one case makes of a figure can be told. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from app.documentation.gates import DIGITS
from app.documentation.runs.models import EvaluationResult, EvaluationRun

KEPT = "metric_cases"
"""The key of a run's ``settings`` that holds them: metric to number of cases, see :func:`cases_of`."""
LEAST_NOISE = 0.01
"""No difference of a figure that is as small as this, or as what one case makes of it, says anything
(`seed-facts.md` 26.4)."""
UNKNOWN = 1.0
"""What a figure counts where nobody knows its cases: one, so that no difference of it is told as a change."""
_OF_A_FOUND_ONE = frozenset({"missing_source", "missing_text", "forbidden_text"})
_ANSWERABLE = frozenset(
    {"recall_at_k", "mrr", "mean_top_score", "source_hit_at_k", "mean_reciprocal_rank", "ndcg_at_k"}
)


def cases_of(run: EvaluationRun) -> Mapping[str, float]:
    """How many cases each figure is over: as the run kept it, else as its cases tell it.

    A figure that is no plain mean has the number that its heaviest case makes of it (1 ÷ the share of that case). What
    the cases of an old run don't tell is left out.
    """
    kept = run.settings.get(KEPT) if run.settings else None
    return kept if isinstance(kept, dict) else _told(run.kind, run.results)


def noise(before: EvaluationRun, now: EvaluationRun) -> Mapping[str, float]:
    """For each figure of either run the largest difference that says nothing, in [0.01, 1]: what one case makes in the
    run of fewer cases, rounded up, since figures are rounded too."""
    old, new = cases_of(before), cases_of(now)
    return {
        name: _share(min(cases.get(name, UNKNOWN) for run, cases in ((before, old), (now, new)) if name in run.metrics))
        for name in {**before.metrics, **now.metrics}
    }


def _share(cases: float) -> float:
    units = math.ceil(float(10**DIGITS) / max(1.0, cases) - 1e-3)
    return max(LEAST_NOISE, round(units / float(10**DIGITS), DIGITS))


def _told(kind: str, results: Sequence[EvaluationResult]) -> Mapping[str, float]:
    """What the kept cases of a run tell; where they leave it open, a case is not counted."""
    counted = [one for one in results if not one.known_red]
    if kind == "dataset":
        answerable = sum(1 for one in counted if one.expected)
        whole = ["pass_rate", "unavailable_rate"]
    else:
        answerable = sum(1 for one in counted if _asks_for_something(one))
        whole = ["pass_rate"]
    return {**dict.fromkeys(_ANSWERABLE, float(answerable)), **dict.fromkeys(whole, float(len(counted)))}


def _asks_for_something(one: EvaluationResult) -> bool:
    """Whether a case of a suite is surely answerable: a case that expects nothing passes without any passage."""
    if one.expected or (one.passed and one.retrieved):
        return True
    return any(reason["kind"] in _OF_A_FOUND_ONE for reason in one.reasons)
