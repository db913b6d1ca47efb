"""Queue `default`: setting up the first model, clearing away, validity dates, changes past their date."""

from __future__ import annotations

from app.core.queue import DEFAULT, Wake
from app.core.settings.schema import AUDIT_DAYS
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


def tidy_core() -> None:
    """Close changes that nobody voted on in time, and delete what the audit need not keep any more."""
    parts = runtime.container()
    with parts.units() as unit:
        parts.approvals.tidy(unit)
    with parts.units() as unit:
        days = int(parts.settings.value(unit, AUDIT_DAYS) or 0)
    pruned = 1
    while days and pruned:
        with parts.units() as unit:
            pruned = parts.audit_log.prune(unit, days)
