"""`make bench-docs`: what ingesting documentation costs beside the time that the embedder alone is busy.

`flask docs index` and the real worker processes, a loop by hand, and with SIZE=full LlamaIndex, LangChain and Haystack,
one after the other in every round: the same passages, the same sleeping stub with two slots, the same PostgreSQL, a
fresh database each. The frameworks live in an environment of their own, made once from `rivals/requirements.txt`; they
are handed passages that are cut already.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from app.container import build_container
from app.embeddings.identity import PROBE_TEXT
from evaluations.bench import measures
from evaluations.bench.docs_corpus import write_handbook, write_passages
from evaluations.bench.laboratory import SLOTS, Laboratory, laboratory, pids, plain, scalar, wait, workers
from evaluations.bench.report import BUILD, ROOT, Figure, load, publish
from evaluations.bench.stub_server import digest
from tests.fixtures.databases import migrate
from tests.fixtures.servers import create_database, drop_database

SIZES = {"small": (1_000, 3, False), "full": (10_000, 5, True)}
"""Passages, rounds, and whether the frameworks take part."""
SPEED = {"a": 0.020, "b": 0.002}
"""Seconds of a call and of each text in it: 381 texts a second and slot in calls of 32."""
RIVALS = ("llamaindex", "langchain", "haystack")
WAYS = ("default", "best")
HERE = Path(__file__).resolve().parent
TEMPLATE = "docs_template"
LIMIT_SECONDS = 1_200
STORED = "select count(*) from embeddings where entity = 'documentation.developer'"
"""Asked again and again, so that it may cost next to nothing."""
EMBEDDED = """select count(*) from embeddings e join search_documents d using (entity, record_id, locale)
    where e.entity = 'documentation.developer' and e.text_hash = d.text_hash"""
INDEXED = """select count(*) from pg_index i join pg_class c on c.oid = i.indexrelid
    where c.relname like 'emb\\_%documentation\\_developer' and i.indisvalid"""


@dataclass
class DocsBench:
    """What all of a benchmark share."""

    lab: Laboratory
    handbook: Path
    passages: list[str]
    rivals_python: Path | None
    file: Path
    runs: list[Run] = field(default_factory=list)


@dataclass
class Run:
    """One contestant in one round. ``rows`` is what stood in the database at its end, by its own word or by ours."""

    name: str
    wall: float
    busy: float
    rows: int
    calls: int
    texts: int
    largest: int
    repeats: int
    more: dict[str, float] = field(default_factory=dict)

    def line(self) -> str:
        return (
            f"{self.name:20} {self.wall:7.2f} s, embedder busy {self.busy:.2f} s, ratio {self.wall / self.busy:.3f}, "
            f"{self.calls} calls of at most {self.largest}, {self.rows} rows, {self.repeats} repeats, "
            f"CPU {self.more['cpu']:.1f} + {self.more['cpu_postgres']:.1f} s, "
            f"foreign cores {self.more['foreign_cores']:.2f}"
        )


def run_ours(bench: DocsBench, name: str) -> Run:
    """Index the handbook with the workers running; the wall ends when every passage has its vector."""
    lab = bench.lab
    url = create_database(lab.postgres.url, name, TEMPLATE)
    parts = build_container(lab.config(url))
    assert parts.documentation is not None
    try:
        with workers(lab, url, name) as console, psycopg.connect(plain(url), autocommit=True) as connection:
            lab.control(**SPEED)
            watch = measures.Watch({"cpu": pids(console), "cpu_postgres": _postgres(lab)})
            begun, own = time.perf_counter(), time.process_time()
            report = parts.documentation.index(parts.units, bench.handbook, ("developer",))
            written = time.perf_counter() - begun
            if report.faults:
                raise SystemExit(f"left out: {report.faults[0]}")
            wanted = len(bench.passages)
            wait(lambda: scalar(connection, STORED) >= wanted, LIMIT_SECONDS, console)
            wall = time.perf_counter() - begun
            used, stats = watch.stop(), lab.stats()
            used["cpu"] += time.process_time() - own
            wait(lambda: scalar(connection, INDEXED) >= 1, LIMIT_SECONDS, console)
            more = {"written": written, "indexed": time.perf_counter() - begun, **used}
            more["first_call"] = stats["begun"] - begun  # the stub's clock is the machine's, too
            rows = int(scalar(connection, EMBEDDED))
    finally:
        parts.engine.dispose()
        drop_database(lab.postgres.url, name)
    stats["texts"] -= stats["repeated"].pop(digest(PROBE_TEXT), 1)
    return _run("changeover", {"wall": wall, "rows": rows}, stats, more)


def run_other(bench: DocsBench, label: str, name: str, command: Sequence[str]) -> Run:
    """Run a process that prints its figures as JSON, with a database that has nothing but the extension."""
    lab = bench.lab
    url = plain(create_database(lab.postgres.url, name))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create extension if not exists vector")
    lab.control(**SPEED)
    environment = {"PATH": "/usr/bin:/bin", "HAYSTACK_TELEMETRY_ENABLED": "False", "PYTHONPATH": str(ROOT)}
    if bench.rivals_python and command[0] == str(bench.rivals_python):
        del environment["PYTHONPATH"]
    words = [one.format(database=url, url=lab.stub_url) for one in command]
    watch = measures.Watch({"cpu_postgres": _postgres(lab)})
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{label} failed:\n{done.stderr[-3000:]}")
    used, stats = watch.stop(), lab.stats()
    drop_database(lab.postgres.url, name)
    own = json.loads(done.stdout.splitlines()[-1])
    return _run(label, own, stats, {**used, "cpu": own["cpu"]})


def _run(label: str, own: dict[str, Any], stats: dict[str, Any], more: dict[str, float]) -> Run:
    repeats = sum(count - 1 for count in stats["repeated"].values())
    return Run(
        label, own["wall"], stats["busy_seconds"], own["rows"], stats["calls"], stats["texts"],
        stats["largest_batch"], repeats, more,
    )  # fmt: skip


def contestants(bench: DocsBench) -> list[tuple[str, Callable[[str], Run]]]:
    """Every contestant with what runs it in a database of a name."""
    loop = [sys.executable, "-m", "evaluations.bench.docs_loop", "--database", "{database}", "--url", "{url}",
            "--model", "loop", "--folder", str(bench.handbook)]  # fmt: skip
    found: list[tuple[str, Callable[[str], Run]]] = [
        ("changeover", lambda name: run_ours(bench, name)),
        ("loop", lambda name: run_other(bench, "loop", name, loop)),
    ]
    if bench.rivals_python is not None:
        for rival in RIVALS:
            for way in WAYS:
                script = str(HERE / "rivals" / f"with_{rival}.py")
                words = [str(bench.rivals_python), script, "{database}", "{url}", way, str(bench.file)]
                label = f"{rival}_{way}"
                found.append(
                    (label, lambda name, label=label, words=words: run_other(bench, label, name, words))  # type: ignore[misc]
                )
    return found


def _postgres(lab: Laboratory) -> list[int]:
    assert lab.postgres._child is not None
    return [lab.postgres._child.pid]


def make_template(lab: Laboratory) -> None:
    """A migrated database in which a model serves and nothing is stored; runs copy it."""
    url = create_database(lab.postgres.url, TEMPLATE)
    migrate(url)
    parts = build_container(lab.config(url))
    assert parts.ai is not None
    parts.ai.upkeep.set_up()
    parts.engine.dispose()


def rivals_environment() -> Path:
    """The Python of the frameworks' environment; made anew when what is to be installed has changed."""
    home, wanted = BUILD / "rivals", HERE / "rivals" / "requirements.txt"
    python, mark = home / "bin" / "python", home / "installed.txt"
    if not mark.exists() or mark.read_text() != wanted.read_text():
        venv.create(home, clear=True, with_pip=True)
        subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "-r", str(wanted)],
            check=True,
        )
        mark.write_text(wanted.read_text())
    return python


