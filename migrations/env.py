"""Runs migrations: one process at a time, with timeouts, so that a waiting lock never queues readers behind it."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection, text

ADVISORY_LOCK = 7_201_125


def run(connection: Connection) -> None:
    """Upgrade on ``connection``; statements see ``lock_timeout`` 5 s and ``statement_timeout`` 10 min."""
    connection.execute(text(f"select pg_advisory_lock({ADVISORY_LOCK})"))
    connection.execute(text("set lock_timeout = '5s'"))
    connection.execute(text("set statement_timeout = '10min'"))
    connection.commit()
    try:
        context.configure(connection=connection, transaction_per_migration=True)
        with context.begin_transaction():
            context.run_migrations()
    finally:
        connection.rollback()
        connection.execute(text(f"select pg_advisory_unlock({ADVISORY_LOCK})"))
        connection.commit()


run(context.config.attributes["connection"])
