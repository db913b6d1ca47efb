"""What a job needs: the container of this process, and whether the process is ending.

A job loads ids and calls one service method. It may run twice, late or never: the tables say what is due.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

from sqlalchemy.exc import SQLAlchemyError

from app.container import Container, build_container
from app.core.config import read_config

STOPPING = threading.Event()
"""Set when the worker was asked to end: long jobs give back what they hold after the batch under way."""


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
