"""The console as `make run` starts it, under its own supervisor, on a slow stub; with hands that kill parts of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
import psycopg
from pydantic import SecretStr

from app.container import Container, build_container
from app.core.config import Config, ServerSettings
from app.core.contracts.actor import SYSTEM
from app.core.contracts.documents import Document
from app.core.documents.text import clean_text, text_hash
from app.embeddings.passages import split
from app.local.home import Home
from app.local.lifetime import recorded
from app.local.postgres import LocalPostgres
from app.local.processes import end_leftovers
from app.local.valkey import LocalValkey
from evaluations.bench.corpus import COLUMNS, ENTITY, documents
from evaluations.bench.laboratory import NEW, OLD, PROFILE, plain
from evaluations.bench.measures import CHECKS
from evaluations.bench.report import ROOT
from evaluations.bench.stub_server import DIMENSIONS, vectors

SLOW = {"a": 0.05, "b": 0.08}
"""Some 24 texts a second in two slots: a switch of the corpus runs for minutes."""
FAST = {"a": 0.0, "b": 0.0}
SLOTS = 2
FIRST_RECORD = 1_000_000
LIMIT_SECONDS = 120.0
POLL_SECONDS = 0.05
SUPERVISED_PAUSE = 1.0
"""What a supervisor takes until it starts an ended server again; the stub is not a part of `make run`."""
READY_SECONDS = 180.0


class Field:
    """A running console. Values of the database are read anew from outside, also while it restarts."""

    def __init__(self, folder: Path, log: Path) -> None:
        self.home = Home(folder / "home")
        self.output = log
        self.port = self.home.port("web")
        self.stub_port = self.home.port("stub")
        self.stub_url = f"http://127.0.0.1:{self.stub_port}"
        self.speed = FAST
        self.profiles = folder / "profiles.toml"
        self.profiles.write_text("".join(PROFILE.format(key=key, size=DIMENSIONS) for key in (OLD, NEW)))
        self.stub = self._start_stub()
        self.up: subprocess.Popen[bytes] | None = None
        self._container: Container | None = None
        self._looking: psycopg.Connection[Any] | None = None

    # --- starting --------------------------------------------------------------------------------------------------

    def start(self, count: int) -> None:
        """Start everything, wait until it is ready, and add ``count`` documents with vectors of the old model."""
        inherited = psutil.Process().environ()
        kept = ("PATH", "HOME", "LANG")
        environment: dict[str, str] = {name: inherited[name] for name in kept if name in inherited}
        servers = {"stub": {"url": self.stub_url, "slots": SLOTS}}
        environment |= {
            "PYTHONPATH": str(ROOT),
            "CHANGEOVER_HOME": str(self.home.path),
            "PORT": str(self.port),
            "CHANGEOVER_ENV": "test",
            "AI_EMBEDDINGS_URL": self.stub_url,
            "AI_EMBEDDINGS_SERVERS": json.dumps(servers),
            "AI_EMBEDDINGS_PROFILES": str(self.profiles),
            "AI_EMBEDDINGS_INITIAL": OLD,
            "AI_EMBEDDINGS_INDEX_CHUNK_SIZE": "50",
            "AI_EMBEDDINGS_INDEX_MEMORY_MB": "16",
        }
        with self.output.open("ab") as output:
            self.up = subprocess.Popen(
                [sys.executable, "-m", "app.local", "up"], cwd=ROOT, env=environment, stdout=output, stderr=output
            )
        self.wait(lambda: self.ready(), READY_SECONDS, "the console is not ready")
        self._fill(count)

    def _fill(self, count: int) -> None:
        with (
            self.connected() as connection,
            connection.cursor().copy(f"copy search_documents ({COLUMNS}) from stdin") as copy,
        ):
            for record, locale, title, body in documents(count):
                title, body = clean_text(title), clean_text(body)
                row = (ENTITY, FIRST_RECORD + record, locale, title, body, text_hash(title, body), True, 1)
                copy.write_row(row)
        self.wait(lambda: self.number("select count(*) from serving") == 1, READY_SECONDS, "no model serves")
        assert self.container.ai is not None
        self.container.ai.upkeep.repair()
        self.wait(lambda: self.indexes_stand(OLD), READY_SECONDS, "the indexes of the old model")

    @property
    def container(self) -> Container:
        """Our own parts on the same database, for starting switches and writing records."""
        if self._container is None:
            config = Config(
                database_url=LocalPostgres(self.home.path).url,
                redis_url=LocalValkey(self.home.path).url,
                secret_key=SecretStr("a secret key of the benchmark only"),
                changeover_env="test",
                ai_embeddings_servers={"stub": ServerSettings(url=self.stub_url, slots=SLOTS)},
                ai_embeddings_profiles=self.profiles,
                ai_embeddings_initial=OLD,
                ai_embeddings_index_memory_mb=16,
            )
            self._container = build_container(config)
        return self._container

    def _start_stub(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "evaluations.bench.stub_server", "--slots", str(SLOTS)]
        command += ["--port", str(self.stub_port)]
        child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        self.control(self.speed)
        return child

    def control(self, speed: dict[str, float]) -> None:
        """How fast the model is from now on."""
        self.speed = speed
        httpx.post(f"{self.stub_url}/control", json=speed).raise_for_status()

    def stop(self) -> None:
        """End everything and remove its data."""
        if self._looking is not None:
            self._looking.close()
        if self._container is not None:
            self._container.engine.dispose()
        if self.up is not None:
            self.up.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self.up.wait(120)
            self.up.kill()
            self.up.wait()
            end_leftovers(self.home)
        self.stub.kill()
        self.stub.wait()
        self.home.remove()

    # --- looking ---------------------------------------------------------------------------------------------------

    @contextmanager
    def connected(self) -> Iterator[psycopg.Connection[Any]]:
        with psycopg.connect(plain(LocalPostgres(self.home.path).url), autocommit=True, connect_timeout=3) as found:
            yield found

    def row(self, statement: str) -> tuple[Any, ...] | None:
        """The first row, or None also while the database is away."""
        try:
            if self._looking is None or self._looking.closed:
                self._looking = psycopg.connect(
                    plain(LocalPostgres(self.home.path).url), autocommit=True, connect_timeout=3
                )
            return self._looking.execute(statement).fetchone()
        except psycopg.OperationalError:
            if self._looking is not None:
                self._looking.close()
            self._looking = None
            return None

    def number(self, statement: str) -> float | None:
        row = self.row(statement)
        return None if row is None or row[0] is None else float(row[0])

    def ready(self) -> bool:
        """Whether `/readyz` answers 200."""
        try:
            return httpx.get(f"http://127.0.0.1:{self.port}/readyz", timeout=5).status_code == 200
        except httpx.HTTPError:
            return False

    def wait(self, condition: Callable[[], object], limit: float, what: str) -> float:
        """Seconds until ``condition`` holds; ends the benchmark when it takes longer than ``limit``."""
        begun = time.monotonic()
        while not condition():
            if time.monotonic() - begun > limit:
                raise SystemExit(f"{what}: not within {limit:.0f} s\n{self.tails()}")
            time.sleep(POLL_SECONDS)
        return time.monotonic() - begun

    def tails(self) -> str:
        """The end of every log."""
        logs = [self.output, *sorted((self.home.path / "logs").glob("*.log"))]
        return "\n".join(f"== {log.name}\n{log.read_text(errors='replace')[-1500:]}" for log in logs if log.exists())

    # --- killing ---------------------------------------------------------------------------------------------------

    def pids(self, part: str) -> list[int]:
        """The processes of a part's kind: all workers of `embeddings`, everything below the web server."""
        roots = [one.pid for one in recorded(self.home.path / "run") if one.name == part or one.name[:-2] == part]
        if part in ("web", "postgres"):
            found = []
            for root in roots:
                with suppress(psutil.Error):
                    children = psutil.Process(root).children(recursive=part == "web")
                    found += [child.pid for child in children] + ([root] if part == "web" else [])
            return found
        return roots

    def kill(self, part: str) -> None:
        """SIGKILL. Of PostgreSQL its postmaster; of the web server master and workers at once."""
        for pid in self.pids(part):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def restart_stub(self) -> None:
        """SIGKILL the stub, and start it again after what a supervisor takes."""
        self.stub.kill()
        self.stub.wait()
        time.sleep(SUPERVISED_PAUSE)
        self.stub = self._start_stub()

    # --- the switch ------------------------------------------------------------------------------------------------

    @property
    def serving(self) -> str:
        row = self.row("select model_key from serving")
        return "" if row is None else str(row[0])

    @property
    def other(self) -> str:
        """The model that does not serve."""
        return NEW if self.serving == OLD else OLD

    def phase(self) -> str:
        """The phase of the running switch, ``failed``, or empty when none is open."""
        row = self.row("select status, phase from switches where status in ('running', 'failed')")
        return "" if row is None else str(row[1] if row[0] == "running" else row[0])

    def begin(self, *, anew: bool) -> None:
        """Start a switch to the other model; ``anew`` forgets its vectors first."""
        ai = self.container.ai
        assert ai is not None
        target = self.other
        if anew and self.number(f"select count(*) from vector_spaces where model_key = '{target}'"):
            ai.upkeep.prune(target)
        ai.switching.start(SYSTEM, target)

    def forget(self, key: str, records: int) -> None:
        """Delete a model's vectors of the last ``records`` records, so that a switch to it has just these to embed."""
        with self.connected() as connection:
            connection.execute(
                """delete from embeddings e using vector_spaces v where v.id = e.space_id and v.model_key = %s
                and e.entity = %s and e.record_id > (select max(record_id) - %s from search_documents
                    where entity = %s and record_id < %s)""",
                (key, ENTITY, records, ENTITY, 2 * FIRST_RECORD),
            )

    def edit(self, number: int, words: str) -> bytes:
        """Write one document as an editor does; returns the hash of its text."""
        title = f"Edited {number}"
        with self.container.units() as unit:
            document = Document(ENTITY, 2 * FIRST_RECORD + number, "en", title, words, 1)
            self.container.outbox.put(unit, ENTITY, document.record_id, [document])
        return text_hash(clean_text(title), clean_text(words))

    def indexes_stand(self, key: str) -> bool:
        """Whether each entity with vectors of a model has its valid index."""
        return self.number(
            f"""select count(*) from (select distinct space_id, entity from embeddings e
                join vector_spaces v on v.id = e.space_id where v.model_key = '{key}') k
            where not exists (select 1 from pg_index i join pg_class c on c.oid = i.indexrelid
                where i.indisvalid and c.relname = 'emb_' || k.space_id || '_' || replace(k.entity, '.', '_'))"""
        ) == 0 and bool(self.number("select count(*) from embeddings"))

    def violations(self) -> dict[str, int]:
        """Documents lost, doubled and stale in the serving space, and rows that hold another text's vector."""
        found = {}
        with self.connected() as connection:
            space, key = connection.execute("select space_id, model_key from serving").fetchone() or (0, "")
            for name, statement in CHECKS.items():
                row = connection.execute(statement, {"space": space}).fetchone()
                found[name] = 0 if row is None else int(row[0])
            rows = connection.execute(
                """select d.title, d.body, v.declaration ->> 'window', e.n, e.embedding::real[] from embeddings e
                join vector_spaces v on v.id = e.space_id join search_documents d using (entity, record_id, locale)
                where e.space_id = %s and e.text_hash = d.text_hash""",
                (space,),
            ).fetchall()
        found["mixed"] = 0
        for title, body, window, n, stored in rows:
            right = vectors(key.split(":")[1], [split(title, body, int(window))[n].text])[0]
            found["mixed"] += not np.allclose(np.asarray(stored, dtype=np.float32), right, atol=1e-5)
        return found


@contextmanager
def field(count: int, log: Path) -> Iterator[Field]:
    """A console with the demo's data and ``count`` documents more; removed at the end."""
    with tempfile.TemporaryDirectory(prefix="changeover-bench-") as folder:
        Path(folder).chmod(0o755)
        made = Field(Path(folder), log)
        try:
            made.start(count)
            yield made
        finally:
            made.stop()
