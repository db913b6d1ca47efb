"""``flask servers check``: every configured model server, asked (seed 000, "Health"). Exit code 1 when one fails."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from app.cli.group import CommandGroup
from app.core.errors import Unavailable
from app.edge.context import container

if TYPE_CHECKING:
    from app.embeddings.probe import RerankCheck, ServerCheck

group = CommandGroup("servers", help="The model servers.")


@group.command("check")
@click.option("--timeout", type=click.FloatRange(0.1, 300), default=3.0, show_default=True, help="Seconds for each.")
@click.option("--json", "as_json", is_flag=True)
@click.pass_context
def check(ctx: click.Context, timeout: float, as_json: bool) -> None:
    """Ask the server of every configured embedding model for a vector, and the reranking server about two fixed pairs;
    exits with 1 when one fails."""
    servers = container().model_servers
    if servers is None:
        raise Unavailable("ai.absent")
    checks, reranker = servers.check(timeout), servers.check_reranker(timeout)
    if as_json:
        shown = [_shown(one) for one in checks] + ([_shown_reranker(reranker)] if reranker else [])
        click.echo(json.dumps(shown, indent=2))
    elif checks or reranker:
        Console().print(_table(checks, reranker))
    else:
        click.echo("No model server is declared: set AI_EMBEDDINGS_URL or AI_EMBEDDINGS_SERVERS.", err=True)
    problems = [one.problem for one in checks] + ([reranker.problem] if reranker else [])
    if not problems or any(problem is not None for problem in problems):
        ctx.exit(1)


def _shown(check: ServerCheck) -> dict[str, object]:
    found = check.inspection
    return {
        "profile": check.profile.key,
        "server": check.profile.server,
        "ok": check.problem is None,
        "model": None if found is None else found.named_model,
        "info_model": None if found is None else found.info_model,
        "dimensions_declared": check.profile.dimensions,
        "dimensions_measured": None if found is None else found.dimensions,
        "norm": None if found is None else round(found.norm, 4),
        "batch_size": check.batch_size,
        "max_batch": None if found is None else found.max_batch,
        "milliseconds": None if found is None else round(found.seconds * 1000),
        "problem": None if check.problem is None else str(check.problem),
    }


def _shown_reranker(check: RerankCheck) -> dict[str, object]:
    return {
        "profile": None,
        "server": check.server,
        "ok": check.problem is None,
        "api": check.api,
        "model": check.model,
        "info_model": check.info_model,
        "scores": None if check.scores is None else [round(score, 4) for score in check.scores],
        "batch_size": check.batch_size,
        "max_batch": check.max_batch,
        "problem": None if check.problem is None else str(check.problem),
    }


def _table(checks: list[ServerCheck], reranker: RerankCheck | None) -> Table:
    table = Table("Server", "Profile", "Model", "Dimensions", "Length", "Batch", "Verdict")
    for check in checks:
        found = check.inspection
        verdict = _verdict(check)
        measured = ("-", "-", "-", "-")
        if found is not None:
            measured = (
                found.named_model or found.info_model or "(none)",
                f"{found.dimensions} of {check.profile.dimensions}",
                f"{found.norm:.3f}",
                f"{check.batch_size} of {found.max_batch or 'unknown'}",
            )
        table.add_row(check.profile.server, check.profile.key, *measured, verdict)
    if reranker is not None:
        model = reranker.model or reranker.info_model or "(none)"
        batch = f"{reranker.batch_size} of {reranker.max_batch or 'unknown'}"
        table.add_row(reranker.server, f"({reranker.api})", model, "-", "-", batch, _verdict(reranker))
    return table


def _verdict(check: ServerCheck | RerankCheck) -> str:
    verdict = "ok" if check.problem is None else str(check.problem)
    if check.batch_too_large:
        verdict += "; the configured batch is larger than the server takes and is cut"
    return verdict
