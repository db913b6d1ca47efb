"""A deadline over a whole HTTP call (`faults.md` 41): read timeouts start anew with every byte a server drips.

The call's thread sets the deadline; the sockets below look at it before each read and write.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore

from app.core.clock import Clock


class Deadlines:
    """The deadline of each thread's present call, on one clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._local = threading.local()

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """All socket work of the block ends within ``seconds``; later work raises httpcore's timeouts."""
        self._local.until = self._clock.monotonic() + seconds
        try:
            yield
        finally:
            self._local.until = None

    def left(self, timeout: float | None) -> float | None:
        """The shorter of ``timeout`` and what is left, in seconds; zero or less when the time is over."""
        until: float | None = getattr(self._local, "until", None)
        if until is None:
            return timeout
        left = until - self._clock.monotonic()
        return left if timeout is None else min(left, timeout)


class DeadlineBackend(httpcore.NetworkBackend):
    """Sockets whose every operation is bounded by the thread's deadline."""

    def __init__(self, deadlines: Deadlines) -> None:
        self._deadlines = deadlines
        self._sockets = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        left = _positive(self._deadlines.left(timeout), httpcore.ConnectTimeout)
        stream = self._sockets.connect_tcp(host, port, left, local_address, socket_options)
        return _DeadlineStream(stream, self._deadlines)


class _DeadlineStream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream, deadlines: Deadlines) -> None:
        self._stream = stream
        self._deadlines = deadlines

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _positive(self._deadlines.left(timeout), httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _positive(self._deadlines.left(timeout), httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = _positive(self._deadlines.left(timeout), httpcore.ConnectTimeout)
        return _DeadlineStream(self._stream.start_tls(ssl_context, server_hostname, left), self._deadlines)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _positive(left: float | None, over: type[Exception]) -> float | None:
    if left is not None and left <= 0:
        raise over("the call's deadline has passed")
    return left
