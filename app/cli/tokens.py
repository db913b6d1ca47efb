"""``flask tokens``: bearer tokens for scripts."""

from __future__ import annotations

import click

from app.cli.group import CommandGroup
from app.core.access.actor import SCOPES
from app.core.access.tokens import LONGEST_DAYS
from app.core.unit import Origin
from app.edge.context import container

group = CommandGroup("tokens", help="Bearer tokens for scripts.")


@group.command("create")
@click.option("--user", "login", required=True, help="Whose permissions the token has.")
@click.option("--scope", "scopes", multiple=True, type=click.Choice(list(SCOPES)), required=True)
@click.option("--days", type=click.IntRange(1, LONGEST_DAYS), default=30, show_default=True)
@click.option("--name", default="command line", show_default=True)
def create(login: str, scopes: tuple[str, ...], days: int, name: str) -> None:
    """Print a new token, and nothing else; it can't be shown again."""
    with container().units(origin=Origin("command")) as unit:
        user = container().access.user(unit, login)
        _, secret = container().tokens.create(unit, user, name, scopes, days)
    click.echo(secret)
