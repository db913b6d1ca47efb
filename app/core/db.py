"""The database engine and the declarative base of every mapped class."""

from __future__ import annotations

from sqlalchemy import Engine, MetaData, create_engine
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
    return create_engine(
        url,
        pool_size=pool_size,
        max_overflow=CONNECTIONS - pool_size,
        pool_pre_ping=True,
        pool_timeout=10,
        hide_parameters=True,  # an error is logged; the texts of records and queries must not be
        connect_args={
            "prepare_threshold": None,
            "application_name": application_name,
            "connect_timeout": 5,
            "options": "-c idle_in_transaction_session_timeout=120000 -c lock_timeout=10000 -c timezone=UTC",
        },
    )
