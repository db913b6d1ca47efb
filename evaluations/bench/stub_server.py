"""An OpenAI-compatible embedding server that sleeps instead of computing: the clock of the benchmarks.

A call of n texts holds one of the slots for ``a + b·n`` seconds; more calls wait in the order in which they came. A
vector depends on the model's name and the text alone: 48 random numbers in 384 dimensions, which index builds find
about as hard as real embeddings. As a process of its own::

    python -m evaluations.bench.stub_server --slots 2

It prints its address. ``POST /control {"a": 0.02, "b": 0.002}`` sets the speed and empties the counters, ``GET /stats``
shows them.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
from collections import Counter
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 384
INTRINSIC = 48
BASIS = np.random.default_rng(7).standard_normal((INTRINSIC, DIMENSIONS)).astype(np.float32)


def digest(text: str) -> str:
    """What the counters call a text."""
    return blake2b(text.encode(), digest_size=8).hexdigest()


def vectors(model: str, texts: list[str]) -> NDArray[np.float32]:
    """(texts, 384) unit vectors. Without BLAS, whose threads would take the cores of who is measured."""
    seeds = [int.from_bytes(blake2b(f"{model}\0{text}".encode(), digest_size=8).digest(), "big") for text in texts]
    latent = np.stack([np.random.default_rng(seed).standard_normal(INTRINSIC, dtype=np.float32) for seed in seeds])
    found = np.einsum("ij,jk->ik", latent, BASIS)
    return np.asarray(found / np.sqrt(np.einsum("ij,ij->i", found, found))[:, None], dtype="<f4")


class Stub:
    """The slots, the speed and the counters."""

    def __init__(self, slots: int) -> None:
        self.slots = asyncio.Semaphore(slots)
        self.control({})

    def control(self, wish: dict[str, float]) -> None:
        """Set the speed and start counting anew."""
        self.a, self.b = wish.get("a", 0.0), wish.get("b", 0.0)
        self.calls = self.texts = self.largest = self.at_once = self.most_at_once = 0
        self.busy = self.nominal = 0.0
        self.begun = self.ended = 0.0
        self.seen: Counter[str] = Counter()

    def stats(self) -> dict[str, Any]:
        """``busy_seconds`` is how long slots were held, ``nominal_seconds`` how long they should have been;
        ``repeated`` is how often a text came, for those that came more than once."""
        return {
            "busy_seconds": self.busy,
            "nominal_seconds": self.nominal,
            "calls": self.calls,
            "texts": self.texts,
            "distinct": len(self.seen),
            "largest_batch": self.largest,
            "most_at_once": self.most_at_once,
            "begun": self.begun,
            "ended": self.ended,
            "repeated": {text: count for text, count in self.seen.items() if count > 1},
        }

    async def embed(self, request: dict[str, Any]) -> bytes:
        """The answer's body, after the service time."""
        clock = asyncio.get_running_loop().time
        texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
        self.calls += 1
        self.texts += len(texts)
        self.largest = max(self.largest, len(texts))
        self.seen.update(digest(text) for text in texts)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        async with self.slots:
            begun = clock()
            self.begun = self.begun or begun
            wanted = self.a + self.b * len(texts)
            body = answer(request["model"], texts, request.get("encoding_format") == "base64")
            await asyncio.sleep(wanted - (clock() - begun))
            self.ended = clock()
            self.busy += self.ended - begun
            self.nominal += wanted
            self.at_once -= 1
        return body


def answer(model: str, texts: list[str], as_base64: bool) -> bytes:
    """The body of an answer."""
    data = [
        {
            "object": "embedding",
            "index": index,
            "embedding": base64.b64encode(row.tobytes()).decode() if as_base64 else row.tolist(),
        }
        for index, row in enumerate(vectors(model, texts))
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return json.dumps({"object": "list", "data": data, "model": model, "usage": usage}).encode()


async def serve(stub: Stub, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection, kept alive."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
            body = await reader.readexactly(int(fields.get("content-length", 0)))
            status, content = await _answered(stub, head[0].split(" ")[:2], body)
            writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _answered(stub: Stub, page: list[str], body: bytes) -> tuple[int, bytes]:
    if page == ["POST", "/v1/embeddings"]:
        return 200, await stub.embed(json.loads(body))
    if page == ["GET", "/stats"]:
        return 200, json.dumps(stub.stats()).encode()
    if page == ["POST", "/control"]:
        stub.control(json.loads(body))
        return 200, b"{}"
    return 404, b"{}"


async def run(slots: int, port: int) -> None:
    """Serve until killed."""
    stub = Stub(slots)
    server = await asyncio.start_server(lambda reader, writer: serve(stub, reader, writer), "127.0.0.1", port)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m evaluations.bench.stub_server")
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    asyncio.run(run(options.slots, options.port))
