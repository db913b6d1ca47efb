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
    session.execute(text(f"savepoint word_leg; set local statement_timeout = {max(1, round(seconds * 1000))}"))
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
    """As :func:`limited`, for many statements: each may take what those before it have left of ``seconds``."""
    if seconds is None:
        yield
        return
    until = clock.monotonic() + seconds

    def shorten(connection: Any, cursor: Any, *_: Any) -> None:
        cursor.execute(f"set local statement_timeout = {max(1, round((until - clock.monotonic()) * 1000))}")

    with limited(session, seconds):
        connection = session.connection()
        event.listen(connection, "before_cursor_execute", shorten)
        try:
            yield
        finally:
            event.remove(connection, "before_cursor_execute", shorten)
