"""A reranking server that misbehaves on request: TEI's ``/rerank`` and the Cohere-style ``/v1/rerank``.

A text's score is the share of the question's words that it has, so that the order of a right answer is known.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class RerankBehaviour:
    """How calls are answered; the default is right and at once. Positions count from 0, seconds throughout."""

    status: int = 200
    error: str = "no"
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    """Sent as it is instead of the answer."""
    delay: float = 0.0
    order: str = "straight"
    """``reversed``: the last text's score comes first, with its index."""
    missing: int = 0
    extra: int = 0
    indexes: list[Any] | None = None
    scores: list[Any] | None = None
    """Replaces the scores."""
    max_batch: int | None = None
    too_many_status: int = 413
    model: str | None = None
    """What a Cohere-style answer names itself; None names nothing."""
    info_model: str | None = None
    info_batch: int | None = None
    info_status: int = 200
    names: tuple[str, str] = ("score", "relevance_score")


def overlap(query: str, text: str) -> float:
    """The score of a right answer."""
    words = set(re.findall(r"\w+", query.lower()))
    return len(words & set(re.findall(r"\w+", text.lower()))) / len(words) if words else 0.0


class FakeRerankServer:
    """A server on 127.0.0.1 inside ``with``; ``batches`` are the texts of each call, ``bodies`` the whole requests."""

    def __init__(self) -> None:
        self.behaviour = RerankBehaviour()
        self.batches: list[list[str]] = []
        self.bodies: list[dict[str, Any]] = []
        self.request_ids: list[str] = []
        self.keys: list[str] = []
        self.paths: list[str] = []
        self.info_calls = 0
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), type("_Bound", (_Handler,), {"fake": self}))
        self._http.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def behave(self, **changes: Any) -> None:
        """Change the behaviour by fields of `RerankBehaviour`."""
        self.behaviour = replace(self.behaviour, **changes)

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Close the port; a second time nothing happens."""
        self._http.shutdown()
        self._http.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fake: FakeRerankServer

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        fake, behaviour = self.fake, self.fake.behaviour
        if self.path != "/info":
            return self._send(404, "{}")
        fake.info_calls += 1
        told = {"model_id": behaviour.info_model, "max_client_batch_size": behaviour.info_batch}
        return self._send(
            behaviour.info_status, json.dumps({name: value for name, value in told.items() if value is not None})
        )

    def do_POST(self) -> None:
        fake, behaviour = self.fake, self.fake.behaviour
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        cohere = self.path == "/v1/rerank"
        texts: list[str] = request["documents" if cohere else "texts"]
        fake.paths.append(self.path)
        fake.bodies.append(request)
        fake.batches.append(texts)
        fake.request_ids.append(self.headers.get("X-Request-Id", ""))
        fake.keys.append(self.headers.get("Authorization", ""))
        time.sleep(behaviour.delay)
        if behaviour.max_batch is not None and len(texts) > behaviour.max_batch:
            return self._send(behaviour.too_many_status, '{"error": "batch size too large"}')
        if behaviour.status != 200:
            return self._send(behaviour.status, json.dumps({"error": behaviour.error}))
        return self._send(200, behaviour.body or _answer(behaviour, request["query"], texts, cohere))

    def _send(self, status: int, content: str) -> None:
        body = content.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in self.fake.behaviour.headers.items():
            self.send_header(name, value)
        try:
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            self.close_connection = True


def _answer(behaviour: RerankBehaviour, query: str, texts: Sequence[str], cohere: bool) -> str:
    scores = behaviour.scores or [overlap(query, text) for text in texts]
    name = behaviour.names[cohere]
    items: list[dict[str, Any]] = [{"index": index, name: score} for index, score in enumerate(scores)]
    items += [{**items[-1], "index": len(items) + more} for more in range(behaviour.extra)]
    if behaviour.indexes is not None:
        items = [{**item, "index": index} for item, index in zip(items, behaviour.indexes, strict=True)]
    items = items[: len(items) - behaviour.missing]
    if behaviour.order == "reversed":
        items.reverse()
    if not cohere:
        return json.dumps(items)
    return json.dumps({"results": items, **({"model": behaviour.model} if behaviour.model else {})})
