"""``flask embeddings health`` and ``repair``: what is wrong with the vectors, for people and for cron."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click
from flask.cli import with_appcontext
from rich.console import Console
from rich.table import Table

from app.core.contracts.actor import SYSTEM
from app.core.errors import Unavailable
from app.edge.context import container

if TYPE_CHECKING:
    pass

PATIENCE_SECONDS = 60.0
ROWS = (
    ("documents", ("documents", "done", "under_way", "stale", "missing", "failed", "set_aside", "orphaned")),
    ("passages", ("passages", "surplus", "wrong_length", "not_finite", "norm_off")),
)


@click.command("health")
@click.option("--sample", type=click.IntRange(1, 1000), help="Compare so many stored vectors with fresh ones.")
@click.option("--json", "as_json", is_flag=True)
@with_appcontext
def health(sample: int | None, as_json: bool) -> None:
    """What is wrong with the vectors of each model; exits with 1 when anything is, or was not counted in a minute."""
    ai = container().embedding_parts()
    if sample is not None:
        for space in ai.health.report(PATIENCE_SECONDS):
            if space.role != "kept":
                ai.health.sample(SYSTEM, space.space.id, sample)
    shown = ai.health_views.report(ai.health.report(PATIENCE_SECONDS))
    if as_json:
        click.echo(json.dumps(shown, indent=2))
    else:
        for space in shown["items"]:
            _print(space)
    if not shown["healthy"]:
        raise SystemExit(1)


@click.command("repair")
@click.argument("kind", required=False)
@click.option("--space", type=int, help="The vector space, as health numbers it; the serving one without it.")
@click.option("--entity", help="Without KIND: one kind of record, such as cms.contents; all without it.")
@click.option("--json", "as_json", is_flag=True)
@with_appcontext
def repair(kind: str | None, space: int | None, entity: str | None, as_json: bool) -> None:
    """Repair what health names as KIND; without KIND embed what the serving model misses, and build its indexes."""
    ai = container().embedding_parts()
    if kind is None:
        outcome = ai.upkeep.repair(entity)
        built = ai.upkeep.build_missing_indexes()
        _figures({**vars(outcome), "indexes_built": built}, as_json)
        if outcome.failed:
            raise SystemExit(1)
        return
    if entity is not None:
        raise click.UsageError("--entity goes without KIND only.")
    serving = ai.switching.serving()
    if space is None and serving is None:
        raise Unavailable("vectors.none_serving")
    key = space if space is not None or serving is None else serving[1].id
    done = ai.health_views.repaired(ai.health.repair(SYSTEM, key or 0, kind))
    _figures(done, as_json)
    if done["result"] not in (None, "ok"):
        raise SystemExit(1)


def _figures(shown: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(shown, indent=2))
        return
    for name, value in shown.items():
        if value is not None:
            click.echo(f"{name.replace('_', ' ')} {value}")


def _print(space: dict[str, Any]) -> None:
    console = Console()
    console.print(f"[bold]{space['model_key']}[/bold] (space {space['space']}, {space['role']})")
    table = Table(show_header=False, box=None, pad_edge=False)
    for label, names in ROWS:
        figures = " ".join(f"{name}={space[name]}" for name in names) if space["counted"] else "not counted in time"
        table.add_row(label, figures)
    for index in space["indexes"]:
        table.add_row("index", f"{index['name']} {index['state']} {index['size']} bytes")
    table.add_row("server", f"{space['check_result'] or 'not checked yet'} {space['checked_at'] or ''}")
    sample = space["sample"]
    if sample is not None:
        said = f"{sample['verdict']}: least {sample['least']}, median {sample['median']} of {sample['compared']}"
        table.add_row("sample", f"{said} {space['sampled_at']}")
    table.add_row("wrong", ", ".join(space["problems"]) or "nothing")
    console.print(table)
