"""How a benchmark reports: one JSON file below `build/bench/`, and the same as a table, one row a figure.

A figure is the median of several runs with the smallest and the largest, or an exact count. A missed goal is printed
and never hidden; only a count that must be zero and is not makes a benchmark fail.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "bench"


@dataclass(frozen=True)
class Figure:
    """One row. ``values`` are those of the runs; ``must`` is a count that fails the benchmark when it is another."""

    id: str
    values: Sequence[float]
    unit: str
    better: Literal["lower", "higher", ""] = ""
    goal: float | None = None
    must: float | None = None

    @property
    def value(self) -> float:
        return statistics.median(self.values)

    @property
    def reached(self) -> bool | None:
        """Whether the goal is reached; None where there is none."""
        if self.must is not None:
            return all(value == self.must for value in self.values)
        if self.goal is None:
            return None
        return self.value >= self.goal if self.better == "higher" else self.value <= self.goal

    def as_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {"id": self.id, "value": _rounded(self.value), "unit": self.unit}
        row |= {"better": self.better} if self.better else {}
        goal = self.goal if self.must is None else self.must
        row |= {"goal": goal, "reached": self.reached} if goal is not None else {}
        if len(self.values) > 1:
            row |= {"min": _rounded(min(self.values)), "max": _rounded(max(self.values)), "runs": len(self.values)}
        return row


def load() -> float:
    """The machine's load over the last minute."""
    return round(os.getloadavg()[0], 2)


def publish(name: str, figures: Sequence[Figure], machine: dict[str, Any], notes: Sequence[str] = ()) -> int:
    """Write ``build/bench/NAME.json`` and print the table; returns the exit code."""
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), **machine}
    report = {
        "name": name,
        "commit": commit(),
        "machine": machine,
        "figures": [figure.as_json() for figure in figures],
        "notes": list(notes),
    }
    BUILD.mkdir(parents=True, exist_ok=True)
    path = BUILD / f"{name}.json"
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    _print(report)
    print(f"\n{path.relative_to(ROOT)}")
    return int(any(figure.must is not None and not figure.reached for figure in figures))


def commit() -> str:
    """The commit that was measured, with a plus when the tree differs from it."""
    head = _git("rev-parse", "--short", "HEAD") or "unknown"
    return f"{head}+" if _git("status", "--porcelain", "--untracked-files=no") else head


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _rounded(value: float) -> float:
    return round(value, 4) if abs(value) < 100 else round(value, 1)


def _print(report: dict[str, Any]) -> None:
    machine = ", ".join(f"{name} {value}" for name, value in report["machine"].items())
    print(f"\n{report['name']} at {report['commit']} ({machine})\n")
    print(f"{'figure':40} {'median':>11} {'min':>11} {'max':>11}  {'unit':14} {'goal':>8}")
    for row in report["figures"]:
        low, high = (f"{row[name]:g}" if name in row else "" for name in ("min", "max"))
        goal = f"{row['goal']:g}" if "goal" in row else ""
        verdict = {True: "reached", False: "MISSED", None: ""}[row.get("reached")]
        print(f"{row['id']:40} {row['value']:>11g} {low:>11} {high:>11}  {row['unit']:14} {goal:>8} {verdict}")
    for note in report["notes"]:
        print(f"  {note}")
