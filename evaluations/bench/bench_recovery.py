"""`make bench-recovery`: how long a switch stands still when a process is killed, per kind of process.

The console runs as `make run` starts it (its supervisor, durable PostgreSQL and Valkey, web server, workers, scheduler)
on a slow stub. Each kind is killed with SIGKILL at random moments of a running switch; measured is the time from the
kill until what that process does for the switch happens again. At the end of every switch all vectors are counted.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import redis

from app.local.lifetime import raise_on_stop
from app.local.valkey import LocalValkey
from evaluations.bench.recovery_field import FAST, LIMIT_SECONDS, POLL_SECONDS, READY_SECONDS, SLOW, Field
from evaluations.bench.recovery_field import field as console
from evaluations.bench.report import BUILD, Figure, load, publish

SIZES = {"small": 3, "full": 20}
DOCUMENTS = 3000
GOAL_SECONDS = 15.0
SEED = 20_261_130
COUNTS = ("lost", "doubled", "stale", "mixed", "failed")

ALONE = ("last_chunk", "index_build")
"""Kinds that start a switch of their own for every kill."""
LAST_RECORDS = 45
CHUNKS = "select coalesce(sum(attempt), 0) || ' ' || coalesce(sum(done), 0) from switch_chunks"
STEP = "select xmin::text || ' ' || step from switches order by id desc limit 1"
HELD = "select id, attempt from switch_chunks where status = 'leased'"
PENDING = "select count(*) from switch_chunks c join switches s on s.id = c.switch_id where s.status = 'running'"


@dataclass
class Bench:
    """What was measured, in seconds by kind."""

    console: Field
    times: int
    rng: random.Random = field(default_factory=lambda: random.Random(SEED))
    seconds: dict[str, list[float]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    switches: int = 0
    edits: int = 0

    # --- one kind --------------------------------------------------------------------------------------------------

    def kinds(self) -> dict[str, Callable[[], dict[str, float]]]:
        """Every kind of process with what one kill of it measures."""
        return {
            "worker_embeddings": lambda: self._until_changed("worker_embeddings", "worker-embeddings", CHUNKS),
            "worker_switch": lambda: self._until_changed("worker_switch", "worker-embeddings-switch", STEP),
            "worker_default": self._default,
            "scheduler": self._scheduler,
            "web": self._web,
            "embedding_server": self._server,
            "postgres": lambda: self._until_changed("postgres", "postgres", CHUNKS),
            "valkey": lambda: self._until_changed("valkey", "valkey", STEP),
            "valkey_flushed": self._flushed,
            "index_build": self._index_build,
            "last_chunk": self._last_chunk,
        }

    def run(self, only: set[str]) -> None:
        """Kill every kind as often as the size says."""
        for name, kill in self.kinds().items():
            if only and name not in only:
                continue
            while len(self.seconds.get(name, [])) < self.times:
                if name not in ALONE:
                    self.running_switch()
                    time.sleep(self.rng.uniform(0.0, 4.0))
                for figure, seconds in kill().items():
                    self.seconds.setdefault(figure, []).append(seconds)
                self.console.wait(self.console.ready, READY_SECONDS, "not ready again")
            values = self.seconds[name]
            figures = f"median {statistics.median(values):.1f} s, max {max(values):.1f} s, load {load()}"
            print(f"{name}: {figures}; counts so far {dict(self.counts)}", flush=True)
        self.console.control(FAST)
        self._to_the_end()

    def running_switch(self) -> None:
        """A switch that embeds, and has some work left."""
        while True:
            phase = self.console.phase()
            if phase == "embeddings" and (self.console.number(f"{PENDING} and c.status <> 'done'") or 0) > 12:
                return
            if phase:
                self._to_the_end()
            self._begin(anew=True)
            self.console.control(SLOW)
            self.console.wait(lambda: self.console.number(f"{PENDING} and c.done > 0"), LIMIT_SECONDS, "nothing done")

    def _begin(self, *, anew: bool, speed: dict[str, float] = FAST) -> None:
        self.console.control(speed)
        self.console.begin(anew=anew)
        self.switches += 1

    def _to_the_end(self) -> None:
        """Let the switch end, and count what is wrong with its vectors."""
        if not self.console.phase():
            return
        self.console.control(FAST)
        self.console.wait(lambda: self.console.phase() in ("", "failed"), 300, "the switch does not end")
        if self.console.phase() == "failed":
            self.counts["failed"] += 1
            raise SystemExit(
                f"the switch failed: {self.console.row('select error_code from switches order by id desc')}"
            )
        lag = "select count(*) from index_events i, index_cursors c where (i.xid, i.id) > (c.xid, c.event_id)"
        self.console.wait(lambda: self.console.number(lag) == 0, LIMIT_SECONDS, "events are left")
        self.console.wait(lambda: self.console.indexes_stand(self.console.serving), LIMIT_SECONDS, "indexes")
        self.counts.update(self.console.violations())

    # --- what each waits for ---------------------------------------------------------------------------------------

    def _timed(self, kill: Callable[[], object], moved: Callable[[], object]) -> float:
        """Seconds from the kill until ``moved``, or the limit."""
        begun = time.monotonic()
        kill()
        while not moved() and time.monotonic() - begun < LIMIT_SECONDS:
            time.sleep(POLL_SECONDS)
        return time.monotonic() - begun

    def _until_changed(self, figure: str, part: str, statement: str) -> dict[str, float]:
        """Until the ledger reads differently from right after the kill."""
        before: list[object] = []

        def moved() -> bool:
            row = self.console.row(statement)
            if row is not None and not before:
                before.append(row)
            return row is not None and row != before[0]

        return {figure: self._timed(lambda: self.console.kill(part), moved)}

    def _held(self, figure: str, part: str) -> dict[str, float]:
        """Until the chunks that the killed processes held are taken again: a lease's end and who wakes them.

        Nothing when none was held at the kill: the moment was too late.
        """
        self.console.kill(part)
        begun = time.monotonic()
        with self.console.connected() as connection:
            held = connection.execute(HELD).fetchall()
        if not held:
            return {}
        taken = " or ".join(f"(id = {key} and (attempt > {attempt} or status = 'done'))" for key, attempt in held)
        statement = f"select count(*) from switch_chunks where {taken}"
        self._timed(lambda: None, lambda: self.console.number(statement) == len(held))
        return {figure: time.monotonic() - begun}

    def _both_filled(self) -> None:
        """No switch is open, and the vectors of both models stand."""
        if self.console.phase():
            self._to_the_end()
        rows = "select count(*) from embeddings e join vector_spaces v on v.id = e.space_id where v.model_key = "
        kept = self.console.number(f"{rows}'{self.console.other}'") or 0
        if kept < DOCUMENTS:
            self._begin(anew=True)
            self._to_the_end()

    def _last_chunk(self) -> dict[str, float]:
        """Both workers of `embeddings`, while one of them has the only chunk that is left: nothing else can move."""
        self._both_filled()
        self.console.forget(self.console.other, LAST_RECORDS)
        self._begin(anew=False, speed=SLOW)
        leased = f"{PENDING} and c.phase = 'embeddings' and c.status = 'leased' and c.done > 0"
        pending = f"{PENDING} and c.phase = 'embeddings' and c.status = 'pending'"

        def only_one_left() -> bool:
            return bool(self.console.number(leased)) and self.console.number(pending) == 0

        self.console.wait(lambda: only_one_left() or not self.console.phase(), LIMIT_SECONDS, "no last chunk")
        time.sleep(self.rng.uniform(0.0, 2.0))
        found = self._held("last_chunk", "worker-embeddings")
        self._to_the_end()
        return found

    def _index_build(self) -> dict[str, float]:
        """The worker of `embeddings-index` amid a build. Both models' vectors stand, so indexes come at once."""
        self._both_filled()
        self._begin(anew=False)
        leased = "select count(*) from switch_chunks where phase = 'indexes' and status = 'leased'"
        self.console.wait(lambda: self.console.number(leased), LIMIT_SECONDS, "no index build was seen")
        time.sleep(self.rng.uniform(0.0, 1.0))
        found = self._held("index_build", "worker-embeddings-index")
        self._to_the_end()
        return found

    def _default(self) -> dict[str, float]:
        """Until an edit made at the kill has its new vector under the serving model."""
        self.edits += 1
        wanted = self.console.edit(self.edits, f"words of edit {self.edits} {self.rng.random()}").hex()
        statement = (
            "select count(*) from embeddings e join serving s on s.space_id = e.space_id "
            f"where e.text_hash = decode('{wanted}', 'hex')"
        )
        seconds = self._timed(lambda: self.console.kill("worker-default"), lambda: self.console.number(statement))
        return {"worker_default": seconds}

    def _scheduler(self) -> dict[str, float]:
        """Until another scheduler has ticked."""
        old = self.console.pids("schedule")
        statement = f"select count(*) from processes where kind = 'scheduler' and pid not in ({old[0]})"
        statement += " and seen_at > clock_timestamp() - interval '3 seconds'"
        seconds = self._timed(lambda: self.console.kill("schedule"), lambda: self.console.number(statement))
        return {"scheduler": seconds}

    def _web(self) -> dict[str, float]:
        """Until `/readyz` answers 200."""
        return {"web": self._timed(lambda: self.console.kill("web"), self.console.ready)}

    def _server(self) -> dict[str, float]:
        """Until a batch is written again; the server was away for a second and its own start."""
        before: list[object] = []

        def kill() -> None:
            self.console.restart_stub()
            before.append(self.console.row(CHUNKS))

        return {"embedding_server": self._timed(kill, lambda: self.console.row(CHUNKS) != before[0])}

    def _flushed(self) -> dict[str, float]:
        """`FLUSHALL` right before a SIGKILL: it comes back empty."""

        def flush_and_kill() -> None:
            redis.Redis.from_url(LocalValkey(self.console.home.path).url).flushall()
            self.console.kill("valkey")

        before = self.console.row(STEP)
        seconds = self._timed(flush_and_kill, lambda: self.console.row(STEP) not in (None, before))
        return {"valkey_flushed": seconds}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluations.bench.bench_recovery")
    parser.add_argument("--size", choices=sorted(SIZES), default="small")
    parser.add_argument("--only", default="", help="kinds, with commas between them")
    options = parser.parse_args()
    raise_on_stop()
    BUILD.mkdir(parents=True, exist_ok=True)
    with console(DOCUMENTS, BUILD / "recovery.log") as running:
        bench = Bench(running, SIZES[options.size])
        bench.run({name for name in options.only.split(",") if name})
    figures = []
    for name, seconds in bench.seconds.items():
        figures.append(Figure(f"{name}_median", [statistics.median(seconds)], "s", "lower", GOAL_SECONDS))
        figures.append(Figure(f"{name}_max", [max(seconds)], "s", "lower", GOAL_SECONDS))
    figures += [Figure(name, [bench.counts[name]], "count", "lower", must=0) for name in COUNTS]
    notes = [f"size {options.size}: {bench.times} kills of each kind during {bench.switches} switches"]
    return publish("recovery", figures, {"load": load()}, notes)


if __name__ == "__main__":
    sys.exit(main())
