"""Parts of a search that refuse, hang or answer nonsense. What hangs does so until the test ends, or two minutes."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from psycopg.errors import InsufficientPrivilege
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from app.core.contracts.chat import ChatCompletion, ChatMessage
from app.core.contracts.vectors import Guard
from app.core.errors import ModelServerFailed
from app.search.engines.postgres_limit import limited

HANGS = 120.0
"""Seconds; a test that waited for it is a failure."""
SECTIONS: Mapping[str, Any] = {"retrieval": {}, "ensemble": {}, "ranking": {}, "vector": {}}


class Patience:
    """The timeouts that parts were given, and what hangs until ``over`` is set."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.given: list[float] = []

    def hang(self) -> None:
        self.over.wait(HANGS)


def refused() -> ModelServerFailed:
    return ModelServerFailed("unreachable", server="s", request_id="r")


class Vectors:
    """The stage's vectors with a broken model (``at`` embedder) or a broken leg (``at`` vector leg)."""

    def __init__(self, inner: Any, at: str, state: str, patience: Patience) -> None:
        self.inner, self.at, self.state, self.patience = inner, at, state, patience

    def guard(self, session: Any, export: bool = False) -> Guard:
        if self.state == "absent":
            return Guard("no_vectors" if self.at == "embedder" else "disabled")
        found: Guard = self.inner.guard(session, export)
        return found

    def known_vector(self, *asked: Any) -> Any:
        """Every question is asked of the model."""

    def query_vector(self, wording: str, timeout: float, guard: Guard) -> Any:
        self.patience.given.append(timeout)
        if self.at == "embedder":
            self._break(refused(), ModelServerFailed("malformed", server="s", request_id="r"))
        return self.inner.query_vector(wording, timeout, guard)

    def settings(self, *asked: Any) -> str:
        settings: str = self.inner.settings(*asked)
        return settings

    def nearest(self, *asked: Any) -> Any:
        if self.at == "vector leg":
            self._break(OperationalError("select", {}, InsufficientPrivilege()), KeyError("distance"))
        return self.inner.nearest(*asked)

    def _break(self, refusal: Exception, nonsense: Exception) -> None:
        if self.state == "slow":
            self.patience.hang()
        raise refusal if self.state == "refused" else nonsense


class Words:
    """The word engine with a broken leg, in the database itself."""

    STATEMENTS: Mapping[str, str] = {
        "refused": "select * from no_such_table",
        "slow": f"select pg_sleep({HANGS})",
        "malformed": "select cast('printer' as integer)",
    }

    def __init__(self, inner: Any, state: str, patience: Patience) -> None:
        self.inner, self.state, self.patience = inner, state, patience

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def keyword(self, session: Any, query: Any, scope: Any, locale: Any, window: int, seconds: float) -> Any:
        self.patience.given.append(seconds)
        with limited(session, seconds):
            session.execute(text(self.STATEMENTS[self.state]))
        raise AssertionError("the statement should have failed")


class Scores:
    """A cross-encoder."""

    name = "cross-encoder"

    def __init__(self, state: str, patience: Patience) -> None:
        self.state, self.patience = state, patience

    def scores(self, query: str, texts: Sequence[str], timeout: float) -> Sequence[float]:
        self.patience.given.append(timeout)
        if self.state == "refused":
            raise refused()
        if self.state == "slow":
            self.patience.hang()
        return [0.5] * (len(texts) - (self.state == "malformed"))


class Chat:
    """A language model; whole, it says nothing that changes a search."""

    def __init__(self, state: str, patience: Patience, nonsense: str) -> None:
        self.state, self.patience, self.nonsense = state, patience, nonsense

    def complete(self, messages: Sequence[ChatMessage], *, max_tokens: int, timeout: float) -> ChatCompletion:
        self.patience.given.append(timeout)
        if self.state == "refused":
            raise refused()
        if self.state == "slow":
            self.patience.hang()
        return ChatCompletion(self.nonsense if self.state == "malformed" else json.dumps(SECTIONS), "fake")


@contextmanager
def page_server(state: str, patience: Patience) -> Iterator[str]:
    """The address of a web server that hangs (``slow``) or answers a page of HTML, whatever it is asked."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if state == "slow":
                patience.hang()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("X-Elastic-Product", "Elasticsearch")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>Welcome</title>")

        do_POST = do_HEAD = do_PUT = do_GET

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with _serving(server.serve_forever, server.shutdown):
        yield f"http://127.0.0.1:{server.server_port}"
    server.server_close()


@contextmanager
def line_server(state: str) -> Iterator[str]:
    """The address of a server that speaks no RESP: it says nothing (``slow``), or something else."""
    listening = socket.create_server(("127.0.0.1", 0))
    kept: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            kept.append(connection)
            if state == "malformed":
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with _serving(serve, listening.close):
        yield f"redis://127.0.0.1:{listening.getsockname()[1]}/0"
        for connection in kept:
            connection.close()


@contextmanager
def _serving(serve: Callable[[], None], stop: Callable[[], None]) -> Iterator[None]:
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop()
