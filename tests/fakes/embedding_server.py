"""An embedding server that misbehaves on request.

In a test: ``with FakeEmbeddingServer(model="m", dims=8) as server: server.script([Behaviour(status=503)])``; a scripted
behaviour is used up by one call, then ``server.behaviour`` holds. As a process of its own, steered over HTTP::

    python -m tests.fakes.embedding_server --port 9100 --model m --dims 8
    curl -d '{"behaviour": {"status": 503}, "script": [{"nan_at": 0}], "reset": true}' http://127.0.0.1:9100/control
    curl http://127.0.0.1:9100/control        # the counters

Vectors depend on the model's name, the text and its kind alone. With ``words=True`` they are a sum over the text's
words, so that texts that share words are near each other.
"""

from __future__ import annotations

import argparse
import json
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tests.fakes.embedding_behaviour import Behaviour, answer, refused, text_vector

__all__ = ["Behaviour", "Counters", "FakeEmbeddingServer", "text_vector"]


Script = Iterable[Behaviour] | Callable[[int, Sequence[str]], Behaviour | None]


@dataclass
class Counters:
    """What the server has seen. ``repeats`` counts texts that came again; ``busy_seconds`` sums over calls."""

    calls: int = 0
    failed: int = 0
    texts: int = 0
    largest_batch: int = 0
    repeats: int = 0
    busy_seconds: float = 0.0
    at_once: int = 0
    largest_at_once: int = 0
    info_calls: int = 0
    per_text: Counter[str] = field(default_factory=Counter)
    embedded: Counter[str] = field(default_factory=Counter)
    """Only texts whose answer was right."""
    request_ids: list[str] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    """The last hundred requests."""


