"""A process that indexes, and dies at a checkpoint. Run as a module with a JSON of what to do as its argument."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from pydantic import SecretStr

from app.container import build_container
from app.core.config import Config
from app.documentation import indexer as module
from app.documentation.pgvector_store import PgvectorPassages
from tests.fakes.queue import RecordingQueue


def main(database: str, root: str, at: str, times: int, full: bool, batch: int) -> None:
    config = Config(
        database_url=database,
        redis_url="redis://127.0.0.1:1/0",
        secret_key=SecretStr("a secret key of the tests only"),
        changeover_env="test",
    )
    container = build_container(config, queue=RecordingQueue())
    left = times

    def checkpoint(name: str) -> None:
        nonlocal left
        left -= name == at
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    assert container.documentation is not None
    module.BATCH = batch
    indexer = container.documentation.indexer
    indexer._checkpoint = checkpoint
    assert isinstance(indexer.passages, PgvectorPassages)
    indexer.passages._checkpoint = checkpoint
    container.documentation.index(container.units, Path(root), full=full)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
