"""``flask embeddings``: the switch, its state, upkeep of vectors. A refusal exits with 1 (`seed-facts.md` 2.4)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from app.cli import dry_run as dry_runs
from app.cli import vector_health
from app.cli.group import CommandGroup
from app.core.contracts.actor import SYSTEM
from app.edge.context import container

if TYPE_CHECKING:
    from app.embeddings.parts import EmbeddingParts

group = CommandGroup(
    "embeddings",
    help="Embedding models, the switch between them, and their vectors.",
    commands=[vector_health.health, vector_health.repair],
)

FOLLOW_SECONDS = 1.0


@group.command("probe")
@click.argument("profile")
@click.option("--json", "as_json", is_flag=True)
def probe(profile: str, as_json: bool) -> None:
    """Measure a model's vectors; fails when they differ from what its profile declares."""
    inspection = container().embedding_parts().switching.probe(profile)
    shown = {
        "profile": profile,
        "model": inspection.named_model or inspection.info_model,
        "dimensions": inspection.dimensions,
        "norm": round(inspection.norm, 4),
        "milliseconds": round(inspection.seconds * 1000),
    }
    _print(shown, as_json)


@group.command("switch")
@click.argument("profile", required=False)
@click.option("--mode", type=click.Choice(["side_by_side", "in_place"]), default="side_by_side", show_default=True)
@click.option("--resume", is_flag=True, help="Continue a switch that failed or stands still.")
@click.option("--abandon", is_flag=True, help="Give up the open switch.")
@click.option("--report-failure", is_flag=True, help="Store a refusal of the server as a failed switch.")
@click.option("--dry-run", is_flag=True, help="Take every step but the activation, show the figures, undo it.")
@click.option("--simulate-crash", metavar="POINT", help="Let a worker die at a phase or checkpoint; not in production.")
@click.option("--follow", is_flag=True, help="Show the progress until the switch has ended.")
@click.option("--json", "as_json", is_flag=True)
def switch(
    profile: str | None,
    mode: str,
    resume: bool,
    abandon: bool,
    report_failure: bool,
    dry_run: bool,
    simulate_crash: str | None,
    follow: bool,
    as_json: bool,
) -> None:
    """Start a switch to PROFILE, or continue or abandon the open one."""
    if sum((profile is not None, resume, abandon)) != 1:
        raise click.UsageError("Name a profile, or give --resume or --abandon: exactly one of them.")
    if dry_run and (profile is None or report_failure):
        raise click.UsageError("--dry-run needs a profile, and stores no refusal.")
    if simulate_crash and (profile is None or report_failure or dry_run):
        raise click.UsageError("--simulate-crash needs a profile, and goes with --mode only.")
    ai = container().embedding_parts()
    if simulate_crash:
        _drill(ai, str(profile), mode, simulate_crash, as_json)
        return
    if dry_run:
        shown = dry_runs.run(ai, str(profile), mode)
        _print(shown if as_json else dry_runs.lines(shown), as_json)
        if shown["outcome"] != "finished" or shown["undecided"]:
            raise SystemExit(1)
        return
    if resume:
        ai.switching.resume(SYSTEM)
    elif abandon:
        ai.switching.abandon(SYSTEM)
    else:
        ai.switching.start(SYSTEM, str(profile), mode, report=report_failure)
    if follow and not abandon:
        _follow(ai)
    else:
        _print(_current(ai), as_json)


def _drill(ai: EmbeddingParts, profile: str, mode: str, at: str, as_json: bool) -> None:
    """Exits with 1 unless the process died, somebody went on, and all vectors are right in the end."""
    ai.drills.refuse(container().config.changeover_env)
    point = ai.drills.point(at)
    started = ai.switching.start(SYSTEM, profile, mode, within=ai.drills.arming(point))
    outcome = ai.drills.watch(started, point)
    _print(outcome.shown(), as_json)
    if not outcome.passed:
        raise SystemExit(1)


@group.command("status")
@click.option("--follow", is_flag=True, help="Show the progress until the switch has ended.")
@click.option("--json", "as_json", is_flag=True)
def status(follow: bool, as_json: bool) -> None:
    """The serving model, and the switch that is running or has failed."""
    ai = container().embedding_parts()
    if follow:
        _follow(ai)
        return
    shown = _current(ai)
    serving = ai.switching.serving()
    if serving is not None:
        done, total = ai.switching.coverage()
        shown = {
            "serving": serving[0].model_key,
            "suspended_reason": serving[0].suspended_reason,
            "documents_done": done,
            "documents": total,
            **shown,
        }
    _print(shown, as_json)


@group.command("failures")
@click.option("--retry", is_flag=True, help="Try them again at the next resume.")
@click.option("--set-aside", is_flag=True, help="Leave them findable by words only, until their text changes.")
@click.option("--note", help="Why they are set aside.")
@click.option("--id", "ids", type=int, multiple=True, help="One of them; all undecided ones without it.")
@click.option("--json", "as_json", is_flag=True)
def failures(retry: bool, set_aside: bool, note: str | None, ids: tuple[int, ...], as_json: bool) -> None:
    """List the documents of the open switch that could not be embedded, or decide on them."""
    if retry and set_aside:
        raise click.UsageError("Give --retry or --set-aside, not both.")
    ai = container().embedding_parts()
    if retry or set_aside:
        ai.switching.decide(SYSTEM, ids or None, "retry" if retry else "set_aside", note)
    _print({"failures": _current(ai).get("failures", [])}, as_json)


@group.command("prune")
@click.option("--model-key", required=True, help="The model whose kept rows and indexes go.")
def prune(model_key: str) -> None:
    """Delete the kept rows of a model that does not serve."""
    click.echo(f"{container().embedding_parts().upkeep.prune(model_key)} rows deleted")


def _current(ai: EmbeddingParts) -> dict[str, Any]:
    return ai.views.status(ai.switching.status())


def _print(shown: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(shown, default=str, indent=2))
        return
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in shown.items():
        if value not in (None, [], {}):
            table.add_row(name.replace("_", " "), _cell(value))
    Console().print(table)


def _cell(value: object) -> str:
    if isinstance(value, list):
        return "\n".join(_cell(item) for item in value)
    if isinstance(value, dict):
        return " ".join(f"{name}={item}" for name, item in value.items() if item is not None)
    return str(value)


def _follow(ai: EmbeddingParts) -> None:
    """A live bar until nothing runs any more; exits with 1 when the switch failed."""
    figures = TextColumn("{task.completed}/{task.total} {task.fields[eta]}")
    columns = (TextColumn("{task.description}"), BarColumn(), figures)
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("starting", total=None, eta="")
        while (shown := _current(ai))["status"] == "running":
            eta = shown["eta_seconds"]
            progress.update(
                task,
                description=shown["phase"],
                completed=shown["done"],
                total=shown["total"] or None,
                eta="" if eta is None else f"about {eta:.0f} s left",
            )
            container().clock.sleep(FOLLOW_SECONDS)
    if shown["status"] == "failed":
        raise click.ClickException(shown["reason"] or "the switch failed")
    last = ai.switching.history(1)
    if last:
        click.echo(f"{last[0].status}: {last[0].from_key} -> {last[0].to_key}")
