"""The servers of a whole benchmark: PostgreSQL, Valkey and the stub, and databases with documents to copy from."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg
from pydantic import SecretStr
from sqlalchemy.engine import make_url

from app.container import Container, build_container
from app.core.config import Config, ServerSettings
from app.embeddings import store
from app.embeddings.indexes import pgvector
from app.embeddings.passages import passage_hash
from app.embeddings.store import NewRow
from app.local.home import Home
from app.local.postgres import LocalPostgres
from app.local.valkey import LocalValkey
from evaluations.bench.corpus import ENTITY, Corpus, load
from evaluations.bench.report import ROOT
from evaluations.bench.stub_server import DIMENSIONS, vectors
from tests.fixtures.console import Console
from tests.fixtures.databases import migrate
from tests.fixtures.servers import create_database

SLOTS = 2
POLL_SECONDS = 0.25
MEMORY_MB = 512
OLD, NEW = "openai_compatible:old", "openai_compatible:new"
PROFILE = """
[profiles."{key}"]
dimensions = {size}
server = "stub"
label = "{key}"
description = "a model of the benchmark"
"""
FOLDER_PREFIX = "changeover-bench-"


@dataclass
class Laboratory:
    """The servers of a whole benchmark, and the databases that runs are copied from."""

    folder: Path
    postgres: LocalPostgres
    redis_url: str
    stub: subprocess.Popen[bytes]
    stub_url: str
    workers: int = SLOTS
    templates: dict[int, Corpus] = field(default_factory=dict)

    def config(self, database: str) -> Config:
        return Config(
            database_url=database,
            redis_url=self.redis_url,
            secret_key=SecretStr("a secret key of the benchmark only"),
            changeover_env="test",
            ai_embeddings_servers={"stub": ServerSettings(url=self.stub_url, slots=SLOTS)},
            ai_embeddings_profiles=self.profiles,
            ai_embeddings_initial=OLD,
            ai_embeddings_index_memory_mb=MEMORY_MB,
            embeddings_workers=self.workers,
        )

    @property
    def profiles(self) -> Path:
        path = self.folder / "profiles.toml"
        if not path.exists():
            path.write_text("".join(PROFILE.format(key=key, size=DIMENSIONS) for key in (OLD, NEW)))
        return path

    @property
    def environment(self) -> dict[str, str]:
        """The same configuration for the processes."""
        return {
            "AI_EMBEDDINGS_SERVERS": json.dumps({"stub": {"url": self.stub_url, "slots": SLOTS}}),
            "AI_EMBEDDINGS_PROFILES": str(self.profiles),
            "AI_EMBEDDINGS_INITIAL": OLD,
            "AI_EMBEDDINGS_INDEX_MEMORY_MB": str(MEMORY_MB),
            "EMBEDDINGS_WORKERS": str(self.workers),
            "CHANGEOVER_LOG_LEVEL": "warning",
        }

    def control(self, **wish: float) -> None:
        httpx.post(f"{self.stub_url}/control", json=wish).raise_for_status()

    def stats(self) -> dict[str, Any]:
        found: dict[str, Any] = httpx.get(f"{self.stub_url}/stats").raise_for_status().json()
        return found

    def corpus(self, count: int) -> Corpus:
        """Load ``count`` documents and serve them with the old model, once; runs copy this database."""
        if count not in self.templates:
            url = create_database(self.postgres.url, f"documents_{count}")
            migrate(url)
            with psycopg.connect(plain(url)) as connection:
                corpus = load(connection, count)
            parts = build_container(self.config(url))
            serve_old_model(parts, corpus)
            parts.engine.dispose()
            with psycopg.connect(plain(url), autocommit=True) as connection:
                connection.execute("vacuum (analyze)")
            self.templates[count] = corpus
        return self.templates[count]


@contextmanager
def laboratory() -> Iterator[Laboratory]:
    """PostgreSQL and Valkey as `make run` has them, and the stub; all of it is removed at the end."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stack.callback(Home(folder).remove)
        postgres = stack.enter_context(LocalPostgres(folder))
        valkey = stack.enter_context(LocalValkey(folder))
        command = [sys.executable, "-m", "evaluations.bench.stub_server", "--slots", str(SLOTS)]
        stub = stack.enter_context(subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE))
        stack.callback(stub.kill)
        assert stub.stdout is not None
        yield Laboratory(folder, postgres, valkey.url, stub, stub.stdout.readline().decode().strip())


def plain(url: str) -> str:
    """The address as the driver takes it."""
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def serve_old_model(parts: Container, corpus: Corpus) -> None:
    """Vectors and index of the old model, as if it had served for long."""
    assert parts.ai is not None
    parts.ai.upkeep.set_up()
    with parts.units() as unit:
        serving = store.serving(unit.session)
        assert serving is not None
        for start in range(0, len(corpus.passages), 1000):
            part = corpus.passages[start : start + 1000]
            made = vectors("old", [passage.text for _, passage in part])
            rows = [
                NewRow(key, passage, passage_hash(passage.text), vector)
                for (key, passage), vector in zip(part, made, strict=True)
            ]
            store.copy_rows(unit.session, serving.space_id, rows)
    pgvector.build(parts.engine, serving.space_id, ENTITY, DIMENSIONS, "cosine", memory_mb=MEMORY_MB)


@contextmanager
def workers(lab: Laboratory, url: str, name: str) -> Iterator[Console]:
    """Fresh worker processes and scheduler, all of them waiting for work."""
    console = Console(url, lab.redis_url, lab.environment, lab.folder / "logs" / name)
    try:
        console.start(web=False)
        wanted = sum(len(part) for part in console.processes.values())
        with psycopg.connect(plain(url), autocommit=True) as connection:
            wait(lambda: scalar(connection, "select count(*) from processes") >= wanted, 120, console)
        time.sleep(1.0)
        yield console
    finally:
        console.stop()


def wait(reached: Callable[[], bool], limit: float, console: Console) -> None:
    """Until it is reached; ends the benchmark after ``limit`` seconds, with what the processes said last."""
    until = time.monotonic() + limit
    while not reached():
        if time.monotonic() > until:
            raise SystemExit(f"not done within {limit:.0f} s\n{console.tails()}")
        time.sleep(POLL_SECONDS)


def scalar(connection: psycopg.Connection[Any], statement: str) -> float:
    """The number that a statement answers."""
    row = connection.execute(statement).fetchone()
    assert row is not None
    return float(row[0])


def pids(console: Console) -> list[int]:
    """The processes of a console."""
    return [process.pid for part in console.processes.values() for process in part]
