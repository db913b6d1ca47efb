"""Work that runs beside a search, in a thread that nobody has to wait for."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Result = TypeVar("Result")


def beside(work: Callable[[], Result]) -> Future[Result]:
    """Begin ``work`` in a thread of its own, with this request's context."""
    future: Future[Result] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            future.set_result(context.run(work))
        except BaseException as error:  # noqa: BLE001 - raised again by who waits for it
            future.set_exception(error)

    threading.Thread(target=run, name="beside-search", daemon=True).start()
    return future
