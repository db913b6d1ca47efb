"""`make bench-switch`: what a switch costs beside what the model, the copy and the index alone cost.

Every run has a database of its own with the same documents, fresh worker processes and a sleeping stub server with two
slots; the ideal is measured in the same run: the time for which the stub was busy, divided by its slots, plus a raw
COPY of the same rows, plus a raw index build. `asyncio_loop` runs on the same database, before the switch in every
second run and after it in the others.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg

from app.container import build_container
from app.core.contracts.actor import SYSTEM
from app.embeddings import store
from app.embeddings.identity import PROBE_TEXT
from evaluations.bench import measures
from evaluations.bench.corpus import Corpus
from evaluations.bench.laboratory import MEMORY_MB, NEW, Laboratory, laboratory, pids, plain, scalar, wait, workers
from evaluations.bench.report import ROOT
from evaluations.bench.stub_server import digest
from evaluations.bench.switch_figures import Run, publish_runs
from tests.fixtures import console as consoles
from tests.fixtures.console import Console
from tests.fixtures.servers import create_database, drop_database

SPEEDS = {50: {"a": 0.020, "b": 0.0384}, 2000: {"a": 0.004, "b": 0.000875}}
"""Texts per second of both slots together: the slow one in calls of half a second, the fast one in batches of 32."""
SIZES = {
    "small": [(1_000, 50, 3), (1_000, 2000, 3)],
    "full": [(10_000, 50, 1), (10_000, 2000, 5), (100_000, 2000, 3)],
}


def measure(lab: Laboratory, documents: int, speed: int, number: int) -> Run:
    """One switch and one loop over the same documents, each with the stub to itself."""
    corpus = lab.corpus(documents)
    name = f"run_{documents}_{speed}_{number}"
    url = create_database(lab.postgres.url, name, f"documents_{documents}")
    loop_first = number % 2 == 1
    loop = run_loop(lab, url, speed) if loop_first else {}
    run = Run(documents, speed, len(corpus.passages))
    with workers(lab, url, name) as console:
        run_switch(lab, url, console, corpus, run)
    loop = loop or run_loop(lab, url, speed)
    run.values |= {f"loop_{name}": value for name, value in loop.items()}
    drop_database(lab.postgres.url, name)
    return run


def run_switch(lab: Laboratory, url: str, console: Console, corpus: Corpus, run: Run) -> None:
    """Start the switch, look at its status until it has ended, and measure all there is."""
    parts = build_container(lab.config(url))
    assert parts.ai is not None
    switching = parts.ai.switching
    processes = pids(console)
    postgres = lab.postgres._child
    assert postgres is not None
    with parts.units() as unit:
        allowed = {digest(text) for text in store.sample_texts(unit.session)}
    with psycopg.connect(plain(url), autocommit=True) as connection:
        lab.control(**SPEEDS[run.speed])
        wal = measures.wal_position(connection)
        watch = measures.Watch({"workers": processes, "postgres": [postgres.pid], "stub": [lab.stub.pid]})
        begun = scalar(connection, "select extract(epoch from clock_timestamp())")
        switch = switching.start(SYSTEM, NEW)
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
            "wall": scalar(connection, f"select extract(epoch from finished_at) from switches where id = {switch.id}")
            - begun,
            "state": measures.state_bytes(connection, switch.id),
            "peak": max(measures.peak_mb(process.pid) for process in console.processes["worker-embeddings"]),
            "peak_any": max(map(measures.peak_mb, processes)),
        }
        run.values |= measures.phases(connection, switch.id, begun)
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

    wait(ended, limit, console)
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
        "canaries": probes * SPEEDS[run.speed]["b"],
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
    parser.add_argument("--workers", type=int, default=2, help="processes of the queue embeddings")
    parser.add_argument("--plan", help="for example 10000x2000x3, in place of --size: documents, texts/s, runs")
    options = parser.parse_args()
    rows = SIZES[options.size]
    if options.plan:
        rows = [tuple(map(int, part.split("x"))) for part in options.plan.split(",")]  # type: ignore[misc]
    runs: list[Run] = []
    consoles.WORKERS["worker-embeddings"] = ("embeddings", options.workers)
    with laboratory() as lab:
        lab.workers = options.workers
        for documents, speed, number in plan(rows):
            run = measure(lab, documents, speed, number)
            runs.append(run)
            print(run.line(), flush=True)
    return publish_runs(runs, "custom" if options.plan else options.size)


if __name__ == "__main__":
    sys.exit(main())
