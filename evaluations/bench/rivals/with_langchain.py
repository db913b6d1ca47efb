"""LangChain: OpenAIEmbeddings into PGVector. Runs in the frameworks' own environment.

``default`` is the quick start; ``best`` hands it portions of 32 from two threads. Passages are given, already cut.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from langchain_core.documents import Document
from langchain_openai import OpenAIEmbeddings
from langchain_postgres import PGVector

PORTION = 32


def main(database: str, url: str, way: str, file: Path) -> dict[str, float]:
    """Seconds of the whole, CPU seconds, rows."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    documents = [Document(line["text"], id=line["id"], metadata={"page": line["page"]}) for line in lines]
    embeddings = OpenAIEmbeddings(
        model="rival", base_url=f"{url}/v1", api_key="none", max_retries=0,
        check_embedding_ctx_length=False,  # else it would fetch a tokenizer
    )  # fmt: skip
    store = PGVector(
        embeddings, connection=database.replace("postgresql://", "postgresql+psycopg://"), collection_name="rival"
    )
    begun, cpu = time.perf_counter(), time.process_time()
    if way == "best":
        portions = [documents[start : start + PORTION] for start in range(0, len(documents), PORTION)]
        with ThreadPoolExecutor(2) as threads:
            made = [one for ids in threads.map(store.add_documents, portions) for one in ids]
    else:
        made = store.add_documents(documents)
    return {"wall": time.perf_counter() - begun, "cpu": time.process_time() - cpu, "rows": len(made)}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4]))))
