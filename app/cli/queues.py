"""``flask queues``: what works in the background. Exits with 1 when a process is missing, for monitoring."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from app.cli.group import CommandGroup
from app.core.processes import views
from app.edge.context import container

group = CommandGroup("queues", help="Queues, their workers, and the scheduler.")


@group.command("status")
@click.option("--json", "as_json", is_flag=True)
def status(as_json: bool) -> None:
    """Show each queue with its workers, what they hold, and failed jobs; fails when a process is missing."""
    shown = views.overview(container().health.overview())
    if as_json:
        click.echo(json.dumps(shown, indent=2))
    else:
        _print(shown)
    if shown["problems"]:
        raise SystemExit(1)


def _print(shown: dict[str, Any]) -> None:
    console = Console()
    table = Table("queue", "alive", "waiting", "works on", "last error", box=None, pad_edge=False)
    for queue in shown["queues"]:
        table.add_row(
            queue["name"],
            f"{queue['workers_alive']}/{queue['workers_expected']}",
            "?" if queue["waiting"] is None else str(queue["waiting"]),
            "\n".join(_work(worker) for worker in queue["workers"]),
            "\n".join(_failure(failure) for failure in queue["failed_jobs"] if not failure["worked_at"]),
        )
    console.print(table)
    for one in shown["schedulers"]:
        console.print(f"scheduler {'alive' if one['alive'] else 'silent'}, last tick {one['seen_at']}")
    for lag in shown["events"]:
        console.print(f"events not applied by {lag['consumer']}: {lag['waiting']}")
    for problem in shown["problems"]:
        console.print(f"missing: {problem}")


def _work(worker: dict[str, Any]) -> str:
    words = [f"{worker['pid']}", worker["job"] or "idle"] if worker["alive"] else [f"{worker['pid']} silent"]
    words += [f"{lease['phase']} {lease['entity'] or ''}".strip() for lease in worker["leases"]]
    return " · ".join(words)


def _failure(failure: dict[str, Any]) -> str:
    return f"{failure['job']} {failure['code'] or failure['error']} ×{failure['times']} {failure['last_at']}"
