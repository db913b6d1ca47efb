"""Runs of `bench_switch` as figures."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from evaluations.bench.report import Figure, load, publish

SLOTS = 2
RATIO_GOALS = {50: 1.10, 2000: 1.25}
MEMORY_MB, MEMORY_MB_PER_100K = 150, 5
STATUS_MS = 10
EXPONENT, BUILD_EXPONENT = 1.05, 1.2
INDEX_SHARE = 0.8
FOREIGN_CORES = 1
"""A run beside which others used more is void (`docs/reference/benchmarks.md`)."""
COUNTS = ("repeats", "lost", "doubled", "stale", "mixed")


@dataclass
class Run:
    """What one run measured: seconds, bytes, MB and counts by name."""

    documents: int
    speed: int
    passages: int
    values: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    status: list[float] = field(default_factory=list)

    @property
    def ideal(self) -> float:
        """Seconds that nobody can save: the model, the copy and the index."""
        return self.values["busy"] / SLOTS + self.values["copy"] + self.values["build"]

    @property
    def foreign(self) -> float:
        """How many cores others used during the switch or the loop, whichever is more."""
        return max(self.values["foreign_cores"], self.values["loop_foreign_cores"])

    @property
    def valid(self) -> bool:
        return self.foreign <= FOREIGN_CORES

    @property
    def ratio(self) -> float:
        return self.values["wall"] / self.ideal

    @property
    def bare_ratio(self) -> float:
        """The ratio to an ideal without the canaries, as if each took the model as long as any text."""
        return self.values["wall"] / (self.ideal - self.values["canaries"] / SLOTS)

    @property
    def loop_ratio(self) -> float:
        own = self.values["loop_busy"] / SLOTS + self.values["copy"] + self.values["build"]
        return self.values["loop_wall"] / own

    @property
    def idle(self) -> float:
        """Seconds for which a slot had nothing to do while there were chunks, on average."""
        return self.values["embedding"] - self.values["busy"] / SLOTS

    def line(self) -> str:
        """One line for whoever waits."""
        value = self.values
        spent = ", ".join(
            f"{name} {value[name]:.2f}" for name in ("before", "embedding", "between", "indexing", "after")
        )
        return (
            f"{self.documents} documents at {self.speed}/s: {value['wall']:.2f} s, ideal {self.ideal:.2f} s "
            f"({value['busy'] / SLOTS:.2f} model + {value['copy']:.2f} copy + {value['build']:.2f} index), ratio "
            f"{self.ratio:.3f}; loop {value['loop_wall']:.2f} s, {self.loop_ratio:.3f}; {spent} (slots idle "
            f"{self.idle:.2f}); {self.counts}; foreign cores {self.foreign:.2f}"
        )


Reader = Callable[[Run], float]


def publish_runs(runs: Sequence[Run], size: str) -> int:
    """Print and store the figures; returns the exit code."""
    figures: list[Figure] = []
    groups: dict[tuple[int, int], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.documents, run.speed), []).append(run)
    for (documents, speed), group in groups.items():
        figures += _group(documents, speed, [run for run in group if run.valid] or group)
    figures += [Figure(name, [sum(run.counts[name] for run in runs)], "count", "lower", must=0) for name in COUNTS]
    sizes = sorted({run.documents for run in runs if run.speed == max(one.speed for one in runs)})
    if len(sizes) > 1:
        figures += _exponents(runs, sizes[0], sizes[-1])
    foreign = [run.foreign for run in runs]
    machine = {"load": load(), "foreign_cores": round(statistics.median(foreign), 2)}
    void = sum(1 for run in runs if not run.valid)
    notes = [
        f"size {size}; {len(runs)} runs, {void} of them void: others used more than {FOREIGN_CORES} core meanwhile",
        "void runs count where no other of the kind is left, and always for the counts that must be zero",
    ]
    return publish("switch", figures, machine, notes)


def _group(documents: int, speed: int, runs: Sequence[Run]) -> list[Figure]:
    tail = f"_{speed}_{documents // 1000}k"

    def of(read: Reader) -> list[float]:
        return [read(run) for run in runs]

    def value(name: str, factor: float = 1.0) -> list[float]:
        return [run.values[name] * factor for run in runs]

    status = [second * 1000 for run in runs for second in run.status]
    memory = MEMORY_MB + MEMORY_MB_PER_100K * documents / 100_000
    per = 1000 / documents
    return [
        Figure(f"wall_over_ideal{tail}", of(lambda run: run.ratio), "ratio", "lower", RATIO_GOALS.get(speed)),
        Figure(f"wall_over_ideal_without_canaries{tail}", of(lambda run: run.bare_ratio), "ratio", "lower"),
        Figure(f"loop_over_ideal{tail}", of(lambda run: run.loop_ratio), "ratio", "lower"),
        Figure(f"wall_over_loop{tail}", of(lambda run: run.values["wall"] / run.values["loop_wall"]), "ratio", "lower"),
        Figure(f"wall{tail}", value("wall"), "s", "lower"),
        Figure(f"ideal{tail}", of(lambda run: run.ideal), "s"),
        Figure(f"before_first_chunk{tail}", value("before"), "s", "lower"),
        Figure(f"slots_idle{tail}", of(lambda run: run.idle), "s", "lower"),
        Figure(f"chunks_to_index{tail}", value("between"), "s", "lower"),
        Figure(f"index_to_activation{tail}", value("after"), "s", "lower"),
        Figure(f"index_rate_over_raw{tail}", of(_index_share), "ratio", "higher", INDEX_SHARE),
        Figure(f"texts_over_passages{tail}", of(lambda run: run.values["texts"] / run.passages), "ratio", "lower"),
        Figure(f"texts_over_distinct{tail}", of(_texts_over_distinct), "ratio", "lower"),
        Figure(
            f"canaries_per_text{tail}", of(lambda run: run.values["probes"] / run.values["texts"]), "ratio", "lower"
        ),
        Figure(f"worker_peak{tail}", value("peak"), "MB", "lower", memory),
        Figure(f"any_process_peak{tail}", value("peak_any"), "MB", "lower"),
        Figure(f"loop_peak{tail}", value("loop_peak_mb"), "MB"),
        Figure(f"cpu_per_1000_documents{tail}", value("cpu_workers", per), "s", "lower"),
        Figure(f"loop_cpu_per_1000_documents{tail}", value("loop_cpu", per), "s"),
        Figure(f"postgres_cpu_per_1000_documents{tail}", value("cpu_postgres", per), "s", "lower"),
        Figure(f"wal_per_document{tail}", value("wal", 1 / documents), "bytes", "lower"),
        Figure(f"loop_wal_per_document{tail}", value("loop_wal", 1 / documents), "bytes"),
        Figure(f"state{tail}", value("state"), "bytes", "lower"),
        Figure(f"status_call{tail}", status or [math.nan], "ms", "lower", STATUS_MS),
        Figure(f"foreign_cores{tail}", of(lambda run: run.foreign), "cores"),
    ]


def _index_share(run: Run) -> float:
    """Our rate of building over the raw one, by the time from the chunk's claim to its end."""
    return run.values["build"] / run.values["indexing"]


