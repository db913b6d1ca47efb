"""A door in front of a real Elasticsearch that does to single requests what a network or a full machine does."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

import httpx

Fate = Literal["forward", "refuse", "black_hole", "lose_answer"]
HEADERS = {"X-Elastic-Product": "Elasticsearch", "Content-Type": "application/vnd.elasticsearch+json;compatible-with=9"}


@dataclass
class Rule:
    """What becomes of the requests whose path ends with ``path`` ("": all); ``times`` of them, None for ever.

    ``answer`` (status, body) is given instead of asking the server. The body may be made from the request's text.
    """

    path: str
    fate: Fate = "forward"
    answer: tuple[int, Any] | None = None
    times: int | None = 1


@dataclass
class Proxy:
    """``seen`` are (method, path, text) of every request."""

    url: str
    target: str
    rules: list[Rule] = field(default_factory=list)
    seen: list[tuple[str, str, str]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    def rule(self, path: str, fate: Fate = "forward", answer: Any = None, times: int | None = 1) -> None:
        """Add a rule; the first that fits is applied."""
        self.rules.append(Rule(path, fate, answer, times))

    def heal(self) -> None:
        """Forward everything from now on."""
        self.rules.clear()
        self.released.set()
        self.released = threading.Event()

    def bodies(self, path: str) -> list[str]:
        """The texts of the requests whose path ends so."""
        return [text for _, where, text in self.seen if where.split("?")[0].endswith(path)]

    def fate_of(self, path: str) -> Rule:
        """The rule for a request, counted."""
        for one in self.rules:
            if path.split("?")[0].endswith(one.path) and one.times != 0:
                if one.times is not None:
                    one.times -= 1
                return one
        return Rule("")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: Proxy
    client: httpx.Client

    def log_message(self, format: str, *arguments: object) -> None:
        """Quiet."""

    def _serve(self) -> None:
        text = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self.proxy.seen.append((self.command, self.path, text))
        rule = self.proxy.fate_of(self.path)
        if rule.fate == "refuse":
            self.close_connection = True
            return
        if rule.fate == "black_hole":
            self.proxy.released.wait(60)
            self.close_connection = True
            return
        if rule.answer is not None:
            status, body = rule.answer
            body = body(text) if callable(body) else body
            self._send(status, json.dumps(body).encode())
            return
        kept = {name: value for name, value in self.headers.items() if name.lower() in ("content-type", "accept")}
        answer = self.client.request(self.command, self.proxy.target + self.path, content=text.encode(), headers=kept)
        if rule.fate == "lose_answer":
            self.close_connection = True
            return
        self._send(answer.status_code, answer.content)

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _serve


@contextmanager
def elasticsearch_proxy(target: str) -> Iterator[Proxy]:
    """A proxy for the server at ``target``."""
    proxy = Proxy("", target)
    with httpx.Client(timeout=60) as client:
        handler = type("Handler", (_Handler,), {"proxy": proxy, "client": client})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        proxy.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            proxy.heal()
            server.shutdown()
            server.server_close()
            thread.join()


def items(*results: tuple[int, str]) -> Callable[[str], dict[str, Any]]:
    """A bulk's answer: (status, kind of error) of each item."""
    body = [{"index": {"status": status, **({"error": {"type": kind}} if kind else {})}} for status, kind in results]
    return lambda text: {"took": 1, "errors": any(kind for _, kind in results), "items": body}