def figures(runs: Sequence[Run], passages: int) -> list[Figure]:
    """Ratios of each contestant, what they are made of, and the counts that must be zero."""
    found: list[Figure] = []
    names = list(dict.fromkeys(run.name for run in runs))
    by_name = {name: [run for run in runs if run.name == name] for name in names}
    for name, own in by_name.items():
        found += [
            Figure(f"wall_over_busy_{name}", [run.wall / run.busy for run in own], "ratio", "lower"),
            Figure(f"wall_over_ideal_{name}", [run.wall * SLOTS / run.busy for run in own], "ratio", "lower"),
            Figure(f"wall_{name}", [run.wall for run in own], "s", "lower"),
            Figure(f"busy_{name}", [run.busy for run in own], "s"),
            Figure(f"calls_{name}", [run.calls for run in own], "calls", "lower"),
            Figure(f"cpu_{name}", [run.more["cpu"] for run in own], "s", "lower"),
            Figure(f"cpu_postgres_{name}", [run.more["cpu_postgres"] for run in own], "s", "lower"),
        ]
    ours, loop = by_name["changeover"], by_name["loop"]
    found += [
        Figure("wall_over_loop", [a.wall / b.wall for a, b in zip(ours, loop, strict=True)], "ratio", "lower"),
        Figure("files_to_first_call", [run.more["first_call"] for run in ours], "s", "lower"),
        Figure("files_to_rows", [run.more["written"] for run in ours], "s", "lower"),
        Figure("files_to_index", [run.more["indexed"] for run in ours], "s", "lower"),
        Figure("missing_passages", [float(abs(passages - run.rows)) for run in runs], "count", must=0),
        Figure("repeated_texts", [float(run.repeats) for run in ours], "count", must=0),
    ]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluations.bench.bench_docs")
    parser.add_argument("--size", choices=list(SIZES), default="small")
    parser.add_argument("--rounds", type=int, help="rounds in place of the size's")
    parser.add_argument("--passages", type=int, help="passages in place of the size's")
    options = parser.parse_args()
    passages, rounds, with_rivals = SIZES[options.size]
    passages, rounds = options.passages or passages, options.rounds or rounds
    python = rivals_environment() if with_rivals else None
    with laboratory() as lab:
        handbook, file = lab.folder / "handbook", lab.folder / "passages.jsonl"
        bench = DocsBench(lab, handbook, write_handbook(handbook, passages), python, file)
        write_passages(file, bench.passages)
        make_template(lab)
        loads = []
        for turn in range(rounds):
            order = contestants(bench)
            for label, run in order[turn % len(order) :] + order[: turn % len(order)]:
                made = run(f"docs_{label}_{turn}")
                print(made.line(), flush=True)
                bench.runs.append(made)
                loads.append(load())
    notes = [
        f"size {options.size}: {passages} passages, {rounds} rounds, a stub of {SLOTS} slots at {SPEED}",
        "wall_over_busy: wall time over the seconds for which slots of the embedder were held, both slots added up",
        "wall_over_ideal: the same with the busy seconds divided by the slots",
    ]
    foreign = sorted(run.more["foreign_cores"] for run in bench.runs)
    machine = {"load": load(), "most_load": max(loads), "foreign_cores": round(foreign[len(foreign) // 2], 2)}
    return publish("docs", figures(bench.runs, passages), machine, notes)


if __name__ == "__main__":
    sys.exit(main())
