"""How long words may take in PostgreSQL: a statement that is over its limit ends, and leaves no trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog
from psycopg.errors import QueryCanceled
from sqlalchemy import event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from app.core.clock import Clock
from app.search.engines.ports import LegFailed, TooSlow

ALONE = "set local max_parallel_workers_per_gather = 0"
"""One process for each leg: workers to help it take longer to start than most questions take, and they take the cores
that the other leg and the next search need."""

log = structlog.get_logger(__name__)


@contextmanager
def limited(session: Session, seconds: float | None) -> Iterator[None]:
    """Statements inside end after ``seconds``: then :class:`TooSlow`, and the transaction goes on as it was before.

    So it does after :class:`LegFailed`, when the database refuses a statement; a connection that is gone is raised.

    A savepoint and the limit go out together, as they are taken back together: two round trips for all of the leg.
    """
    if seconds is None:
        yield
        return
    session.execute(text(f"savepoint word_leg; {ALONE}; set local statement_timeout = {_milliseconds(seconds)}"))
    try:
        yield
    except DBAPIError as error:
        if error.connection_invalidated:
            raise
        session.execute(text("rollback to savepoint word_leg"))
        log.warning("search.word_leg_failed", error=type(error.orig).__name__)
        raise (TooSlow if isinstance(error.orig, QueryCanceled) else LegFailed) from None
    session.execute(text("release savepoint word_leg; set local statement_timeout to default"))


@contextmanager
def paced(session: Session, seconds: float | None, clock: Clock) -> Iterator[None]:
    """As :func:`limited`, for many statements: each may take what those before it have left of ``seconds``, or a
    twentieth of them more."""
    if seconds is None:
        yield
        return
    until, told = clock.monotonic() + seconds, seconds

    def shorten(connection: Any, cursor: Any, *_: Any) -> None:
        nonlocal told
        left = until - clock.monotonic()
        if told - left > seconds / 20:  # most take so little that to say so each time would take as long
            cursor.execute(f"set local statement_timeout = {_milliseconds(left)}")
            told = left

    with limited(session, seconds):
        connection = session.connection()
        event.listen(connection, "before_cursor_execute", shorten)
        try:
            yield
        finally:
            event.remove(connection, "before_cursor_execute", shorten)


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))
