"""The honest opponent of `flask docs index`: a loop that reads the pages, embeds every section and writes the vectors.

It knows no second run, no audience, no words, no page to show: what it costs is the floor. Two calls in flight, batches
of 32, vectors as base64, binary COPY, one commit a batch. Run by the benchmark as a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import time
from pathlib import Path

import httpx
import numpy as np
import psycopg
from pgvector.psycopg import register_vector_async

BATCH, IN_FLIGHT = 32, 2
ROWS = "copy loop_passages from stdin (format binary)"


def passages(folder: Path) -> list[tuple[str, int, str]]:
    """(file, number, text) of every section."""
    found = []
    for file in sorted(folder.rglob("*.md")):
        title, *sections = file.read_text(encoding="utf-8").split("\n## ")
        for number, section in enumerate(sections):
            heading, _, text = section.partition("\n")
            found.append((file.name, number, f"{title.strip().removeprefix('# ')} / {heading}\n{text.strip()}"))
    return found


async def ingest(database: str, url: str, model: str, folder: Path) -> dict[str, float]:
    """Seconds of the whole, CPU seconds of this process, rows."""
    connection = await psycopg.AsyncConnection.connect(database, autocommit=True)
    await connection.execute("create extension if not exists vector")
    await register_vector_async(connection)
    await connection.execute("create table loop_passages (file text, n int, body text, embedding vector)")
    writing = asyncio.Lock()
    begun, cpu = time.perf_counter(), time.process_time()
    rows = passages(folder)
    batches = iter([rows[start : start + BATCH] for start in range(0, len(rows), BATCH)])

    async def work(client: httpx.AsyncClient) -> None:
        for batch in batches:
            request = {"model": model, "encoding_format": "base64", "input": [text for *_, text in batch]}
            data = (await client.post(f"{url}/v1/embeddings", json=request)).raise_for_status().json()["data"]
            found = [np.frombuffer(base64.b64decode(item["embedding"]), dtype="<f4") for item in data]
            async with writing, connection.cursor().copy(ROWS) as copy:
                copy.set_types(["text", "int4", "text", "vector"])
                for row, vector in zip(batch, found, strict=True):
                    await copy.write_row((*row, vector))

    async with httpx.AsyncClient(timeout=60, trust_env=False) as client:
        await asyncio.gather(*(work(client) for _ in range(IN_FLIGHT)))
    ended = time.perf_counter()
    await connection.close()
    return {"wall": ended - begun, "cpu": time.process_time() - cpu, "rows": len(rows)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m evaluations.bench.docs_loop")
    for name in ("--database", "--url", "--model"):
        parser.add_argument(name, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    options = parser.parse_args()
    print(json.dumps(asyncio.run(ingest(options.database, options.url, options.model, options.folder))))
