"""The client of OpenAI-compatible embedding servers: one request, one request id, one class of failure.

httpx lives here alone. A failure is a :class:`ModelServerFailed` and one warning in the log with service, endpoint
(without credentials or query), status and request id (seed 000, "Request id"): never a text, a body or a key.
"""

from __future__ import annotations

import os
import ssl
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeVar

import httpcore
import httpx
import numpy as np
import structlog

from app.core.clock import Clock
from app.core.config import ServerSettings
from app.core.errors import Conflict, ModelServerFailed
from app.embeddings.answers import (
    Answer,
    Unusable,
    check_vectors,
    read_answer,
    read_info,
    reason_of_status,
    retry_after,
)
from app.embeddings.batches import Batcher
from app.embeddings.deadlines import DeadlineBackend, Deadlines
from app.embeddings.identity import PROBE_TEXT, Inspection, Vectors
from app.embeddings.limits import BatchLimit
from app.embeddings.probe import ServerCheck, check_server
from app.embeddings.profiles import Profile, Profiles, server_variable

CONNECT_SECONDS = 2.0
LARGEST_ANSWER = 64 * 1024 * 1024
_LARGEST_ERROR = 64 * 1024
_NO_SUCH_PAGE = (404, 405, 501)

Kind = Literal["query", "passage"]
T = TypeVar("T")

log = structlog.get_logger("embeddings")


@dataclass(frozen=True)
class Embedded:
    """``vectors`` is (texts, dimensions); ``model`` is what the answer names, else empty; ``seconds`` the call's."""

    vectors: Vectors
    model: str
    seconds: float


@dataclass(frozen=True)
class _Call:
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


class EmbeddingClient:
    """One profile at its server. Safe for use by several threads.

    ``deadlines`` are those the sockets of ``http`` look at; without them the deadline is looked at between reads.
    """

    def __init__(
        self,
        profile: Profile,
        server: ServerSettings,
        server_name: str,
        http: httpx.Client,
        clock: Clock,
        deadlines: Deadlines | None = None,
    ) -> None:
        self.profile = profile
        self.server = server
        self.server_name = server_name
        self._http = http
        self._clock = clock
        self._deadlines = deadlines or Deadlines(clock)
        url = httpx.URL(server.url)
        self._url = str(url.copy_with(username=None, password=None)).rstrip("/")
        self._auth = httpx.BasicAuth(url.username, url.password) if url.username and server.key is None else None

    def embed(self, texts: Sequence[str], kind: Kind, timeout: float | None = None) -> Embedded:
        """The vectors of ``texts``, row by row, checked one and all; ``timeout`` in seconds covers the whole call.

        Raises :class:`ModelServerFailed`; nothing of a batch is returned when one vector of it is wrong.
        """
        profile = self.profile
        if not texts:
            return Embedded(np.zeros((0, profile.dimensions), dtype=np.float32), "", 0.0)
        call, answer, seconds = self._ask(texts, kind, timeout or self.server.timeout, profile.model)
        vectors = call.read(lambda: check_vectors(answer, profile.dimensions, normalised=profile.normalize))
        return Embedded(vectors, answer.model or "", seconds)

    def inspect(self, timeout: float) -> Inspection:
        """What the server answers to the probe text, and its ``GET /info`` where it has one.

        Length, norm and model are reported, not judged. Raises :class:`ModelServerFailed`.
        """
        until = self._clock.monotonic() + timeout
        call, answer, seconds = self._ask([PROBE_TEXT], "passage", timeout, None)
        vector = call.read(lambda: check_vectors(answer, None, normalised=False))[0]
        model, max_batch = self.info(max(until - self._clock.monotonic(), 0.1))
        norm = float(np.linalg.norm(vector.astype(np.float64)))
        return Inspection(answer.model, model, len(vector), norm, max_batch, vector, seconds)

    def info(self, timeout: float) -> tuple[str | None, int | None]:
        """(model, texts per request) of ``GET /info``; None for what the server doesn't say.

        Raises :class:`ModelServerFailed`, but not for a server without such a page.
        """
        try:
            return read_info(self._send(self._call("/info"), "GET", None, timeout))
        except _Absent:
            return None, None

    def _ask(
        self, texts: Sequence[str], kind: Kind, timeout: float, expected_model: str | None
    ) -> tuple[_Call, Answer, float]:
        call = self._call("/v1/embeddings")
        begun = self._clock.monotonic()
        content = self._send(call, "POST", self._body(texts, kind), timeout)
        seconds = self._clock.monotonic() - begun
        return call, call.read(lambda: read_answer(content, len(texts), expected_model)), seconds

    def _body(self, texts: Sequence[str], kind: Kind) -> Mapping[str, object]:
        profile = self.profile
        body: dict[str, object] = {"model": profile.model, "encoding_format": "base64"}
        if profile.prefixes == "server":
            return {**body, "input": list(texts), "input_type": kind}
        prefix = profile.query_prefix if kind == "query" else profile.passage_prefix
        return {**body, "input": [prefix + text for text in texts]}

    def _call(self, path: str) -> _Call:
        return _Call(self.server_name, self._url + path, uuid.uuid4().hex)

    def _send(self, call: _Call, method: str, body: object, timeout: float) -> bytes:
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

    def _exchange(self, call: _Call, method: str, body: object, timeout: float) -> bytes:
        until = self._clock.monotonic() + timeout
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
            after = retry_after(response.headers.get("Retry-After"), self._clock.now())
            raise call.failed(reason, status, after)

    def _content(self, call: _Call, response: httpx.Response, until: float, most: int) -> bytes:
        """The body, broken off once it is longer than ``most`` bytes."""
        content = bytearray()
        for part in response.iter_bytes():
            content += part
            if self._clock.monotonic() > until:
                raise call.failed("timeout")
            if len(content) > most:
                break
        return bytes(content)


