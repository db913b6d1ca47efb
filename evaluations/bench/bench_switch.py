"""`make bench-switch`: what a switch costs beside what the model, the copy and the index alone cost.

Every run has a database of its own with the same documents, fresh worker processes and a sleeping stub server with two
slots; the ideal is measured in the same run: the time for which the stub was busy, divided by its slots, plus a raw
COPY of the same rows, plus a raw index build. `asyncio_loop` runs on the same database, before the switch in every
second run and after it in the others.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
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
from app.core.contracts.actor import SYSTEM
from app.core.documents.text import document_text
from app.embeddings import store
from app.embeddings.identity import PROBE_TEXT
from app.embeddings.indexes import pgvector
from app.embeddings.passages import passage_hash
from app.embeddings.store import NewRow
from app.local.home import Home
from app.local.postgres import LocalPostgres
from app.local.valkey import LocalValkey
from evaluations.bench import measures
from evaluations.bench.corpus import ENTITY, Corpus, load
from evaluations.bench.report import ROOT
from evaluations.bench.stub_server import DIMENSIONS, digest, vectors
from evaluations.bench.switch_figures import Run, publish_runs
from tests.fixtures.console import Console
from tests.fixtures.databases import migrate
from tests.fixtures.servers import create_database, drop_database

SLOTS = 2
MEMORY_MB = 512
SPEEDS = {50: {"a": 0.020, "b": 0.0384}, 2000: {"a": 0.004, "b": 0.000875}}
"""Texts per second of both slots together: the slow one in calls of half a second, the fast one in batches of 32."""
SIZES = {
    "small": [(1_000, 50, 3), (1_000, 2000, 3)],
    "full": [(10_000, 50, 1), (10_000, 2000, 5), (100_000, 2000, 3)],
}
OLD, NEW = "openai_compatible:old", "openai_compatible:new"
PROFILE = (
    '[profiles."{key}"]\ndimensions = {size}\nserver = "stub"\nlabel = "{key}"\ndescription = "of the benchmark"\n'
)
POLL_SECONDS = 0.25
STATUS_CALLS = 50
FOLDER_PREFIX = "changeover-bench-"


@dataclass
class Laboratory:
    """The servers of a whole benchmark, and the databases that runs are copied from."""

    folder: Path
    postgres: LocalPostgres
    redis_url: str
    stub: subprocess.Popen[bytes]
    stub_url: str
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
            embeddings_workers=SLOTS,
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
            "EMBEDDINGS_WORKERS": str(SLOTS),
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


# --- one run -----------------------------------------------------------------------------------------------------


def measure(lab: Laboratory, documents: int, speed: int, number: int) -> Run:
    """One switch and one loop over the same documents, each with the stub to itself."""
    corpus = lab.corpus(documents)
    name = f"run_{documents}_{speed}_{number}"
    url = create_database(lab.postgres.url, name, f"documents_{documents}")
    loop_first = number % 2 == 1
    loop = run_loop(lab, url, speed) if loop_first else {}
    run = Run(documents, speed, len(corpus.passages))
    with _workers(lab, url, name) as console:
        run_switch(lab, url, console, corpus, run)
    loop = loop or run_loop(lab, url, speed)
    run.values |= {f"loop_{name}": value for name, value in loop.items()}
    drop_database(lab.postgres.url, name)
    return run


@contextmanager
def _workers(lab: Laboratory, url: str, name: str) -> Iterator[Console]:
    """Fresh worker processes and scheduler, all of them waiting for work."""
    console = Console(url, lab.redis_url, lab.environment, lab.folder / "logs" / name)
    try:
        console.start(web=False)
        wanted = sum(len(part) for part in console.processes.values())
        with psycopg.connect(plain(url), autocommit=True) as connection:
            _wait(lambda: _number(connection, "select count(*) from processes") >= wanted, 120, console)
        time.sleep(1.0)
        yield console
    finally:
        console.stop()


def run_switch(lab: Laboratory, url: str, console: Console, corpus: Corpus, run: Run) -> None:
    """Start the switch, look at its status until it has ended, and measure all there is."""
    parts = build_container(lab.config(url))
    assert parts.ai is not None
    switching = parts.ai.switching
    pids = [process.pid for part in console.processes.values() for process in part]
    postgres = lab.postgres._child
    assert postgres is not None
    with parts.units() as unit:
        allowed = {digest(text) for text in store.sample_texts(unit.session)}
    with psycopg.connect(plain(url), autocommit=True) as connection:
        lab.control(**SPEEDS[run.speed])
        wal = measures.wal_position(connection)
        watch = measures.Watch({"workers": pids, "postgres": [postgres.pid], "stub": [lab.stub.pid]})
        begun = _number(connection, "select extract(epoch from clock_timestamp())")
        monotonic = time.monotonic()
        switch = switching.start(SYSTEM, NEW)
        run.values["start"] = time.monotonic() - monotonic
        run.status = _followed(switching, console, 120 + 6 * len(corpus.passages) / run.speed)
        used = watch.stop()
        run.values |= {"wal": measures.wal_position(connection) - wal, "foreign_cores": used.pop("foreign_cores")}
        run.values |= {f"cpu_{name}": seconds for name, seconds in used.items()}
        ended = switching.find(switch.id)
        assert ended is not None
        if ended.status != "activated":
            raise SystemExit(f"the switch ended as {ended.status}: {ended.error_code}\n{console.tails()}")
        stats = lab.stats()
        run.values |= {
            "wall": _number(connection, f"select extract(epoch from finished_at) from switches where id = {switch.id}")
            - begun,
            "before": stats["begun"] - monotonic,
            "embedding": stats["ended"] - stats["begun"],
            "state": measures.state_bytes(connection, switch.id),
            "peak": max(measures.peak_mb(process.pid) for process in console.processes["worker-embeddings"]),
            "peak_any": max(map(measures.peak_mb, pids)),
        }
        run.phases = ended.actuals.get("phases", {})
        _count_texts(run, stats, corpus, allowed)
        run.counts |= measures.violations(connection, ended.to_space_id or 0, "new", corpus)
    console.stop()
    with psycopg.connect(plain(url)) as raw:
        run.values["copy"], run.values["build"] = measures.raw_costs(raw, ended.to_space_id or 0, MEMORY_MB)
    parts.engine.dispose()


def _followed(switching: Any, console: Console, limit: float) -> list[float]:
    """Seconds of status calls, four a second as a page never would, until the switch has ended."""
    seconds: list[float] = []

    def ended() -> bool:
        begun = time.perf_counter()
        status = switching.status()
        if status.status == "running":
            seconds.append(time.perf_counter() - begun)
        return status.status != "running"

    _wait(ended, limit, console)
    return seconds


def _count_texts(run: Run, stats: dict[str, Any], corpus: Corpus, samples: set[str]) -> None:
    """A text may come as often as there are passages with it, and once more where the preview measured with it."""
    probes = stats["repeated"].pop(digest(PROBE_TEXT), 1)
    repeats = 0
    for text, count in stats["repeated"].items():
        repeats += max(0, count - corpus.occurrences[text] - (text in samples))
    run.counts["repeats"] = repeats
    run.values |= {
        "busy": stats["busy_seconds"],
        "nominal": stats["nominal_seconds"],
        "calls": stats["calls"],
        "largest_batch": stats["largest_batch"],
        "texts": stats["texts"] - probes,
        "probes": probes,
        "needed": len(corpus.occurrences),
    }


def run_loop(lab: Laboratory, url: str, speed: int) -> dict[str, float]:
    """The opponent's figures, with those of the stub during it."""
    lab.control(**SPEEDS[speed])
    command = [sys.executable, "-m", "evaluations.bench.asyncio_loop", "--database", plain(url)]
    command += ["--url", lab.stub_url, "--model", "new", "--memory-mb", str(MEMORY_MB)]
    with psycopg.connect(plain(url), autocommit=True) as connection:
        wal = measures.wal_position(connection)
        watch = measures.Watch({})
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        foreign = watch.stop()["foreign_cores"]
        if done.returncode:
            raise SystemExit(f"the loop failed\n{done.stderr}")
        found: dict[str, float] = json.loads(done.stdout)
        found |= {"wal": measures.wal_position(connection) - wal, "busy": lab.stats()["busy_seconds"]}
        found |= {"foreign_cores": foreign}
        connection.execute("drop table loop_vectors")
    return found