class FakeEmbeddingServer:
    """A server on 127.0.0.1, running between ``start`` and ``stop`` or inside ``with``."""

    def __init__(
        self,
        model: str = "fake-model",
        dims: int = 8,
        behaviour: Behaviour | None = None,
        *,
        port: int = 0,
        words: bool = False,
    ) -> None:
        self.model = model
        self.dims = dims
        self.words = words
        self.behaviour = behaviour or Behaviour()
        self.counters = Counters()
        self._script: Iterator[Behaviour] | None = None
        self._asked: Callable[[int, Sequence[str]], Behaviour | None] | None = None
        self._lock = threading.Lock()
        self._port = port
        self._http: _Http | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> Self:
        """Bind and serve in a thread; after ``stop`` it comes back at the same port."""
        self._http = _Http(("127.0.0.1", self._port), type("_Bound", (_Handler,), {"fake": self}))
        self._port = self._http.server_port
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def stop(self) -> None:
        """Close the port and every connection."""
        if self._http is not None:
            self._http.shutdown()
            self._http.server_close()
            self._http.close_connections()
            self._http = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def behave(self, **changes: Any) -> None:
        """Change the lasting behaviour by fields of `Behaviour`."""
        self.behaviour = replace(self.behaviour, **changes)

    def script(self, script: Script) -> None:
        """Behaviours for the next calls, or a function of (call number from 0, texts) → behaviour or None."""
        with self._lock:
            if callable(script):
                self._asked, self._script = script, None
            else:
                self._asked, self._script = None, iter(list(script))

    def reset(self) -> None:
        """Counters to zero, right behaviour, no script."""
        with self._lock:
            self.counters, self.behaviour = Counters(), Behaviour()
            self._script = self._asked = None

    def vector(self, text: str, kind: str = "", model: str | None = None) -> NDArray[np.float32]:
        """The vector that this server gives a text (of length 1, before any misbehaviour)."""
        return text_vector(model or self.model, text, kind, self.dims, self.words)

    def control(self, command: dict[str, Any]) -> None:
        """``reset``, ``behaviour`` (fields to change), ``script`` (list of behaviours), ``model``, ``dims``."""
        if command.get("reset"):
            self.reset()
        self.model = command.get("model", self.model)
        self.dims = command.get("dims", self.dims)
        self.behave(**command.get("behaviour", {}))
        if "script" in command:
            self.script([Behaviour(**step) for step in command["script"]])

    def next_behaviour(self, texts: Sequence[str]) -> Behaviour:
        """Count the call, and say how to answer it."""
        with self._lock:
            counters = self.counters
            number = counters.calls
            counters.calls += 1
            counters.texts += len(texts)
            counters.largest_batch = max(counters.largest_batch, len(texts))
            counters.repeats += sum(1 for text in texts if counters.per_text[text])
            counters.per_text.update(texts)
            counters.at_once += 1
            counters.largest_at_once = max(counters.largest_at_once, counters.at_once)
            if self._asked is not None:
                return self._asked(number, texts) or self.behaviour
            return next(self._script, self.behaviour) if self._script is not None else self.behaviour

    def ended(self, texts: Sequence[str], seconds: float, worked: bool) -> None:
        """Count how a call ended."""
        with self._lock:
            self.counters.at_once -= 1
            self.counters.busy_seconds += seconds
            if worked:
                self.counters.embedded.update(texts)
            else:
                self.counters.failed += 1


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""

    def close_connections(self) -> None:
        for connection in list(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    fake: FakeEmbeddingServer

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        fake, behaviour = self.fake, self.fake.behaviour
        if self.path == "/control":
            self._send(200, json.dumps(vars(fake.counters)).encode())
        elif self.path == "/health":
            self._send(200, b"{}")
        elif self.path == "/info" and behaviour.info:
            fake.counters.info_calls += 1
            value = {"model_id": behaviour.info_model or behaviour.model or fake.model}
            most = behaviour.info_batch or behaviour.max_batch
            self._send(200, json.dumps(value | ({"max_client_batch_size": most} if most else {})).encode())
        else:
            self._send(404, b'{"error": "no such page"}')

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if self.path == "/control":
            self.fake.control(request)
            self._send(200, b"{}")
        elif self.path == "/v1/embeddings":
            self._embeddings(request)
        else:
            self._send(404, b'{"error": "no such page"}')

    def _embeddings(self, request: dict[str, Any]) -> None:
        given = request["input"]
        texts: list[str] = [given] if isinstance(given, str) else given
        counters = self.fake.counters
        counters.request_ids.append(self.headers.get("X-Request-Id", ""))
        counters.bodies[:] = [*counters.bodies[-99:], request]
        behaviour = self.fake.next_behaviour(texts)
        begun, worked = time.monotonic(), False
        try:
            time.sleep(behaviour.delay + behaviour.delay_per_text * len(texts))
            worked = self._answer(request, texts, behaviour)
        finally:
            self.fake.ended(texts, time.monotonic() - begun, worked)

    def _answer(self, request: dict[str, Any], texts: list[str], behaviour: Behaviour) -> bool:
        status = refused(texts, behaviour)
        if status == 0 or behaviour.drop == "before":
            self._hang_up()
            return False
        if status != 200:
            error = {"error": {"message": behaviour.error, "type": "server_error"}}
            self._send(status, json.dumps(error).encode(), behaviour)
            return False
        right = json.dumps(answer(self.fake, request, texts, behaviour))
        content = (right if behaviour.body is None else behaviour.body).encode()
        self._send(200, content, behaviour)
        return behaviour.body is None and not behaviour.drop

    def _send(self, status: int, content: bytes, behaviour: Behaviour | None = None) -> None:
        behaviour = behaviour or Behaviour()
        fields = {"Content-Type": "application/json", "Content-Length": str(len(content)), **behaviour.headers}
        fields["X-Request-Id"] = self.headers.get("X-Request-Id", "")
        head = f"HTTP/1.1 {status} X\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items()) + "\r\n"
        try:
            if behaviour.drop == "head":
                self._dripped(head.encode()[:20], 0)
                return self._hang_up()
            self._dripped(head.encode(), behaviour.drip_head)
            if behaviour.drop == "body":
                self._dripped(content[: len(content) // 2], 0)
                return self._hang_up()
            self._dripped(content, behaviour.drip_body)
        except OSError:
            self.close_connection = True
        return None

    def _dripped(self, content: bytes, pause: float) -> None:
        if not pause:
            self.wfile.write(content)
            return
        for byte in content:
            self.wfile.write(bytes([byte]))
            time.sleep(pause)

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fakes.embedding_server")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--model", default="fake-model")
    parser.add_argument("--dims", type=int, default=8)
    parser.add_argument("--words", action="store_true")
    parser.add_argument("--delay-per-text", type=float, default=0.0)
    options = parser.parse_args()
    behaviour = Behaviour(delay_per_text=options.delay_per_text)
    server = FakeEmbeddingServer(options.model, options.dims, behaviour, port=options.port, words=options.words)
    with server:
        print(f"{options.model} on {server.url}", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
