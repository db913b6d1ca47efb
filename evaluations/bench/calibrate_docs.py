"""Measure where *not documented* begins on the handbook's datasets: ``python -m evaluations.bench.calibrate_docs``.

Prints noise, span and threshold with the embedded multilingual-e5-small, fitted on all questions, and how well such a
fit does on questions that it has not seen: by cross-validation over the handbook, and with ``--data`` on the
documentation set `docs-en-it`, of which no question was used for anything.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from app.container import Container
from app.core.contracts.actor import SYSTEM
from app.documentation.evaluation import read_dataset
from app.documentation.retrieval import THRESHOLD, Asked, Limits, Retrieval
from app.search.engines.postgres_coverage import PostgresWordSearch
from evaluations.bench.bench_docs_quality import console, database_server, ingest
from evaluations.bench.calibration import Fit, Sample, Tried, fitted, held_out, tried
from evaluations.bench.docs_sets import SETS, DocsSet, read_docs_set, write_corpus
from evaluations.bench.quality_metrics import auc
from evaluations.bench.quality_rebuilt import PROFILE
from evaluations.bench.report import ROOT
from evaluations.bench.vector_cache import kept_vectors, serving

DATASETS = ROOT / "evaluations" / "documentation"
HANDBOOK = DocsSet("handbook", "", "en")
SHIPPED = Fit(PROFILE.noise or 0.0, PROFILE.span or 0.0, THRESHOLD)
"""What the product judges by: the model's scale on other sets (`quality_scale.py`), and its own threshold."""
SECONDS = 120.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluations.bench.calibrate_docs")
    parser.add_argument("--data", type=Path, help="the folder of the sets, for questions of other documentation")
    parser.add_argument("--embeddings", help="address of a running server of the model; else one is started")
    options = parser.parse_args()
    with ExitStack() as stack:
        cache = stack.enter_context(kept_vectors(options.embeddings))
        url = stack.enter_context(serving(cache))
        admin = stack.enter_context(database_server())
        own = _handbook(admin, url)
        words = [Sample(one.id, one.answerable, one.coverage, None) for one in own]
        _report("handbook, words and meaning", own)
        _report("handbook, words alone", words)
        if options.data is not None:
            other = [one for wanted in SETS if wanted.only for one in _set(wanted, options.data, admin, url)]
            _report("docs-en-it", other)
            fit = fitted(own)
            print(f"docs-en-it, fitted on the handbook ({_fit(fit)}): {_tried(tried(fit, other))}")
    return 0


def _handbook(admin: str, url: str) -> list[Sample]:
    """The datasets' questions that expect an answer or an abstention, asked as an administrator."""
    samples: list[Sample] = []
    with console(admin, HANDBOOK, url) as parts:
        assert parts.documentation is not None
        assert parts.ai is not None
        parts.documentation.index(parts.units)
        for corpus in ("user", "developer"):
            parts.ai.catch_up.entity(f"documentation.{corpus}")
        retrieval = _retrieval(parts)
        for file in sorted(DATASETS.glob("*.json")):
            dataset = read_dataset(json.loads(file.read_text(encoding="utf-8")))
            for case in dataset.cases:
                if case.expected_sources or case.expect_abstention:
                    asked = Asked(case.query, dataset.corpus, case.locale, case.top_k)
                    _warm(parts, case.query)
                    samples.append(_sample(f"{file.stem}:{case.id}", retrieval, asked, bool(case.expected_sources)))
    return samples


def _set(wanted: DocsSet, data: Path, admin: str, url: str) -> Iterable[Sample]:
    """The questions of a documentation set that is no part of the handbook."""
    found = read_docs_set(data, wanted)
    with console(admin, wanted, url) as parts, tempfile.TemporaryDirectory(prefix="changeover-docs-") as folder:
        write_corpus(found, wanted, Path(folder))
        ingest(parts, wanted, Path(folder))
        retrieval = _retrieval(parts)
        judged = {one.id for one in found.judged}
        for one in found.questions:
            _warm(parts, one.text)
        return [
            _sample(one.id, retrieval, Asked(one.text, wanted.name, wanted.locale, 5), one.answerable)
            for one in found.questions
            if one.id in judged or not one.answerable
        ]


def _retrieval(parts: Container) -> Retrieval:
    """Retrieval whose quality is the coverage alone: without a calibration the cosine is left out."""
    words = PostgresWordSearch(parts.word_engine, parts.clock)
    return Retrieval(parts.units, words, parts.vectors, lambda session: Limits(calibration=None))


def _warm(parts: Container, question: str) -> None:
    """Have the question's vector made with patience; retrieval would go on by words after a second."""
    assert parts.vectors is not None
    parts.vectors.query_vector(question, SECONDS)


def _sample(name: str, retrieval: Retrieval, asked: Asked, answerable: bool) -> Sample:
    found = retrieval.retrieve(SYSTEM, asked)
    cosines = [one.similarity for one in found.passages if one.similarity is not None]
    return Sample(name, answerable, found.quality, max(cosines, default=None))


def _report(name: str, samples: Sequence[Sample]) -> None:
    fit = fitted(samples)
    good = [fit.quality(one) for one in samples if one.answerable]
    off = [fit.quality(one) for one in samples if not one.answerable]
    print(f"{name}: {len(good)} answerable, {len(off)} not; quality separates them with AUC {auc(good, off):.3f}")
    print(f"  fitted on all of them: {_fit(fit)}; on the same questions {_tried(tried(fit, samples))}")
    print(f"  held out, threshold fitted too: {_tried(held_out(samples))}")
    print(f"  held out, threshold {THRESHOLD}: {_tried(held_out(samples, THRESHOLD))}")
    print(f"  as shipped ({_fit(SHIPPED)}): {_tried(tried(SHIPPED, samples))}")


def _fit(fit: Fit) -> str:
    return f"noise {fit.noise:.3f}, span {fit.span:.3f}, threshold {fit.threshold:.2f}"


def _tried(one: Tried) -> str:
    return f"answered {one.answered:.3f}, abstained {one.abstained:.3f}, balanced {one.balanced:.3f}"


if __name__ == "__main__":
    raise SystemExit(main())
