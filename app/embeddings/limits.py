"""How many texts one server takes at once: learned, and remembered for the life of the process (`faults.md` 48)."""

from __future__ import annotations

import threading

TARGET_SECONDS = 0.5
"""A batch is about half a second of the server's time, so that a question waits for no longer (`switch.md`)."""

_GROW_AFTER = 8
_FORGIVE_AFTER = 200


class BatchLimit:
    """The batch size of one server, shared by all its clients and threads. Sizes are in texts."""

    def __init__(self, configured: int) -> None:
        self._lock = threading.Lock()
        self._most = configured
        self._size = configured
        self._refused: int | None = None
        self._fitted = 0
        self._seconds_per_text: float | None = None
        self._asked = False

    @property
    def size(self) -> int:
        """How many texts to send next, at least 1."""
        with self._lock:
            if not self._seconds_per_text:
                return self._size
            return max(1, min(self._size, round(TARGET_SECONDS / self._seconds_per_text)))

    def first_ask(self) -> bool:
        """True once: the caller then asks the server what it takes."""
        with self._lock:
            asked, self._asked = self._asked, True
            return not asked

    def declared(self, most: int) -> None:
        """The server says how many texts it takes at most."""
        with self._lock:
            self._most = min(self._most, most)
            self._size = min(self._size, self._most)

    def refused(self, count: int, fitted: int) -> None:
        """``count`` texts at once failed, the same ones in batches of at most ``fitted`` didn't."""
        with self._lock:
            self._refused = min(count, self._refused or count)
            self._size = max(1, min(self._size, fitted))
            self._fitted = 0

    def worked(self, count: int, seconds: float) -> None:
        """``count`` texts took ``seconds``. Grows by one text after some successes, never to a size that was refused
        until long after."""
        with self._lock:
            each = seconds / count
            known = self._seconds_per_text
            self._seconds_per_text = each if known is None else 0.7 * known + 0.3 * each
            self._fitted += 1
            if self._refused is not None and self._fitted >= _FORGIVE_AFTER:
                self._refused, self._fitted = None, 0
            below = self._most if self._refused is None else min(self._most, self._refused - 1)
            if self._fitted % _GROW_AFTER == 0 and count >= self._size and self._size < below:
                self._size += 1
