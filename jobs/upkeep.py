"""Queue `default`: setting up the first model, clearing away, validity dates."""

from __future__ import annotations

from app.core.queue import DEFAULT, Wake
from jobs import runtime


def set_up() -> None:
    """Make the initial embedding model serve a new installation."""
    parts = runtime.container()
    if parts.ai and parts.ai.upkeep.set_up():
        parts.queue.send(Wake("jobs.index_events.apply_serving", DEFAULT))


def check_server() -> None:
    """Compare the serving model's server with its fixed text."""
    parts = runtime.container()
    if parts.ai:
        parts.ai.upkeep.check_server()


def tidy() -> None:
    """Drop indexes that nobody reads and rows whose retention has ended."""
    parts = runtime.container()
    if parts.ai:
        parts.ai.upkeep.tidy()


def refresh_validity() -> None:
    """Contents whose validity begins or ends become findable, or no longer are."""
    parts = runtime.container()
    with parts.units() as unit:
        parts.contents.refresh_validity(unit)
