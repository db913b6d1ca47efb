"""A thread beside the requests, for what may be done later or not at all."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

import structlog

log = structlog.get_logger(__name__)

Work = Callable[[], None]

MOST = 200
IDLE_SECONDS = 5.0


class LaterWriter:
    """Runs one piece of work after the other. Whoever hands one in never waits; what does not fit is refused.

    The thread starts with the first piece (after a web server has forked) and ends when there is none for a while.
    It does not hold up the end of the process: what waits then is lost.
    """

    def __init__(self, most: int = MOST, idle: float = IDLE_SECONDS) -> None:
        """``most`` pieces wait at once; ``idle`` seconds without work end the thread."""
        self._most = most
        self._idle = idle
        self._changed = threading.Condition()
        self._waiting: deque[Work] = deque()
        self._working = False
        self._thread: threading.Thread | None = None

    def put(self, work: Work) -> bool:
        """Take ``work``; False when too much waits already. Raises RuntimeError when no thread can be started."""
        with self._changed:
            if len(self._waiting) >= self._most:
                return False
            if self._thread is None or not self._thread.is_alive():
                self._working = False
                self._thread = threading.Thread(target=self._run, name="later-writer", daemon=True)
                self._thread.start()
            self._waiting.append(work)
            self._changed.notify_all()
        return True

    def wait(self, seconds: float) -> bool:
        """Wait until all that was handed in is done; False when it takes longer."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._working, seconds)

    def _run(self) -> None:
        while (work := self._next()) is not None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - whatever it is, the next piece is done all the same
                log.warning("later_work_failed", error=type(error).__name__)
            finally:
                with self._changed:
                    self._working = False
                    self._changed.notify_all()

    def _next(self) -> Work | None:
        with self._changed:
            if not self._changed.wait_for(lambda: bool(self._waiting), self._idle):
                self._thread = None
                return None
            self._working = True
            return self._waiting.popleft()