def _number(connection: psycopg.Connection[Any], statement: str) -> float:
    row = connection.execute(statement).fetchone()
    assert row is not None
    return float(row[0])


def _wait(condition: Any, limit: float, console: Console) -> None:
    until = time.monotonic() + limit
    while not condition():
        if time.monotonic() > until:
            raise SystemExit(f"not done within {limit:.0f} s\n{console.tails()}")
        time.sleep(POLL_SECONDS)


# --- all of them -------------------------------------------------------------------------------------------------


def plan(rows: Sequence[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """(documents, speed, number) of every run, the speeds of one size in turn."""
    for documents in dict.fromkeys(size for size, _, _ in rows):
        same = [(speed, runs) for size, speed, runs in rows if size == documents]
        for number in range(max(runs for _, runs in same)):
            yield from ((documents, speed, number) for speed, runs in same if number < runs)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluations.bench.bench_switch")
    parser.add_argument("--size", choices=sorted(SIZES), default="small")
    parser.add_argument("--plan", help="for example 10000x2000x3, in place of --size: documents, texts/s, runs")
    options = parser.parse_args()
    rows = SIZES[options.size]
    if options.plan:
        rows = [tuple(map(int, part.split("x"))) for part in options.plan.split(",")]  # type: ignore[misc]
    runs: list[Run] = []
    with laboratory() as lab:
        for documents, speed, number in plan(rows):
            run = measure(lab, documents, speed, number)
            runs.append(run)
            print(run.line(), flush=True)
    return publish_runs(runs, "custom" if options.plan else options.size)


if __name__ == "__main__":
    sys.exit(main())
