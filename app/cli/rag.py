"""``flask rag``: ingest documents into a collection, and fail a build when they are found less well (seed 002)."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from sqlalchemy.exc import SQLAlchemyError

from app.cli import rag_ingest
from app.cli.group import CommandGroup
from app.cli.rag_text import lines
from app.core.errors import ChangeoverError, Invalid, Unavailable
from app.core.locale import DEFAULT_LOCALE, LOCALES
from app.edge.context import container

if TYPE_CHECKING:
    from app.documentation.evaluations import Evaluations
    from app.documentation.suite_runs import RetrievalName, SuiteReport

group = CommandGroup(
    "rag",
    help="Collections of documents, and how well they are found.",
    commands=[rag_ingest.ingest, rag_ingest.reindex],
)

SUITE = Path("evaluations/fixtures/suite.json")
FILE = click.Path(dir_okay=False, path_type=Path)


@group.command("eval")
@click.option("--suite", "suite_file", type=FILE, default=SUITE, show_default=True, help="The questions, as JSON.")
@click.option("--collection", default="default", show_default=True)
@click.option("--k", type=click.IntRange(1, 100), default=5, show_default=True, help="Passages of each question.")
@click.option("--min-score", type=click.FloatRange(0, 1), default=0.0, show_default=True,
              help="Passages below this similarity are dropped, after the cut at k.")  # fmt: skip
@click.option("--locale", type=click.Choice(list(LOCALES)), default=DEFAULT_LOCALE, show_default=True)
@click.option("--retrieval", type=click.Choice(["passages", "answers"]), default="passages", show_default=True,
              help="The nearest passages alone, or what people are answered from.")  # fmt: skip
@click.option("--floor", "floors", multiple=True, metavar="METRIC=NUMBER", help="Another floor; may be repeated.")
@click.option("--tolerance", "tolerances", multiple=True, metavar="METRIC=NUMBER",
              help="How far a metric may drop against the baseline; may be repeated.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output, and nothing else.")
@click.option("--ci", is_flag=True, help="Exit with 1 below a floor, or when a metric dropped against the baseline.")
@click.option("--save", type=FILE, help="Write this run, to be a baseline later.")
@click.option("--baseline", type=FILE, help="Compare with a run that was saved.")
@click.option("--no-record", is_flag=True, help="Leave the history as it is.")
def evaluate(
    suite_file: Path,
    collection: str,
    k: int,
    min_score: float,
    locale: str,
    retrieval: RetrievalName,
    floors: tuple[str, ...],
    tolerances: tuple[str, ...],
    as_json: bool,
    ci: bool,
    save: Path | None,
    baseline: Path | None,
    no_record: bool,
) -> None:
    """Ask every question of a suite, and say how well the collection answered.

    A run that gates a build never writes a baseline: --ci goes without --save.
    """
    if ci and save is not None:
        raise click.UsageError("--save goes without --ci: a baseline is written on purpose, not by the build it gates.")
    service = evaluations()
    suite = service.read(suite_file.stem, _text(suite_file))
    report = service.suite(suite, service.asked(collection, k, min_score, locale, retrieval), floors)
    if baseline is not None:
        report = _against(service, report, baseline, tolerances)
    for sentence in report.warnings:
        warn(sentence)
    if save is not None:
        save.write_text(json.dumps(report.as_json(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if not no_record:
        kept(partial(service.keep_suite, report, "command"))
    if as_json:
        click.echo(json.dumps(report.as_json(), indent=2, ensure_ascii=False))
    else:
        for line in lines(report):
            click.echo(line)
    if ci and report.red:
        raise click.exceptions.Exit(1)


def evaluations() -> Evaluations:
    """The part that evaluates. Raises :class:`Unavailable` where documentation is not installed."""
    found = container().evaluations
    if found is None:
        raise Unavailable("documentation.not_installed")
    return found


def warn(sentence: str) -> None:
    """A line on standard error, so that ``--json`` stays JSON."""
    click.echo(f"warning: {sentence}", err=True)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise click.ClickException(f"There is no suite at {file}.") from None
    except (OSError, UnicodeDecodeError):
        raise click.ClickException(f"{file} can't be read as a text.") from None


def _against(service: Evaluations, report: SuiteReport, file: Path, tolerances: tuple[str, ...]) -> SuiteReport:
    """The report beside the baseline; one that can't be read is said and fails nothing (seed 002)."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return report.warned(f"there is no baseline that can be read at {file}; nothing was compared")
    try:
        return service.against(report, text, tolerances)
    except Invalid as error:
        if error.code != "documentation.baseline":
            raise
        return report.warned(f"{file} is no saved run; nothing was compared")


def kept(keep: Callable[[], int]) -> None:
    """Write a run to the history. History is a convenience and the gate is not: a database that refuses the write is
    said, and fails nothing."""
    try:
        keep()
    except (SQLAlchemyError, ChangeoverError) as error:
        warn(f"the run was not kept in the history ({type(error).__name__})")
