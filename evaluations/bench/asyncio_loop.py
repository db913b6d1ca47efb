"""The honest opponent of the switch: sixty lines that embed everything and build the index, and do nothing else.

No resume, no progress, no checks, no search while it runs: what it costs is the floor. It gets the same passages, two
calls in flight, batches of 32, binary COPY, one commit a batch. Run by the benchmark as a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import resource
import time

import httpx
import numpy as np
import psycopg
from pgvector.psycopg import register_vector_async

from app.embeddings.passages import split

BATCH, IN_FLIGHT, WINDOW = 32, 2, 220
ROWS = "copy loop_vectors from stdin (format binary)"
INDEX = "create index on loop_vectors using hnsw ((embedding::vector(384)) vector_cosine_ops)"


async def embed_all(database: str, url: str, model: str, memory_mb: int) -> dict[str, float]:
    """Seconds of the whole and of the index; CPU seconds and peak memory of this process."""
    connection = await psycopg.AsyncConnection.connect(database, autocommit=True)
    await register_vector_async(connection)
    await connection.execute("create table loop_vectors (record_id bigint, locale text, n int, embedding vector)")
    await connection.execute("alter table loop_vectors alter column embedding set storage plain")
    writing = asyncio.Lock()
    begun, cpu = time.perf_counter(), time.process_time()
    rows = await (await connection.execute("select record_id, locale, title, body from search_documents")).fetchall()
    passages = [
        (record_id, locale, part.n, part.text)
        for record_id, locale, title, body in rows
        for part in split(title, body, WINDOW)
    ]
    batches = iter([passages[start : start + BATCH] for start in range(0, len(passages), BATCH)])

    async def work(client: httpx.AsyncClient) -> None:
        for batch in batches:
            request = {"model": model, "encoding_format": "base64", "input": [text for *_, text in batch]}
            data = (await client.post(f"{url}/v1/embeddings", json=request)).raise_for_status().json()["data"]
            found = [np.frombuffer(base64.b64decode(item["embedding"]), dtype="<f4") for item in data]
            async with writing, connection.cursor().copy(ROWS) as copy:
                copy.set_types(["int8", "text", "int4", "vector"])
                for (record_id, locale, n, _), vector in zip(batch, found, strict=True):
                    await copy.write_row((record_id, locale, n, vector))

    async with httpx.AsyncClient(timeout=60, trust_env=False) as client:
        await asyncio.gather(*(work(client) for _ in range(IN_FLIGHT)))
    embedded = time.perf_counter()
    await connection.execute(f"set maintenance_work_mem = '{memory_mb}MB'")
    await connection.execute(INDEX)
    ended = time.perf_counter()
    await connection.close()
    return {
        "wall": ended - begun,
        "index": ended - embedded,
        "cpu": time.process_time() - cpu,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "rows": len(passages),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m evaluations.bench.asyncio_loop")
    for name in ("--database", "--url", "--model"):
        parser.add_argument(name, required=True)
    parser.add_argument("--memory-mb", type=int, required=True)
    options = parser.parse_args()
    print(json.dumps(asyncio.run(embed_all(options.database, options.url, options.model, options.memory_mb))))
