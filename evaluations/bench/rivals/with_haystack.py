"""Haystack: OpenAIDocumentEmbedder and DocumentWriter into PgvectorDocumentStore, in the frameworks' own environment.

``default`` is the quick start; ``best`` hands the pipeline's parts portions of 32 from two threads. Passages are given,
already cut.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from haystack import Document, Pipeline
from haystack.components.embedders import OpenAIDocumentEmbedder
from haystack.components.writers import DocumentWriter
from haystack.utils import Secret
from haystack_integrations.document_stores.pgvector import PgvectorDocumentStore

PORTION = 32


def main(database: str, url: str, way: str, file: Path) -> dict[str, float]:
    """Seconds of the whole, CPU seconds, rows."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    documents = [Document(id=line["id"], content=line["text"], meta={"page": line["page"]}) for line in lines]
    store = PgvectorDocumentStore(
        connection_string=Secret.from_token(database), table_name="rival", embedding_dimension=384
    )
    embedder = OpenAIDocumentEmbedder(
        model="rival", api_base_url=f"{url}/v1", api_key=Secret.from_token("none"), progress_bar=False, max_retries=0
    )
    writer = DocumentWriter(store)
    begun, cpu = time.perf_counter(), time.process_time()
    if way == "best":
        portions = [documents[start : start + PORTION] for start in range(0, len(documents), PORTION)]
        with ThreadPoolExecutor(2) as threads:
            embedded = threads.map(lambda part: embedder.run(part)["documents"], portions)
            made = sum(writer.run(part)["documents_written"] for part in embedded)
    else:
        pipeline = Pipeline()
        pipeline.add_component("embedder", embedder)
        pipeline.add_component("writer", writer)
        pipeline.connect("embedder", "writer")
        made = pipeline.run({"embedder": {"documents": documents}})["writer"]["documents_written"]
    return {"wall": time.perf_counter() - begun, "cpu": time.process_time() - cpu, "rows": made}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4]))))
