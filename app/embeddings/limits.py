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

    def beside(self, extra: int) -> int:
        """How many texts to send next beside ``extra`` short ones (the canary), at least 1.

        They count where the server counts, but not against its time: they take next to none of it.
        """
        with self._lock:
            most = self._size - extra
            if self._seconds_per_text:
                most = min(most, round(TARGET_SECONDS / self._seconds_per_text))
            return max(1, most)

    @property
    def takes_two(self) -> bool:
        """Whether two texts may go in one call, as far as is known."""
        with self._lock:
            return self._most > 1 and (self._refused is None or self._refused > 2)

    @property
    def quick(self) -> bool:
        """Whether a second batch may wait at the server behind the first: a question still waits for no longer than it
        may, and the way there and back, which costs a quick server's slot as much as some texts, is hidden."""
        with self._lock:
            known = self._seconds_per_text
            return known is not None and known * self._size <= TARGET_SECONDS / 2

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
