"""Work that runs beside a search, in a thread that nobody has to wait for."""

from __future__ import annotations

import contextvars
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

Result = TypeVar("Result")

THREADS = 64
"""At most, of one process; what finds none free waits for one, and who asked for it waits no longer than they may."""


@lru_cache(maxsize=1)
def _threads(process: int) -> ThreadPoolExecutor:
    """Those of a process; one that was forked has none of its parent's."""
    return ThreadPoolExecutor(THREADS, thread_name_prefix="beside-search")


def beside(work: Callable[[], Result]) -> Future[Result]:
    """Begin ``work`` in a thread, with this request's context.

    Threads are kept: to begin one for each search and to end it again took a millisecond of sixteen.
    """
    return _threads(os.getpid()).submit(contextvars.copy_context().run, work)
