"""The history of evaluations as JSON: runs, one run with its cases, and a run beside another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiflask import APIBlueprint
from flask.typing import ResponseReturnValue
from pydantic import BaseModel, ConfigDict, Field

from app.core.errors import NotFound
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.transactions import in_unit

if TYPE_CHECKING:
    from app.documentation.runs.models import EvaluationResult, EvaluationRun
    from app.documentation.runs.records import CaseChange, RunDiff
    from app.documentation.runs.service import Runs

blueprint = APIBlueprint("evaluations_api", __name__, url_prefix="/api/v1/evaluations")

LARGEST_ID = 2**63 - 1


class Listing(BaseModel):
    """Which runs; ``cursor`` is ``next_cursor`` of the page before."""

    model_config = ConfigDict(extra="forbid")

    suite: str | None = Field(default=None, max_length=200)
    collection: str | None = Field(default=None, max_length=100)
    size: int = Field(default=50, ge=1, le=200)
    cursor: int | None = Field(default=None, ge=1, le=LARGEST_ID)


class Beside(BaseModel):
    """The run to compare with; without it the one before of the same suite and collection."""

    model_config = ConfigDict(extra="forbid")

    before: int | None = Field(default=None, ge=1, le=LARGEST_ID)


@blueprint.get("/runs")
@blueprint.input(Listing, location="query", arg_name="asked")
@in_unit
def index(asked: Listing, *, unit: Unit) -> ResponseReturnValue:
    """Runs without their cases, newest first. Needs `evaluations.select`."""
    found = runs().listing(unit, actor(), asked.suite, asked.collection, asked.cursor, asked.size)
    more = found[-1].id if len(found) == asked.size else None
    return {"items": [run_json(run) for run in found], "next_cursor": more}


@blueprint.get("/runs/<int:run_id>")
@in_unit
def show(run_id: int, *, unit: Unit) -> ResponseReturnValue:
    """One run with what came of each case. Needs `evaluations.select`."""
    run = runs().show(unit, actor(), run_id)
    return {**run_json(run), "results": [result_json(one) for one in run.results]}


@blueprint.get("/runs/<int:run_id>/diff")
@blueprint.input(Beside, location="query", arg_name="asked")
@in_unit
def diff(run_id: int, asked: Beside, *, unit: Unit) -> ResponseReturnValue:
    """A run beside an earlier one: each metric, and each case that broke, was mended, came, went or found something
    else. 404 without an earlier run. Needs `evaluations.select`."""
    found = runs().diff(unit, actor(), run_id, asked.before)
    if found is None:
        raise NotFound("evaluation.no_run_before", run=run_id)
    return diff_json(found)


def runs() -> Runs:
    """The history. Raises :class:`NotFound` where documentation is not installed."""
    found = container().evaluations
    if found is None:
        raise NotFound("documentation.not_installed")
    return found.runs


def run_json(run: EvaluationRun) -> dict[str, Any]:
    """A run without its cases."""
    return {
        "id": run.id,
        "at": run.at.isoformat(),
        "kind": run.kind,
        "suite": run.suite,
        "collection": run.collection,
        "embedding_model": run.model,
        "retrieval": run.retrieval,
        "k": run.k,
        "git_sha": run.git_sha,
        "total_cases": run.cases,
        "passed": run.passed,
        "metrics": dict(run.metrics),
        "floors": dict(run.floors),
        "breaches": list(run.breaches),
        "settings": dict(run.settings),
        "started_by": run.started_by,
    }


def result_json(one: EvaluationResult) -> dict[str, Any]:
    """What came of one case."""
    return {
        "id": one.case_id,
        "query": one.query,
        "passed": one.passed,
        "known_red": one.known_red,
        "rank": one.rank,
        "score": one.score,
        "expected": list(one.expected),
        "reasons": list(one.reasons),
        "retrieved": list(one.retrieved),
    }


def diff_json(found: RunDiff) -> dict[str, Any]:
    """Two runs. ``comparable`` is false when they asked another suite, collection or k; a ``delta`` of at most
    ``noise`` says nothing (``within_noise``)."""
    return {
        "before": run_json(found.before),
        "now": run_json(found.now),
        "comparable": found.comparable,
        "metrics": [
            {
                "metric": one.metric,
                "before": one.before,
                "now": one.now,
                "delta": one.delta,
                "worse": one.worse,
                "noise": one.noise,
                "within_noise": one.is_noise,
            }
            for one in found.metrics
        ],
        "cases": [_change(one) for one in found.cases],
    }


def _change(one: CaseChange) -> dict[str, Any]:
    return {
        "id": one.any.case_id,
        "state": one.state,
        "before": None if one.before is None else result_json(one.before),
        "now": None if one.now is None else result_json(one.now),
    }
