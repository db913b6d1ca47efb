"""Runs of evaluations: how the figures of a suite went over time, one run, and two runs case by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import format_decimal
from flask_babel import gettext as _

from app.core.errors import NotFound
from app.core.messages import N_
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.transactions import in_unit
from app.web.trends import trend

if TYPE_CHECKING:
    from app.documentation.runs.models import EvaluationResult, EvaluationRun
    from app.documentation.runs.records import CaseChange, RunDiff
    from app.documentation.runs.service import Runs, SuiteLine

blueprint = Blueprint("evaluations", __name__)

JSON = dict[str, Any]

METRICS: Mapping[str, str] = {
    "pass_rate": N_("Pass rate"),
    "recall_at_k": N_("Recall at k"),
    "mrr": N_("Mean reciprocal rank"),
    "mean_top_score": N_("Mean top score"),
    "source_hit_at_k": N_("Source found"),
    "mean_reciprocal_rank": N_("Mean reciprocal rank"),
    "ndcg_at_k": N_("nDCG at k"),
    "citation_precision": N_("Citation precision"),
    "authorized_empty_accuracy": N_("Rightly empty"),
    "supported_answer_rate": N_("Supported answers"),
    "abstention_accuracy": N_("Rightly not documented"),
    "refusal_accuracy": N_("Rightly refused"),
    "unavailable_rate": N_("Unavailable"),
}
PLOTTED: Mapping[str, Sequence[str]] = {
    "suite": ("pass_rate", "recall_at_k", "mrr", "mean_top_score"),
    "dataset": ("pass_rate", "source_hit_at_k", "mean_reciprocal_rank", "abstention_accuracy"),
}
KINDS: Mapping[str, str] = {"suite": N_("Suite"), "dataset": N_("Dataset of callers")}
RETRIEVALS: Mapping[str, str] = {
    "passages": N_("Nearest passages"),
    "answers": N_("What people are answered from"),
    "words": N_("Words alone"),
}
REASONS: Mapping[str, str] = {
    "missing_source": N_("Expected source not retrieved: %(value)s"),
    "missing_text": N_("The passages lack the text: %(value)s"),
    "forbidden_text": N_("The passages contain forbidden text: %(value)s"),
    "no_answer_expected": N_("No answer was expected, but passages were retrieved: %(value)s"),
    "unavailable": N_("Retrieval was unavailable"),
    "refused": N_("The caller was refused"),
    "refusal_expected": N_("The caller should have been refused"),
    "not_confident": N_("Found, but held for not documented (quality %(value)s)"),
}
STATES: Mapping[str, tuple[str, str]] = {
    "broke": ("danger", N_("Broke")),
    "mended": ("success", N_("Mended")),
    "removed": ("warning", N_("Gone from the suite")),
    "added": ("", N_("New in the suite")),
    "moved": ("", N_("Found something else")),
    "same": ("", N_("Unchanged")),
}
RUNS = 60


@blueprint.get("/evaluations")
@in_unit
def index(*, unit: Unit) -> ResponseReturnValue:
    """Every suite; of the chosen one (else the one that ran last) the plots and the runs."""
    suites = runs().suites(unit, actor())
    chosen = _chosen(suites, request.args.get("suite"), request.args.get("collection"))
    found: Sequence[EvaluationRun] = ()
    if chosen is not None:
        found = runs().listing(unit, actor(), chosen.suite, chosen.collection, _number("before"), RUNS)
    names = PLOTTED[chosen.kind] if chosen else ()
    change = None if _number("before") else runs().last_change(found)
    return render_template(
        "evaluations/index.html",
        suites=[_suite(line, line is chosen) for line in suites],
        chosen=_suite(chosen, True) if chosen else None,
        plots=_plots(found, names),
        last=_beside(change) if change else None,
        columns=[_(METRICS[name]) for name in names],
        runs=[_line(run, names) for run in found],
        older=_older(chosen, found),
    )


@blueprint.get("/evaluations/<int:run_id>")
@in_unit
def show(run_id: int, *, unit: Unit) -> ResponseReturnValue:
    """One run: its figures beside their limits, and every case, those that failed first."""
    run = runs().show(unit, actor(), run_id)
    cases = sorted(run.results, key=lambda one: (one.passed or one.known_red, one.position))
    return render_template(
        "evaluations/run.html",
        run=_facts(run),
        metrics=[_figure(run, name) for name in METRICS if name in run.metrics],
        cases=[_case(one) for one in cases],
        compare_href=url_for("evaluations.compare", run_id=run.id),
    )


@blueprint.get("/evaluations/<int:run_id>/compare")
@in_unit
def compare(run_id: int, *, unit: Unit) -> ResponseReturnValue:
    """A run beside the one before it, or beside ``?before=``."""
    found = runs().diff(unit, actor(), run_id, _number("before"))
    run = found.now if found else runs().show(unit, actor(), run_id)
    others = runs().listing(unit, actor(), run.suite, run.collection, size=RUNS)
    return render_template(
        "evaluations/compare.html",
        now=_facts(run),
        before=_facts(found.before) if found else None,
        comparable=found.comparable if found else True,
        metrics=_changes(found) if found else [],
        others=[_option(other) for other in others if other.id != run.id],
        counts=[(_(label), tone, found.count(state)) for state, (tone, label) in STATES.items()]  # type: ignore[arg-type]
        if found
        else [],
        cases=[_change(one) for one in found.cases if one.state != "same"] if found else [],
    )


def runs() -> Runs:
    """The history. Raises :class:`NotFound` where documentation is not installed."""
    found = container().evaluations
    if found is None:
        raise NotFound("documentation.not_installed")
    return found.runs


def _chosen(suites: Sequence[SuiteLine], suite: str | None, collection: str | None) -> SuiteLine | None:
    named = [
        line
        for line in suites
        if (suite is None or line.suite == suite) and (collection is None or line.collection == collection)
    ]
    return named[0] if named else None


def _number(name: str) -> int | None:
    value = request.args.get(name, "")
    return int(value) if value.isdecimal() and len(value) < 19 else None


def _suite(line: SuiteLine, active: bool) -> JSON:
    return {
        "suite": line.suite,
        "collection": line.collection,
        "kind": _(KINDS[line.kind]),
        "runs": line.runs,
        "active": active,
        "href": url_for("evaluations.index", suite=line.suite, collection=line.collection),
    }


def _plots(found: Sequence[EvaluationRun], names: Sequence[str]) -> list[JSON]:
    """One plot for each metric that a run has; the floor is that of the latest run."""
    plots = []
    for name in names:
        points = [(run.id, run.metrics[name]) for run in reversed(found) if name in run.metrics]
        floor = found[0].floors.get(name) if found else None
        drawn = trend(points, floor)
        if drawn is not None:
            plots.append({"label": _(METRICS[name]), "name": name, "plot": drawn, "floor": floor})
    return plots


def _beside(change: RunDiff) -> JSON:
    """The last run beside the one before it, for the page of the suite."""
    return {
        "before": _facts(change.before),
        "now": _facts(change.now),
        "comparable": change.comparable,
        "metrics": _changes(change),
    }


def _changes(found: RunDiff) -> list[JSON]:
    return [
        {
            "label": _(METRICS.get(one.metric, one.metric)),
            "before": one.before,
            "now": one.now,
            "delta": one.delta,
            "worse": one.worse,
            "noise": one.noise,
            "is_noise": one.is_noise,
        }
        for one in found.metrics
    ]


def _figure(run: EvaluationRun, name: str) -> JSON:
    """One figure with its limit: a floor, or a ceiling where less is better."""
    return {
        "label": _(METRICS[name]),
        "value": run.metrics[name],
        "limit": run.floors.get(name),
        "is_ceiling": name in runs().ceilings,
        "missed": _missed(run, name),
    }


def _line(run: EvaluationRun, names: Sequence[str]) -> JSON:
    return {**_facts(run), "values": [(_(METRICS[name]), run.metrics.get(name), _missed(run, name)) for name in names]}


def _facts(run: EvaluationRun) -> JSON:
    return {
        "id": run.id,
        "href": url_for("evaluations.show", run_id=run.id),
        "list_href": url_for("evaluations.index", suite=run.suite, collection=run.collection),
        "compare_href": url_for("evaluations.compare", run_id=run.id),
        "suite": run.suite,
        "collection": run.collection,
        "kind": _(KINDS[run.kind]),
        "at": run.at,
        "by": _("Command line") if run.started_by == "command" else run.started_by,
        "model": run.model,
        "retrieval": _(RETRIEVALS.get(run.retrieval, run.retrieval)),
        "k": run.k,
        "commit": run.git_sha,
        "passed": run.passed,
        "cases": run.cases,
        "known_red": sum(1 for one in run.results if one.known_red) if "results" in run.__dict__ else 0,
        "is_low": any(_missed(run, name) for name in run.floors if name not in runs().ceilings),
        "is_high": any(_missed(run, name) for name in run.floors if name in runs().ceilings),
    }


def _missed(run: EvaluationRun, name: str) -> bool:
    """Whether the run says that the metric is below its floor or above its ceiling; a dataset says it in a sentence."""
    return any(breach == name or breach.startswith(f"{name} ") for breach in run.breaches)


def _case(one: EvaluationResult) -> JSON:
    return {
        "id": one.case_id,
        "query": one.query,
        "passed": one.passed,
        "known_red": one.known_red,
        "rank": one.rank,
        "score": one.score,
        "expected": list(one.expected),
        "reasons": [_reason(reason) for reason in one.reasons],
        "retrieved": [
            {"source": found["source"], "score": found.get("score"), "wanted": found["source"] in one.expected}
            for found in one.retrieved
        ],
    }


def _reason(reason: Mapping[str, str]) -> str:
    sentence, value = REASONS.get(reason["kind"]), reason["value"]
    if reason["kind"] == "not_confident":
        value = format_decimal(value)
    return str(_(sentence, value=value)) if sentence else reason["kind"]


def _change(one: CaseChange) -> JSON:
    tone, label = STATES[one.state]
    return {
        "id": one.any.case_id,
        "query": one.any.query,
        "tone": tone,
        "label": _(label),
        "before": _case(one.before) if one.before else None,
        "now": _case(one.now) if one.now else None,
    }


def _option(run: EvaluationRun) -> JSON:
    return {"id": run.id, "at": run.at, "commit": (run.git_sha or "")[:8]}


def _older(chosen: SuiteLine | None, found: Sequence[EvaluationRun]) -> str | None:
    if chosen is None or len(found) < RUNS:
        return None
    return url_for("evaluations.index", suite=chosen.suite, collection=chosen.collection, before=found[-1].id)
