"""``flask docs create-index``, ``create-query-index``, ``erase-queries``, ``prune-queries``: what is kept where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from flask.cli import with_appcontext

from app.core.contracts.actor import SYSTEM
from app.core.errors import NotFound, Unavailable
from app.core.unit import Origin, Unit
from app.edge.context import container

if TYPE_CHECKING:
    from app.documentation.analytics.log import QuestionLog

COMMAND = Origin("command")
MADE = {
    "there": "{place} is complete; nothing to do",
    "created": "{place} was made, or what it lacked",
    "recreated": "{place} was made anew; the questions in it are gone",
}


def questions() -> QuestionLog:
    """The kept questions. Raises :class:`Unavailable` where the documentation is not installed."""
    answering = container().answering
    if answering is None or answering.questions is None:
        raise Unavailable("documentation.not_installed")
    return answering.questions


@click.command("create-index")
@with_appcontext
def create_index() -> None:
    """Make what the passages are kept in where it is missing, and say what is there. Safe to repeat.

    Passages are in PostgreSQL, whichever engine searches; questions are where a setting says, which is told, too.
    Exits with 1 while anything is missing of the passages that `flask db upgrade` makes.
    """
    documentation = container().documentation
    if documentation is None:
        raise Unavailable("documentation.not_installed")
    with container().units(origin=COMMAND) as unit:
        state = documentation.ensure_index(unit)
        kept = _kept(unit)
    for part in state:
        found = "missing" if part.rows is None else f"{part.rows} rows"
        click.echo(f"{part.name}: {found}" + (f", made {', '.join(part.made)}" if part.made else ""))
    click.echo(kept)
    if any(part.rows is None for part in state):
        raise click.ClickException("bring the database to this release first: flask db upgrade")


def _kept(unit: Unit) -> str:
    """Where the questions go, in a sentence."""
    try:
        place = questions().place(unit)
    except Unavailable as error:
        return f"kept questions: none. {error}"
    return f"kept questions: {place}, see create-query-index" if place else "kept questions: none, the setting is off"


@click.command("create-query-index")
@click.option("--force", is_flag=True, help="Make it anew; the questions in it are lost.")
@with_appcontext
def create_query_index(force: bool) -> None:
    """Make the table or index of kept questions where it is missing. Safe to repeat.

    Whether any are kept is a setting; in PostgreSQL or Elasticsearch, too.
    """
    with container().units(origin=COMMAND) as unit:
        made, place = questions().ensure(unit, anew=force)
    click.echo(MADE[made].format(place=place))


@click.command("erase-queries")
@click.argument("person", required=False)
@click.option("--question", help="Only those with exactly this text; without PERSON everybody's.")
@with_appcontext
def erase_queries(person: str | None, question: str | None) -> None:
    """Delete the kept questions of PERSON (a user name, or the number of an account that is gone).

    They are found under SECRET_KEY and under every secret of CHANGEOVER_PREVIOUS_SECRET_KEYS.
    """
    with container().units(origin=COMMAND) as unit:
        erased = questions().erase(unit, SYSTEM, None if person is None else _id(unit, person), question)
    click.echo(f"{erased} erased")


@click.command("prune-queries")
@with_appcontext
def prune_queries() -> None:
    """Delete kept questions that are older than the setting says; the upkeep does it every minute by itself."""
    deleted = pruned = _pruned()
    while pruned:
        pruned = _pruned()
        deleted += pruned
    click.echo(f"{deleted} deleted")


def _pruned() -> int:
    """Delete one portion; returns how many."""
    with container().units(origin=COMMAND) as unit:
        return questions().prune(unit)


def _id(unit: Unit, person: str) -> int:
    """The number of a person by name; a name of digits alone that nobody has is the number itself."""
    try:
        return container().access.user(unit, person).id
    except NotFound:
        if person.isascii() and person.isdigit() and len(person) < 19:
            return int(person)
        raise


COMMANDS = (create_index, create_query_index, erase_queries, prune_queries)
