"""When a run of a suite fails a build: floors, and a drop against a saved baseline (seed 002, "Wiring it into CI").

Pure. Figures are compared at the four digits that a baseline holds, so that a run compared with its own baseline shows
no rounding artefact; floors are held against the unrounded figure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.core.errors import Invalid
from app.documentation.suites import METRICS

FLOORS: Mapping[str, float] = {"pass_rate": 0.90, "recall_at_k": 0.80, "mrr": 0.60}
TOLERANCES: Mapping[str, float] = {"pass_rate": 0.0, "recall_at_k": 0.0, "mrr": 0.0, "mean_top_score": 0.02}
"""How far a metric may drop; absolute similarity drifts, so it has room (`seed-facts.md` 27.1)."""
DIGITS = 4


@dataclass(frozen=True)
class Baseline:
    """A saved run. ``model`` None: it was saved without one."""

    suite: str
    k: int
    model: str | None
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class Change:
    """One metric before and now, rounded. ``dropped``: by more than its tolerance."""

    metric: str
    before: float
    now: float
    dropped: bool

    @property
    def delta(self) -> float:
        return round(self.now - self.before, DIGITS)


def breaches(scores: Mapping[str, float], floors: Mapping[str, float]) -> list[str]:
    """The metrics that are below their floor."""
    return [metric for metric, floor in floors.items() if scores[metric] < floor]


def compared(
    scores: Mapping[str, float], baseline: Mapping[str, float], tolerances: Mapping[str, float] = TOLERANCES
) -> list[Change]:
    """Every metric that both have, in the order of `METRICS`; one without a tolerance may not drop at all."""
    found = []
    for metric in (name for name in METRICS if name in scores and name in baseline):
        before, now = round(baseline[metric], DIGITS), round(scores[metric], DIGITS)
        dropped = round(now - before, DIGITS) < -tolerances.get(metric, 0.0)
        found.append(Change(metric, before, now, dropped))
    return found


def read_baseline(text: str) -> Baseline:
    """A run that ``--save`` wrote. Raises :class:`Invalid` for anything else."""
    try:
        raw = json.loads(text)
        metrics = {name: float(raw["metrics"][name]) for name in METRICS if name in raw["metrics"]}
        if not metrics or not all(0 <= value <= 1 or name == "mean_top_score" for name, value in metrics.items()):
            raise ValueError
        model = raw.get("embedding_model")
        return Baseline(str(raw["suite"]), int(raw["k"]), None if model is None else str(model), metrics)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Invalid("documentation.baseline") from None


def assigned(values: Sequence[str], known: Mapping[str, float], most: float = 1.0) -> dict[str, float]:
    """``known`` with what ``metric=number`` of ``values`` changes in it. Raises :class:`Invalid`, naming the value."""
    found = dict(known)
    for value in values:
        metric, _, number = value.partition("=")
        try:
            wished = float(number)
        except ValueError:
            wished = -1.0
        if metric not in METRICS or not 0 <= wished <= most:
            raise Invalid("documentation.assigned", value=value[:60], allowed=", ".join(METRICS))
        found[metric] = wished
    return found
