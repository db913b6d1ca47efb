"""The database engine and the declarative base of every mapped class."""

from __future__ import annotations

import select
from typing import Any

from psycopg import OperationalError
from sqlalchemy import Engine, MetaData, create_engine, event
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.orm import DeclarativeBase

CONNECTIONS = 15
"""Of one process at most. They are kept: eight threads that search by words and meaning use fourteen, and to open one
again takes longer than such a search."""
NAMING = {
    "pk": "%(table_name)s_pkey",
    "ix": "%(table_name)s_%(column_0_N_name)s_idx",
    "uq": "%(table_name)s_%(column_0_N_name)s_key",
    "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
    "ck": "%(table_name)s_%(constraint_name)s_check",
}


class Base(DeclarativeBase):
    """Base of the mapped classes; constraint names are PostgreSQL's own."""

    metadata = MetaData(naming_convention=NAMING)


def make_engine(url: str, *, pool_size: int = CONNECTIONS, application_name: str = "changeover") -> Engine:
    """An engine for ``postgresql+psycopg`` addresses.

    Server-side prepared statements are off: a plan that became generic no longer uses the partial HNSW indexes
    (`postgres.md`, "Vectors": 0.5 ms against 20 ms).
    """
    engine = create_engine(
        url,
        pool_size=pool_size,
        max_overflow=CONNECTIONS - pool_size,
        pool_timeout=10,
        hide_parameters=True,  # an error is logged; the texts of records and queries must not be
        connect_args={
            "prepare_threshold": None,
            "application_name": application_name,
            "connect_timeout": 5,
            "keepalives_idle": 30,
            "keepalives_interval": 10,
            "keepalives_count": 3,
            "options": "-c idle_in_transaction_session_timeout=120000 -c lock_timeout=10000 -c timezone=UTC",
        },
    )
    event.listen(engine, "checkout", _still_there)
    return engine


def _still_there(connection: Any, record: Any, proxy: Any) -> None:
    """Let go of a kept connection whose server has gone: all that were opened before now are opened again.

    A server that ends says so, and a host that vanished is noticed by keep-alives: either way something stands unread
    in the socket. To look there takes no round trip, which a statement at each checkout does (a tenth of a search's
    statements). A notice stands there as well, so what is unread decides nothing until the server was asked.
    """
    try:
        waiting = select.poll()
        waiting.register(connection.fileno(), select.POLLIN)
        if not waiting.poll(0):
            return
        connection.execute("select 1")
        connection.rollback()
    except OperationalError as error:
        raise InvalidatePoolError from error
