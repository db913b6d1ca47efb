"""What a job needs: the container of this process, and whether the process is ending.

A job loads ids and calls one service method. It may run twice, late or never: the tables say what is due.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module

from sqlalchemy.exc import SQLAlchemyError

from app.container import Container, build_container
from app.core.config import read_config
from app.core.queue import DEFAULT, EMBEDDINGS, INDEX, SWITCH

STOPPING = threading.Event()
"""Set when the worker was asked to end: long jobs give back what they hold after the batch under way."""
MODULES = {
    EMBEDDINGS: ["jobs.embeddings"],
    SWITCH: ["jobs.embeddings_switch"],
    INDEX: ["jobs.embeddings_index"],
    DEFAULT: ["jobs.index_events", "jobs.upkeep"],
}


def own_name(kind: str) -> str:
    """This process, in the table of processes; ``kind``: the queue of a worker, or ``scheduler``."""
    return f"{kind}@{socket.gethostname()}#{os.getpid()}"


@contextmanager
def trouble_told(switch_id: int) -> Iterator[None]:
    """Tell the switch of a job that fails for a reason nobody foresaw; the failure itself goes to the worker's log."""
    try:
        yield
    except Exception as error:
        parts = container()
        if parts.ai:
            with suppress(SQLAlchemyError):
                parts.ai.machine.trouble(switch_id, error)
        raise


@cache
def container() -> Container:
    """The container of this worker process, built on first use."""
    return build_container(read_config())


def warm_up(parts: Container, queue: str) -> None:
    """Do before its first job what the worker of ``queue`` does once and then never again.

    Connections, the mapping of classes, a codec that the first look-up of an address reads for a tenth of a second: a
    switch that starts on cold workers would pay for all of it between its phases. Changes nothing; a database that is
    away is left for later.
    """
    for module in MODULES[queue]:
        import_module(module)
    if parts.ai:
        parts.ai.servers.warm_up()
    with suppress(SQLAlchemyError):
        with parts.engine.connect(), parts.engine.connect():
            pass  # both go to the pool: one for the work, one for its lease
        if parts.ai:
            parts.ai.switching.serving()
            parts.ai.switching.history(1)
            parts.ai.switching.status()
