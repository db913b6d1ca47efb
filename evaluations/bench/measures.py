"""What a run costs (processes from /proc, bytes and the raw costs from PostgreSQL) and whether its end is right."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from evaluations.bench.corpus import Corpus
from evaluations.bench.stub_server import DIMENSIONS, vectors

TICKS = os.sysconf("SC_CLK_TCK")
SAMPLE = 300
RAW_COLUMNS = 'entity, record_id, locale, space_id, n, "of", start, "end", text_hash, passage_hash, embedding'

_DONE = """select d.entity, d.record_id, d.locale, count(e.n) as present, max(e."of") as wanted
    from search_documents d left join embeddings e on (e.entity, e.record_id, e.locale) =
        (d.entity, d.record_id, d.locale) and e.space_id = %(space)s and e.text_hash = d.text_hash
    where d.embeddable group by 1, 2, 3"""
CHECKS = {
    "lost": f"select count(*) from ({_DONE}) s where s.wanted is null or s.present < s.wanted",
    "doubled": f"select count(*) from ({_DONE}) s where s.present > s.wanted",
    "stale": """select count(*) from embeddings e join search_documents d using (entity, record_id, locale)
        where e.space_id = %(space)s and e.text_hash <> d.text_hash""",
}


# --- processes ---------------------------------------------------------------------------------------------------


def _stat(pid: int) -> tuple[int, float] | None:
    """(parent, CPU seconds of the process and of its ended children)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1]), sum(map(int, fields[11:15])) / TICKS


def tree_cpu(roots: Iterable[int]) -> float:
    """CPU seconds of processes and all below them."""
    known = {int(name): found for name in os.listdir("/proc") if name.isdigit() and (found := _stat(int(name)))}
    total, waiting, seen = 0.0, list(roots), set[int]()
    while waiting:
        pid = waiting.pop()
        if pid in known and pid not in seen:
            seen.add(pid)
            total += known[pid][1]
            waiting += [child for child, (parent, _) in known.items() if parent == pid]
    return total


def machine_cpu() -> float:
    """CPU seconds of the whole machine, without idling and waiting."""
    fields = [int(number) for number in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return (sum(fields[:3]) + sum(fields[5:8])) / TICKS


def peak_mb(pid: int) -> float:
    """The largest resident size of a process so far, in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise LookupError(pid)


@dataclass
class Watch:
    """CPU seconds of named groups of processes, and how many cores others used meanwhile."""

    groups: dict[str, list[int]]

    def __post_init__(self) -> None:
        self.before = {name: tree_cpu(pids) for name, pids in self.groups.items()}
        self.own, self.all, self.begun = tree_cpu([os.getpid()]), machine_cpu(), time.perf_counter()

    def stop(self) -> dict[str, float]:
        """CPU seconds by group, and ``foreign_cores``."""
        seconds = time.perf_counter() - self.begun
        foreign = machine_cpu() - self.all - (tree_cpu([os.getpid()]) - self.own)
        used = {name: tree_cpu(pids) - self.before[name] for name, pids in self.groups.items()}
        return used | {"foreign_cores": max(foreign, 0.0) / seconds}


# --- the database ------------------------------------------------------------------------------------------------


def wal_position(connection: psycopg.Connection[Any]) -> int:
    """Bytes of log written since the cluster was made."""
    row = connection.execute("select pg_current_wal_lsn() - '0/0'::pg_lsn").fetchone()
    assert row is not None
    return int(row[0])


def state_bytes(connection: psycopg.Connection[Any], switch_id: int) -> int:
    """Bytes of the rows that a switch keeps about itself."""
    row = connection.execute(
        "select (select coalesce(sum(pg_column_size(c.*)), 0) from switch_chunks c where c.switch_id = %(id)s)"
        " + (select pg_column_size(s.*) from switches s where s.id = %(id)s)",
        {"id": switch_id},
    ).fetchone()
    assert row is not None
    return int(row[0])


def phases(connection: psycopg.Connection[Any], switch_id: int, begun: float) -> dict[str, float]:
    """Seconds from ``begun`` (of the database's clock) to the first chunk, between its first and last one, and so on;
    they add up to the wall time."""
    row = connection.execute(
        """select extract(epoch from min(c.started_at) filter (where c.phase = 'embeddings')),
            extract(epoch from max(c.finished_at) filter (where c.phase = 'embeddings')),
            extract(epoch from min(c.started_at) filter (where c.phase = 'indexes')),
            extract(epoch from max(c.finished_at) filter (where c.phase = 'indexes')),
            extract(epoch from max(s.finished_at))
        from switches s join switch_chunks c on c.switch_id = s.id where s.id = %s""",
        (switch_id,),
    ).fetchone()
    assert row is not None
    points = [begun, *map(float, row)]
    names = ("before", "embedding", "between", "indexing", "after")
    return {name: end - start for name, start, end in zip(names, points[:-1], points[1:], strict=True)}


def raw_costs(connection: psycopg.Connection[Any], space_id: int, memory_mb: int) -> tuple[float, float]:
    """(seconds of COPY, seconds of the index build) of the space's rows into a table without keys, committed."""
    connection.execute("create table raw_vectors (like embeddings including storage)")
    connection.commit()
    select = f"select {RAW_COLUMNS} from embeddings where space_id = {int(space_id)}"
    with connection.cursor().copy(f"copy ({select}) to stdout (format binary)") as copy:
        blocks = [bytes(block) for block in copy]
    begun = time.perf_counter()
    with connection.cursor().copy(f"copy raw_vectors ({RAW_COLUMNS}) from stdin (format binary)") as copy:
        for block in blocks:
            copy.write(block)
    connection.commit()
    copied = time.perf_counter()
    connection.execute(f"set maintenance_work_mem = '{int(memory_mb)}MB'")
    connection.execute(f"create index on raw_vectors using hnsw ((embedding::vector({DIMENSIONS})) vector_cosine_ops)")
    connection.commit()
    built = time.perf_counter()
    connection.execute("drop table raw_vectors")
    connection.commit()
    return copied - begun, built - copied


def violations(connection: psycopg.Connection[Any], space_id: int, model: str, corpus: Corpus) -> dict[str, int]:
    """Documents lost, doubled and stale by SQL, and sampled rows that hold another text's vector."""
    found = {}
    for name, statement in CHECKS.items():
        row = connection.execute(statement, {"space": space_id}).fetchone()
        assert row is not None
        found[name] = int(row[0])
    found["mixed"] = 0
    for key, passage in random.Random(1).sample(corpus.passages, min(SAMPLE, len(corpus.passages))):
        row = connection.execute(
            "select embedding::real[] from embeddings where (entity, record_id, locale, space_id, n)"
            " = (%s, %s, %s, %s, %s)",
            (key.entity, key.record_id, key.locale, space_id, passage.n),
        ).fetchone()
        right = vectors(model, [passage.text])[0]
        found["mixed"] += row is None or not np.allclose(np.asarray(row[0], dtype=np.float32), right, atol=1e-5)
    return found