def _texts_over_distinct(run: Run) -> float:
    """What reusing the vectors of equal texts in other documents would save."""
    return run.values["texts"] / run.values["needed"]


def _exponents(runs: Sequence[Run], small: int, large: int) -> list[Figure]:
    """Slopes of log cost over log size, between medians of the smallest and the largest size at the fastest speed."""
    speed = max(run.speed for run in runs if run.documents == large)
    costs: dict[str, Reader] = {
        "wall": lambda run: run.values["wall"],
        "cpu": lambda run: run.values["cpu_workers"],
        "memory": lambda run: run.values["peak"],
        "bytes_written": lambda run: run.values["wal"],
        "state": lambda run: run.values["state"],
        "status": lambda run: statistics.median(run.status) if run.status else math.nan,
        "build": lambda run: run.values["indexing"],
        "raw_build": lambda run: run.values["build"],
    }

    def middle(read: Reader, documents: int) -> float:
        same = [run for run in runs if (run.documents, run.speed) == (documents, speed)]
        return statistics.median(read(run) for run in [run for run in same if run.valid] or same)

    figures = []
    for name, read in costs.items():
        slope = math.log(middle(read, large) / middle(read, small)) / math.log(large / small)
        goal = BUILD_EXPONENT if name in ("build", "raw_build") else EXPONENT
        figures.append(Figure(f"exponent_{name}", [slope], "exponent", "lower", None if name == "raw_build" else goal))
    return figures
