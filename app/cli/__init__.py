"""The commands (``flask --app wsgi …``): one group per file. A new one is added to the list below."""

from __future__ import annotations

import click
from flask import Flask

from app.cli import data, db, docs, embeddings, queues, rag, search, servers, tokens, users

GROUPS: tuple[click.Group, ...] = (
    data.group,
    db.group,
    docs.group,
    embeddings.group,
    queues.group,
    rag.group,
    search.group,
    servers.group,
    tokens.group,
    users.group,
)


def register(app: Flask) -> None:
    """Add every group to ``flask``."""
    for group in GROUPS:
        app.cli.add_command(group)
