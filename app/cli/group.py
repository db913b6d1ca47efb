"""What every command of ours shares: an application context, and errors as a sentence instead of a traceback."""

from __future__ import annotations

from typing import Any

import click
from flask.cli import AppGroup

from app.core.errors import ChangeoverError


class CommandGroup(AppGroup):
    """A group whose commands may raise our errors: the sentence goes to standard error, the exit code is 1."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ChangeoverError as error:
            raise click.ClickException(str(error)) from None
