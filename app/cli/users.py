"""``flask users``: people, from the machine itself. No permission is asked: who may run this may do all."""

from __future__ import annotations

import secrets
import sys

import click

from app.cli.group import CommandGroup
from app.core.locale import LOCALES
from app.core.unit import Origin
from app.edge.context import container

group = CommandGroup("users", help="People who may sign in.")

COMMAND = Origin("command")
password_option = click.option(
    "--password", prompt=True, hide_input=True, confirmation_prompt=True, help="Asked for when it is left out."
)


@group.command("create")
@click.argument("login")
@click.option("--name", default="", help="The name to show.")
@click.option("--role", "roles", multiple=True, required=True, help="A role by name; several are allowed.")
@click.option("--locale", type=click.Choice(list(LOCALES)), default="en", show_default=True)
@click.option("--needs-approval", is_flag=True, help="What this person changes waits for somebody's approval.")
@click.option("--guest", is_flag=True, help="An account that only reads.")
@password_option
def create(
    login: str, name: str, roles: tuple[str, ...], locale: str, needs_approval: bool, guest: bool, password: str
) -> None:
    """Add a person."""
    with container().units(origin=COMMAND) as unit:
        user = container().access.create_user(
            unit, login, password, roles, name, locale, needs_approval, is_guest=guest
        )
    click.echo(f"{user.login} can sign in.")


@group.command("list")
def list_users() -> None:
    """Everybody: login, name, roles, state."""
    with container().units(origin=COMMAND) as unit:
        for user in container().access.everybody(unit):
            roles = ",".join(role.name for role in user.roles)
            click.echo("\t".join((user.login, user.display_name, roles, "active" if user.is_active else "disabled")))


@group.command("disable")
@click.argument("login")
def disable(login: str) -> None:
    """End a person's sessions and tokens and refuse new ones. The last administrator can't be disabled."""
    with container().units(origin=COMMAND) as unit:
        container().access.disable(unit, login)
    click.echo(f"{login} can't sign in any more.")


@group.command("password")
@click.argument("login")
@password_option
def password(login: str, password: str) -> None:
    """Give a person a new password; their sessions end."""
    with container().units(origin=COMMAND) as unit:
        container().access.set_password(unit, login, password)
    click.echo(f"The password of {login} is changed.")


@group.command("rescue")
@click.argument("login")
@click.option("--ask", is_flag=True, help="Ask for the password instead of making one.")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")
def rescue(login: str, ask: bool, password_stdin: bool) -> None:
    """Make a person an administrator who can sign in again: enabled, with the role and a new password.

    For when nobody can administer any more. Without an option a password is made and printed once.
    """
    if ask and password_stdin:
        raise click.UsageError("Use either --ask or --password-stdin.")
    made = not ask and not password_stdin
    with container().units(origin=COMMAND) as unit:
        container().access.ensure_roles(unit)
        container().access.user(unit, login)
        new = secrets.token_urlsafe(15) if made else _given(ask)
        user = container().access.people.rescue(unit, login, new)
    click.echo(f"{user.login} is an administrator and can sign in. All earlier sessions have ended.", err=made)
    if made:
        click.echo(new)


def _given(ask: bool) -> str:
    if ask:
        return str(click.prompt("Password", hide_input=True, confirmation_prompt=True))
    return sys.stdin.readline().rstrip("\r\n")
