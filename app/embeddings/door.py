"""The one door to model servers over HTTP: one request, one request id, one class of failure.

httpx lives here alone. A failure is a :class:`ModelServerFailed` and one warning in the log with service, endpoint
(without credentials or query), status and request id (seed 000, "Request id"): never a text, a body or a key.
"""

from __future__ import annotations

import os
import ssl
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

import httpcore
import httpx
import structlog

from app.core.clock import Clock
from app.core.config import ServerSettings
from app.core.errors import ModelServerFailed
from app.embeddings.answers import Unusable, read_info, reason_of_status, retry_after
from app.embeddings.deadlines import DeadlineBackend, Deadlines

CONNECT_SECONDS = 2.0
LARGEST_ANSWER = 64 * 1024 * 1024
_LARGEST_ERROR = 64 * 1024
_NO_SUCH_PAGE = (404, 405, 501)

T = TypeVar("T")

log = structlog.get_logger("embeddings")


@dataclass(frozen=True)
class Call:
    """One request, and what each of its failures carries. ``url`` is without credentials: httpx logs it."""

    server: str
    url: str
    request_id: str

    def failed(
        self,
        reason: str,
        status: int | None = None,
        after: float | None = None,
        values: Mapping[str, object] = MappingProxyType({}),
    ) -> ModelServerFailed:
        """The failure of this call, which is logged by being made."""
        endpoint = self.url.partition("?")[0]
        log.warning(
            "model_server.call_failed",
            service=self.server,
            endpoint=endpoint,
            status=status,
            request_id=self.request_id,
            reason=reason,
        )
        return ModelServerFailed(
            reason, server=self.server, request_id=self.request_id, status=status, retry_after=after, **values
        )

    def read(self, reader: Callable[[], T]) -> T:
        """What ``reader`` makes of a successful answer; an unusable one is a failure of this call."""
        try:
            return reader()
        except Unusable as error:
            raise self.failed(error.reason, 200, values=error.values) from None


class Door:
    """One server. Safe for use by several threads.

    ``deadlines`` are those the sockets of ``http`` look at; without them the deadline is looked at between reads.
    """

    def __init__(
        self, name: str, server: ServerSettings, http: httpx.Client, clock: Clock, deadlines: Deadlines | None = None
    ) -> None:
        self.name = name
        self.server = server
        self.clock = clock
        self._http = http
        self._deadlines = deadlines or Deadlines(clock)
        url = httpx.URL(server.url)
        self._url = str(url.copy_with(username=None, password=None)).rstrip("/")
        self._auth = httpx.BasicAuth(url.username, url.password) if url.username and server.key is None else None

    def post(self, path: str, body: Mapping[str, object], timeout: float) -> tuple[Call, bytes, float]:
        """The call, the content of its 2xx answer and the seconds it took. Raises :class:`ModelServerFailed`."""
        call = self._call(path)
        begun = self.clock.monotonic()
        content = self._send(call, "POST", body, timeout)
        return call, content, self.clock.monotonic() - begun

    def info(self, timeout: float) -> tuple[str | None, int | None]:
        """(model, texts per request) of ``GET /info``; None for what the server doesn't say.

        Raises :class:`ModelServerFailed`, but not for a server without such a page.
        """
        try:
            return read_info(self._send(self._call("/info"), "GET", None, timeout))
        except _Absent:
            return None, None

    def _call(self, path: str) -> Call:
        return Call(self.name, self._url + path, uuid.uuid4().hex)

    def _send(self, call: Call, method: str, body: object, timeout: float) -> bytes:
        """The content of a 2xx answer. Raises :class:`ModelServerFailed`, or :class:`_Absent` for a page asked for."""
        try:
            with self._deadlines.within(timeout):
                return self._exchange(call, method, body, timeout)
        except httpx.ConnectTimeout:
            raise call.failed("unreachable") from None
        except httpx.TimeoutException:
            raise call.failed("timeout") from None
        except httpx.DecodingError:
            raise call.failed("malformed", 200) from None
        except (httpx.HTTPError, httpx.InvalidURL):
            raise call.failed("unreachable") from None

    def _exchange(self, call: Call, method: str, body: object, timeout: float) -> bytes:
        until = self.clock.monotonic() + timeout
        headers = {"X-Request-Id": call.request_id, "Accept-Encoding": "identity"}
        if self.server.key is not None:
            headers["Authorization"] = f"Bearer {self.server.key.get_secret_value()}"
        clocks = httpx.Timeout(timeout, connect=min(CONNECT_SECONDS, timeout))
        with self._http.stream(
            method, call.url, json=body, headers=headers, auth=self._auth, timeout=clocks
        ) as response:
            status = response.status_code
            if method == "GET" and status in _NO_SUCH_PAGE:
                raise _Absent
            if response.is_success:
                content = self._content(call, response, until, LARGEST_ANSWER)
                if len(content) > LARGEST_ANSWER:
                    raise call.failed("malformed", status)
                return content
            told = self._content(call, response, until, _LARGEST_ERROR) if status == 400 else b""
            reason = reason_of_status(status, told)
            after = retry_after(response.headers.get("Retry-After"), self.clock.now())
            raise call.failed(reason, status, after)

    def _content(self, call: Call, response: httpx.Response, until: float, most: int) -> bytes:
        """The body, broken off once it is longer than ``most`` bytes."""
        content = bytearray()
        for part in response.iter_bytes():
            content += part
            if self.clock.monotonic() > until:
                raise call.failed("timeout")
            if len(content) > most:
                break
        return bytes(content)


