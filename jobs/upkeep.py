"""Queue `default`: setting up the first model, clearing away, validity dates, changes past their date."""

from __future__ import annotations

import structlog

from app.container import Container
from app.core.errors import Unavailable
from app.core.queue import DEFAULT, Wake
from app.core.settings.schema import AUDIT_DAYS
from jobs import runtime

REFRESH_WORDS = "jobs.upkeep.refresh_words"

log = structlog.get_logger(__name__)


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


def refresh_words() -> None:
    """Count the words of texts anew where many have changed, for a while; the rest after what else waits."""
    parts = runtime.container()
    if parts.word_statistics.refresh(runtime.STOPPING):
        parts.queue.send(Wake(REFRESH_WORDS, DEFAULT))


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
    _forget_questions(parts)


def _forget_questions(parts: Container) -> None:
    """Delete questions to the documentation that were kept long enough; while their store is away, the next time."""
    pruned = 1
    while parts.answering and parts.answering.questions and pruned:
        try:
            with parts.units() as unit:
                pruned = parts.answering.questions.prune(unit)
        except Unavailable as error:
            log.warning("questions_not_pruned", code=error.code)
            return
