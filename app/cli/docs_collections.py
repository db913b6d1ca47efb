"""``flask docs collections`` and ``collection``: which there are, and how the files of one are cut and shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from flask.cli import with_appcontext
from rich.console import Console
from rich.table import Table

from app.core.contracts.actor import SYSTEM
from app.core.errors import Unavailable
from app.core.locale import LOCALES
from app.edge.context import container

if TYPE_CHECKING:
    from app.documentation.service import Documentation

SPLITTERS = ("markdown_aware", "sentence", "delimiter")
AUDIENCES = ("user", "developer", "shared")


def documentation() -> Documentation:
    """Raises :class:`Unavailable` where it is not installed."""
    found = container().documentation
    if found is None:
        raise Unavailable("documentation.not_installed")
    return found


@click.command("collections")
@with_appcontext
def list_collections() -> None:
    """The corpora of the handbook and the named collections, with what is stored of each."""
    with container().units() as unit:
        lines = documentation().overview.collections(unit, SYSTEM)
    table = Table("collection", "audience", "splitter", "words", "sources", "passages", "left out", box=None)
    for one in lines:
        numbers = (one.max_words, one.sources, one.passages, one.failed)
        table.add_row(one.name, one.audience, one.splitter, *map(str, numbers))
    Console(width=120).print(table)


@click.command("collection")
@click.argument("name")
@click.option("--audience", type=click.Choice(AUDIENCES), help="user: only files that the policy of the guide admits.")
@click.option("--splitter", "driver", type=click.Choice(SPLITTERS))
@click.option("--max-words", type=int, help="Words of one passage, 8 to 2000.")
@click.option("--delimiter", help="What stands between two passages, for the splitter delimiter.")
@click.option("--locale", type=click.Choice(list(LOCALES)), help="Of files that name none.")
@with_appcontext
def change_collection(name: str, **wished: Any) -> None:
    """Make a named collection, or change the one of this name. Its files are cut anew with the next run over it."""
    with container().units() as unit:
        found = documentation().save_collection(unit, name, {key: value for key, value in wished.items() if value})
    click.echo(f"{found.name}: for {found.audience}, cut by {found.driver} at {found.max_words} words")


COMMANDS = (list_collections, change_collection)