class Doors:
    """The doors of all servers, with the connections of each. Safe for threads.

    A forked process makes connections of its own (`known-bugs.md` 67).
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._deadlines = Deadlines(clock)
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._http: dict[tuple[str, bool], httpx.Client] = {}

    def door(self, name: str, server: ServerSettings) -> Door:
        """The door of the server of this name; all of one name share its connections."""
        return Door(name, server, self._connections(name, server), self._clock, self._deadlines)

    def warm_up(self, servers: Mapping[str, ServerSettings]) -> None:
        """Make what the first call to each server would make, without asking any."""
        "localhost".encode("idna")  # the first look-up of a name reads the tables of this codec
        for name, server in servers.items():
            self._connections(name, server)

    def close(self) -> None:
        """Close the connections of this process."""
        with self._lock:
            for http in self._http.values():
                http.close()
            self._http.clear()

    def _connections(self, name: str, server: ServerSettings) -> httpx.Client:
        if os.getpid() != self._process:  # the parent's sockets and lock are not ours
            self._process, self._lock, self._http = os.getpid(), threading.Lock(), {}
        secure = server.url.startswith("https:")
        with self._lock:
            if (name, secure) not in self._http:
                self._http[name, secure] = make_http(self._deadlines, secure=secure)
            return self._http[name, secure]


def make_http(deadlines: Deadlines, *, secure: bool = True) -> httpx.Client:
    """Connections that follow no redirect, read no proxy or credentials from the environment, and keep deadlines.

    Not ``secure``: no authority is trusted, which saves a process of a plain address their reading (some 50 ms).
    """
    context = httpx.create_ssl_context(trust_env=False) if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    transport = httpx.HTTPTransport(verify=context, trust_env=False)
    # httpx has no public door to the sockets; the test with a server that drips its head would fail without this.
    transport._pool = httpcore.ConnectionPool(
        ssl_context=context,
        max_connections=32,
        max_keepalive_connections=8,
        keepalive_expiry=5.0,
        network_backend=DeadlineBackend(deadlines),
    )
    return httpx.Client(transport=transport, follow_redirects=False, trust_env=False)


class _Absent(Exception):
    """The server has no such page."""
