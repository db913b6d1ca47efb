"""A server between the product and its embedding server that keeps every vector, by model, kind and text.

The product is unaware of it: it speaks to it as to the model. The model's own server is started with the first text
that is missing, so that a run on known texts needs no model at all. Vectors stay in ``build/vectors``.
"""

from __future__ import annotations

import base64
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

from evaluations.bench.report import ROOT
from tests.fixtures.servers import e5_server

MODEL = "multilingual-e5-small-q4"
FOLDER = ROOT / "build" / "vectors"
BATCH = 8
"""Texts a call: what was embedded so far is kept when the run is broken off."""
SECONDS = 600.0

Embed = Callable[[str, Sequence[str]], list[bytes]]
"""Kind and texts to vectors of little-endian float32."""


class VectorCache:
    """Vectors on disk, and ``embed`` for those that are missing. Safe for threads."""

    def __init__(self, path: Path, embed: Embed, model: str = MODEL) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.model = model
        self._embed = embed
        self._lock = threading.Lock()
        self._kept = sqlite3.connect(path, check_same_thread=False, timeout=60, isolation_level=None)
        self._kept.execute("pragma journal_mode = wal")
        self._kept.execute("create table if not exists vectors (key blob primary key, vector blob) without rowid")

    def close(self) -> None:
        """Close the file."""
        self._kept.close()

    def vectors(self, kind: str, texts: Sequence[str]) -> list[bytes]:
        """One vector per text, in their order."""
        with self._lock:
            missing = self.missing(kind, texts)
            for start in range(0, len(missing), BATCH):
                part = missing[start : start + BATCH]
                rows = zip((self._key(kind, text) for text in part), self._embed(kind, part), strict=True)
                self._kept.executemany("insert or ignore into vectors values (?, ?)", list(rows))
            return [self._vector(self._key(kind, text)) for text in texts]

    def missing(self, kind: str, texts: Sequence[str]) -> list[str]:
        """The distinct texts without a vector, in their order."""
        known = "select 1 from vectors where key = ?"
        distinct = dict.fromkeys(texts)
        return [text for text in distinct if self._kept.execute(known, (self._key(kind, text),)).fetchone() is None]

    def _vector(self, key: bytes) -> bytes:
        row = self._kept.execute("select vector from vectors where key = ?", (key,)).fetchone()
        return bytes(row[0])

    def _key(self, kind: str, text: str) -> bytes:
        return sha256(f"{self.model}\0{kind}\0{text}".encode("utf-8", "surrogatepass")).digest()


class RealServer:
    """The embedded multilingual-e5-small, started when it is first asked."""

    def __init__(self, stack: ExitStack, url: str | None = None) -> None:
        self._stack = stack
        self._url = url
        self.texts = 0

    def embed(self, kind: str, texts: Sequence[str]) -> list[bytes]:
        """See `Embed`."""
        if self._url is None:
            self._url = self._stack.enter_context(e5_server())
        body = {"model": MODEL, "encoding_format": "base64", "input": list(texts), "input_type": kind}
        answer = httpx.post(f"{self._url}/v1/embeddings", json=body, timeout=SECONDS, trust_env=False)
        items = sorted(answer.raise_for_status().json()["data"], key=lambda item: item["index"])
        assert len(items) == len(texts)
        self.texts += len(texts)
        return [base64.b64decode(item["embedding"]) for item in items]


@contextmanager
def kept_vectors(url: str | None = None) -> Iterator[VectorCache]:
    """The cache of ``build/vectors``; ``url`` is a running server of the model, else one is started when needed."""
    with ExitStack() as stack:
        cache = VectorCache(FOLDER / f"{MODEL}.sqlite", RealServer(stack, url).embed)
        stack.callback(cache.close)
        yield cache


@contextmanager
def serving(cache: VectorCache) -> Iterator[str]:
    """The address of a server that answers as the model's own does."""
    handler = type("_Bound", (_Handler,), {"cache": cache})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    cache: VectorCache

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        found = self.path == "/info"
        self._send(200 if found else 404, {"model_id": self.cache.model} if found else {})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        vectors = self.cache.vectors(asked.get("input_type", "passage"), asked["input"])
        data = [
            {"object": "embedding", "index": place, "embedding": base64.b64encode(vector).decode()}
            for place, vector in enumerate(vectors)
        ]
        self._send(200, {"object": "list", "model": self.cache.model, "data": data})

    def _send(self, status: int, value: dict[str, Any]) -> None:
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
