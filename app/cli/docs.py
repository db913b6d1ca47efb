"""``flask docs``: index the handbook, ask it, and measure its answers. Who may run this may read all of it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table

from app.cli import docs_collections, docs_queries, rag
from app.cli.group import CommandGroup
from app.core.contracts.actor import SYSTEM
from app.core.errors import Unavailable
from app.core.locale import DEFAULT_LOCALE, LOCALES
from app.edge.context import container

if TYPE_CHECKING:
    from app.documentation.answering import Answer, Answering
    from app.documentation.evaluating import Report
    from app.documentation.service import Documentation

group = CommandGroup(
    "docs",
    help="The handbook: its index, questions to it, and how good the answers are.",
    commands=(*docs_queries.COMMANDS, *docs_collections.COMMANDS),
)

PROFILES = ("developer", "user")


def parts() -> tuple[Documentation, Answering]:
    """The documentation. Raises :class:`Unavailable` where it is not installed."""
    found = container()
    if found.documentation is None or found.answering is None:
        raise Unavailable("documentation.not_installed")
    return found.documentation, found.answering


@group.command("index")
@click.option("--profile", type=click.Choice([*PROFILES, "all"]), default="all", show_default=True)
@click.option("--path", type=click.Path(exists=True, file_okay=False, path_type=Path),
              help="A folder with user and developer folders, in place of CHANGEOVER_DOCS_ROOT.")  # fmt: skip
@click.option("--full", is_flag=True, help="Make every page anew, also where its file is unchanged.")
@click.option("--collection", help="A named collection in place of the handbook: all of its folders are read again.")
def index(profile: str, path: Path | None, full: bool, collection: str | None) -> None:
    """Bring the index to what the files say; only what changed is written. Pages whose file is gone go.

    An unknown audience stops everything. A file with another fault is named, and the exit code is 1.
    """
    documentation, _ = parts()
    if collection is not None:
        if path is not None:
            raise click.UsageError("--path is for the handbook; flask rag ingest reads a folder into a collection")
        report = documentation.index_collection(container().units, collection, full)
    else:
        corpora = PROFILES if profile == "all" else (profile,)
        report = documentation.index(container().units, path, corpora, full)
    click.echo(
        f"{report.created} created, {report.updated} updated, {report.unchanged} unchanged, {report.removed} removed"
    )
    for fault in report.faults:
        kept = ", the version before stays" if fault.kept else ""
        click.echo(f"left out {fault.file}: {fault.error}{kept}", err=True)
    if report.faults:
        raise click.exceptions.Exit(1)


@group.command("help")
@click.option("--question", help="Ask once; without it questions are asked until an empty line.")
@click.option("--profile", type=click.Choice(PROFILES), default="developer", show_default=True)
@click.option("--locale", type=click.Choice(list(LOCALES)), default=DEFAULT_LOCALE, show_default=True)
def help_(question: str | None, profile: str, locale: str) -> None:
    """Answers from the documentation, with their sources."""
    _, answering = parts()
    if question is not None:
        _print_answer(_answer(answering, question, profile, locale))
        return
    click.echo("Ask the documentation; an empty line ends.")
    while asked := click.prompt("?", default="", show_default=False, prompt_suffix=" ").strip():
        _print_answer(_answer(answering, asked, profile, locale))


@group.command("eval")
@click.option("--dataset", "datasets", type=click.Path(exists=True, dir_okay=False, path_type=Path), multiple=True,
              required=True, help="A dataset as JSON; may be repeated.")  # fmt: skip
@click.option("--words", is_flag=True, help="Without vectors: the same figures on every machine.")
@click.option("--json", "as_json", is_flag=True)
@click.option("--no-record", is_flag=True, help="Leave the history of evaluations as it is.")
def evaluate(datasets: tuple[Path, ...], words: bool, as_json: bool, no_record: bool) -> None:
    """Ask every question of the datasets; exits with 1 when a figure is below its floor."""
    reports = [(file, _run(file, words)) for file in datasets]
    if not no_record:
        for file, report in reports:
            rag.kept(partial(rag.evaluations().keep_dataset, file.stem, report, "command", words))
    if as_json:
        shown = [{"dataset": file.stem, **report.as_json()} for file, report in reports]
        click.echo(json.dumps(shown if len(shown) > 1 else shown[0], indent=2, ensure_ascii=False))
    else:
        for file, report in reports:
            _print_report(file, report)
    if any(report.breaches for _, report in reports):
        raise click.exceptions.Exit(1)


def _run(file: Path, words: bool) -> Report:
    _, answering = parts()
    return answering.evaluate(_json(file), by_words=words)


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        raise click.ClickException(f"{file} is no JSON") from None


def _answer(answering: Answering, question: str, profile: str, locale: str) -> Answer:
    return answering.answer(SYSTEM, answering.request(question, profile, locale))


def _print_answer(answer: Answer) -> None:
    if answer.outcome == "not_documented":
        click.echo("The documentation does not say.")
        return
    if answer.outcome == "answered":
        click.echo(_printable(answer.text))
    else:
        for one in answer.retrieved.passages:
            click.echo(_printable(f"[{one.number}] {' / '.join((one.label, *one.breadcrumb))}\n\n{one.text}\n"))
    click.echo(_printable(f"\nSources\n{answer.sources_block}"))


def _printable(text: str) -> str:
    """Without what a terminal would obey: a page may hold escape sequences and direction marks."""
    return "".join(one for one in text if one.isprintable() or one in "\n\t")


def _print_report(file: Path, report: Report) -> None:
    console = Console()
    shown = report.as_json()
    table = Table(
        title=f"{file.stem}: {shown['passed']} of {shown['case_count']} cases as expected", title_justify="left"
    )
    for name in ("metric", "value", "floor"):
        table.add_column(name, justify="left" if name == "metric" else "right")
    floors = report.dataset.floors
    metrics: dict[str, float] = shown["metrics"]  # type: ignore[assignment]
    for name, value in metrics.items():
        table.add_row(name, f"{value:.4f}", f"{floors[name]:.4f}" if name in floors else "")
    console.print(table)
    for one in report.failed:
        console.print(
            f"  {one.case.id}: {', '.join(one.sources) or 'nothing'} (quality {one.quality:.2f})", markup=False
        )
    for breach in report.breaches:
        console.print(f"  below the floor: {breach}", markup=False)
