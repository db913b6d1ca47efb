"""``flask rag ingest`` and ``reindex``: documents become passages of a collection, and ask before they cost much."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from flask.cli import with_appcontext

from app.core.errors import ChangeoverError, Unavailable
from app.core.locale import LOCALES
from app.edge.context import container

if TYPE_CHECKING:
    from app.documentation.ingest import Ingest, Plan

THRESHOLD = 100_000
"""Tokens above which is asked (`seed-facts.md` 27.1)."""


@click.command("ingest")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--collection", default="default", show_default=True)
@click.option("--pattern", default="*.md", show_default=True, help="Which files of a folder, by their names.")
@click.option("--locale", type=click.Choice(list(LOCALES)),
              help="Language of files that declare none and lie in no folder of one; English at first.")  # fmt: skip
@click.option("--max-words", type=click.IntRange(8, 2000), help="Words of one passage from now on.")
@click.option("--threshold", type=click.IntRange(0), default=THRESHOLD, show_default=True,
              help="Tokens to embed above which is asked first.")  # fmt: skip
@click.option("--force", is_flag=True, help="Do not ask.")
@click.option("--later", is_flag=True, help="Leave the embedding to the workers.")
@with_appcontext
def ingest(
    path: Path,
    collection: str,
    pattern: str,
    locale: str | None,
    max_words: int | None,
    threshold: int,
    force: bool,
    later: bool,
) -> None:
    """Bring a file or a folder into a collection: cut, stored and embedded. What is unchanged costs nothing.

    A file that can't be read is named, its version before stays, and the exit code is 1.
    """
    if not path.exists():
        raise click.ClickException(f"There is nothing at {path}.")
    service = parts()
    if not later:
        _set_up()
    plan = service.plan(collection, path, pattern, locale, max_words)
    if not plan.files and not plan.faults:
        click.echo(f"No file of {path} is named like {pattern}; nothing was written.")
        return
    _carry_out(service, plan, threshold, force, later)


@click.command("reindex")
@click.option("--collection", default="default", show_default=True)
@click.option("--max-words", type=click.IntRange(8, 2000), help="Words of one passage from now on.")
@click.option("--force", is_flag=True, help="Do not ask.")
@click.option("--later", is_flag=True, help="Leave the embedding to the workers.")
@with_appcontext
def reindex(collection: str, max_words: int | None, force: bool, later: bool) -> None:
    """Read every source of a collection again and cut it anew, whatever its hash says; then embed what is new.

    Vectors of passages that come out as before stay: they are those of the serving model in any case. Another model is
    no matter of this command; it goes through `flask embeddings switch`, which carries all collections.
    """
    service = parts()
    documents = service.documents(collection)
    if not documents:
        click.echo(f"The collection {collection} has no documents; nothing was written.")
        return
    plan = service.plan_again(collection, max_words)
    if not force:
        _show(plan)
        if not click.confirm(f"Make all passages of {collection} anew?", default=False):
            click.echo("Nothing was written.", err=True)
            raise click.exceptions.Exit(1)
    _carry_out(service, plan, THRESHOLD, True, later)


def _carry_out(service: Ingest, plan: Plan, threshold: int, force: bool, later: bool) -> None:
    if plan.tokens > threshold and not force:
        _show(plan)
        if not click.confirm("Embed them?", default=False):
            click.echo("Nothing was written.", err=True)
            raise click.exceptions.Exit(1)
    report = service.run(plan)
    click.echo(
        f"{report.created} created, {report.updated} updated, {report.unchanged} unchanged, {report.removed} removed"
    )
    for fault in report.faults:
        kept = ", the version before stays" if fault.kept else ""
        click.echo(f"left out {fault.file}: {fault.error}{kept}", err=True)
    if not later:
        _embed(service, plan.collection.name)
    if report.faults:
        raise click.exceptions.Exit(1)


def _show(plan: Plan) -> None:
    model = plan.model or "the first model"
    click.echo(
        f"{plan.changed} of {plan.files} files are new or changed: {plan.passages:,} passages, "
        f"about {plan.tokens:,} tokens for {model}."
    )


def _set_up() -> None:
    """Let the first model serve, where none does: passages are cut for its window. Its server may be away."""
    ai = container().ai
    if ai is not None:
        try:
            ai.upkeep.set_up()
        except ChangeoverError as error:
            click.echo(f"no model serves yet: {error}", err=True)


def _embed(service: Ingest, collection: str) -> None:
    """Embed what the collection lacks now, in this process; the workers do the rest if it can't be done."""
    ai = container().ai
    if ai is None:
        click.echo("No embedding model is installed: the documents are found by their words.")
        return
    try:
        done, left = ai.catch_up.entity(service.entity(collection))
    except ChangeoverError as error:
        click.echo(f"not embedded yet: {error}", err=True)
        return
    rest = f", {left} texts wait for the workers" if left else ""
    click.echo(f"{done} texts embedded{rest}")


def parts() -> Ingest:
    """The part that ingests. Raises :class:`Unavailable` where documentation is not installed."""
    found = container().ingest
    if found is None:
        raise Unavailable("documentation.not_installed")
    return found
