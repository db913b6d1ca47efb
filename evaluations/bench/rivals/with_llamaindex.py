"""LlamaIndex: an IngestionPipeline of OpenAIEmbedding into PGVectorStore. Runs in the frameworks' own environment.

``default`` is the quick start; ``best`` sends 32 texts a call and two calls at once. Passages are given, already cut.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import TextNode
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.vector_stores.postgres import PGVectorStore


def main(database: str, url: str, way: str, file: Path) -> dict[str, float]:
    """Seconds of the whole, CPU seconds, rows."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    nodes = [TextNode(id_=line["id"], text=line["text"], metadata={"page": line["page"]}) for line in lines]
    store = PGVectorStore.from_params(
        connection_string=database.replace("postgresql://", "postgresql+psycopg2://"),
        async_connection_string=database.replace("postgresql://", "postgresql+asyncpg://"),
        table_name="rival",
        embed_dim=384,
    )
    more = {"embed_batch_size": 32, "num_workers": 2} if way == "best" else {}
    embedding = OpenAIEmbedding(model_name="rival", api_base=f"{url}/v1", api_key="none", max_retries=0, **more)
    pipeline = IngestionPipeline(transformations=[embedding], vector_store=store, disable_cache=True)
    begun, cpu = time.perf_counter(), time.process_time()
    made = asyncio.run(pipeline.arun(nodes=nodes)) if way == "best" else pipeline.run(nodes=nodes)
    return {"wall": time.perf_counter() - begun, "cpu": time.process_time() - cpu, "rows": len(made)}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4]))))
