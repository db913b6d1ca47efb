"""``flask users``: people, from the machine itself. No permission is asked: who may run this may do all."""

from __future__ import annotations

import click

from app.cli.group import CommandGroup
from app.core.access.service import ROLES
from app.core.locale import LOCALES
from app.edge.context import container

group = CommandGroup("users", help="People who may sign in.")

password_option = click.option(
    "--password", prompt=True, hide_input=True, confirmation_prompt=True, help="Asked for when it is left out."
)


@group.command("create")
@click.argument("login")
@click.option("--name", default="", help="The name to show.")
@click.option("--role", "roles", multiple=True, type=click.Choice(ROLES), required=True)
@click.option("--locale", type=click.Choice(list(LOCALES)), default="en", show_default=True)
@click.option("--needs-approval", is_flag=True, help="What this person changes waits for somebody's approval.")
@password_option
def create(login: str, name: str, roles: tuple[str, ...], locale: str, needs_approval: bool, password: str) -> None:
    """Add a person."""
    with container().units() as unit:
        user = container().access.create_user(unit, login, password, roles, name, locale, needs_approval)
    click.echo(f"{user.login} can sign in.")


@group.command("list")
def list_users() -> None:
    """Everybody: login, name, roles, state."""
    with container().units() as unit:
        for user in container().access.everybody(unit):
            roles = ",".join(role.name for role in user.roles)
            click.echo("\t".join((user.login, user.display_name, roles, "active" if user.is_active else "disabled")))


@group.command("disable")
@click.argument("login")
def disable(login: str) -> None:
    """End a person's sessions and tokens and refuse new ones."""
    with container().units() as unit:
        container().access.disable(unit, login)
    click.echo(f"{login} can't sign in any more.")


@group.command("password")
@click.argument("login")
@password_option
def password(login: str, password: str) -> None:
    """Give a person a new password; their sessions end."""
    with container().units() as unit:
        container().access.set_password(unit, login, password)
    click.echo(f"The password of {login} is changed.")