class ModelServers:
    """The clients of all profiles; those of one server share its connections and what was learned of its batches.

    Safe for threads. A forked process makes connections of its own (`known-bugs.md` 67).
    """

    def __init__(self, profiles: Profiles, servers: Mapping[str, ServerSettings], clock: Clock) -> None:
        self._profiles = profiles
        self._servers = dict(servers)
        self._clock = clock
        self._deadlines = Deadlines(clock)
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._http: dict[str, httpx.Client] = {}
        self._limits: dict[str, BatchLimit] = {}

    def client(self, profile: Profile) -> EmbeddingClient:
        """The client of ``profile``, which may be a stored declaration. Raises :class:`Conflict` without a server."""
        server = self._server(profile)
        return EmbeddingClient(
            profile, server, profile.server, self._connections(profile.server), self._clock, self._deadlines
        )

    def limit(self, profile: Profile) -> BatchLimit:
        """What is known of the batches of the profile's server. Raises :class:`Conflict` without a server."""
        server = self._server(profile)
        with self._lock:
            return self._limits.setdefault(profile.server, BatchLimit(server.batch_size))

    def batcher(self, profile: Profile, waiting: Callable[[float, str], None] | None = None) -> Batcher:
        """A new batcher on what was learned of the server. ``waiting``: see `Batcher`. Raises :class:`Conflict`."""
        return Batcher(self.client(profile), self.limit(profile), self._clock, waiting)

    def check(self, timeout: float = 3.0) -> list[ServerCheck]:
        """Probe the server of every configured profile, ``timeout`` seconds each, in declared order."""
        return [
            check_server(self.client(profile), timeout) for profile in self._profiles if profile.server in self._servers
        ]

    def warm_up(self) -> None:
        """Make what the first call to each server would make, without asking any."""
        "localhost".encode("idna")  # the first look-up of a name reads the tables of this codec
        for server in {profile.server for profile in self._profiles}:
            if server in self._servers:
                self._connections(server)

    def close(self) -> None:
        """Close the connections of this process."""
        with self._lock:
            for http in self._http.values():
                http.close()
            self._http.clear()

    def _server(self, profile: Profile) -> ServerSettings:
        try:
            return self._servers[profile.server]
        except KeyError:
            variable = server_variable(profile.server)
            raise Conflict("switch.not_configured", profile=profile.key, variable=variable) from None

    def _connections(self, server: str) -> httpx.Client:
        if os.getpid() != self._process:  # the parent's sockets and lock are not ours
            self._process, self._lock, self._http = os.getpid(), threading.Lock(), {}
        with self._lock:
            if server not in self._http:
                secure = self._servers[server].url.startswith("https:")
                self._http[server] = make_http(self._deadlines, secure=secure)
            return self._http[server]


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
