"""``flask db``: the schema of the database."""

from __future__ import annotations

import click

from app.cli.group import CommandGroup
from app.core.migrate import upgrade as migrate
from app.edge.context import container

group = CommandGroup("db", help="The schema of the database.")


@group.command("upgrade")
def upgrade() -> None:
    """Bring the database to this release and refresh the roles."""
    migrate(container().engine)
    with container().units() as unit:
        container().access.ensure_roles(unit)
    click.echo("The database is up to date.")
