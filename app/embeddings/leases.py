"""Leases in PostgreSQL, on the database's clock: 10 s long, renewed every 3 s by a thread with its own connection.

A lease only says who should work; that a late worker does no harm is held by the conditions of its writes (epoch,
token, text hash). `switch.md`, "What stands in PostgreSQL".
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import structlog
from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError

log = structlog.get_logger(__name__)

SECONDS = 10
"""With the scheduler's two seconds and a worker's start, what a killed process held moves again within 15 s
(`make bench-recovery`)."""
RENEW_SECONDS = 3.0
TABLES = {"switches": "id", "switch_chunks": "id", "index_cursors": "consumer"}


class Fenced(Exception):
    """What we held was taken over, abandoned or has ended: stop at once and write nothing more."""


def new_token() -> str:
    """A token for one lease; it begins with the process that holds it, as `host#pid.`, for the page of the queues."""
    return f"{socket.gethostname()}#{os.getpid()}.{uuid4().hex}"


class LeaseKeeper:
    """Renews one lease until it is left; `lost` is set when somebody else took it."""

    def __init__(self, engine: Engine, table: str, key: int | str, token: str) -> None:
        self._engine = engine
        self._statement = text(
            f"update {table} set lease_until = clock_timestamp() + interval '{SECONDS} seconds' "
            f"where {TABLES[table]} = :key and lease_token = :token"
        )
        self._values = {"key": key, "token": token}
        self._leave = threading.Event()
        self.lost = threading.Event()

    def renew(self) -> None:
        """Renew once; sets `lost` when the lease is no longer ours. A database that is away is tried again."""
        try:
            with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.execute(text("set lock_timeout = '2s'"))
                if connection.execute(self._statement, self._values).rowcount == 0:
                    self.lost.set()
        except SQLAlchemyError as error:
            log.warning("lease_not_renewed", error=type(error).__name__)

    def _run(self) -> None:
        while not self._leave.wait(RENEW_SECONDS) and not self.lost.is_set():
            self.renew()

    @contextmanager
    def kept(self) -> Iterator[LeaseKeeper]:
        """Renew in the background for the duration of the block."""
        thread = threading.Thread(target=self._run, name="lease", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._leave.set()
            thread.join(timeout=10)
