"""The scale of a model's cosines: what a question off the topic reaches, and what an answered one does.

``python -m evaluations.bench.quality_scale --data FOLDER``. ``noise`` is the nine-tenths quantile of the best cosine of
questions that a corpus does not answer (those of the other sets in the same language), ``noise + span`` the median of
the questions that it does; each set counts the same. They go into `app/embeddings/profiles.toml` and make the quality
of an answer (`search-measured.md` 6), whose AUC is then measured through the console's own search.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psycopg

from app.local.home import Home
from app.local.postgres import LocalPostgres
from evaluations.bench.bench_quality import NO_REDIS
from evaluations.bench.laboratory import FOLDER_PREFIX, plain
from evaluations.bench.quality_console import Stocked, database_name, stocked
from evaluations.bench.quality_metrics import auc
from evaluations.bench.quality_rebuilt import Rebuilt
from evaluations.bench.quality_reference import Stems
from evaluations.bench.quality_sets import KINDS, RetrievalSet, Text, read_set
from evaluations.bench.report import Figure, publish
from evaluations.bench.vector_cache import VectorCache, kept_vectors, serving

SAMPLE = 200
SEED = 7
LEFT_OUT = ("scifact", "docs-en-it")
"""scifact has the questions of scifact-1500; docs-en-it counts once, by language."""
FAMILIES = ({"xquad-en", "squad-it", "xquad-en-to-squad-it"}, {"scifact", "scifact-1500"})
"""Sets whose questions are about the same texts."""


@dataclass(frozen=True)
class Asked:
    """Questions that a set answers, and questions that it does not."""

    retrieval: RetrievalSet
    answered: Sequence[Text]
    off_topic: Sequence[Text]


def sampled(questions: Sequence[Text]) -> list[Text]:
    """At most `SAMPLE` of them, always the same."""
    if len(questions) <= SAMPLE:
        return list(questions)
    chosen = np.random.default_rng(SEED).choice(len(questions), SAMPLE, replace=False)
    return [questions[place] for place in sorted(chosen)]


def asked(sets: Sequence[RetrievalSet], chosen: Collection[str]) -> Iterator[Asked]:
    """Each chosen set with its own questions and those of all others in the same language."""
    for one in sets:
        if one.kind.name not in chosen:
            continue
        kin = next((family for family in FAMILIES if one.kind.folder in family), {one.kind.folder})
        languages = {question.locale for question in one.judged}
        strangers = [
            question
            for other in sets
            if other.kind.folder not in kin
            for question in sampled(other.judged)
            if question.locale in languages
        ]
        unanswerable = [question for question in one.questions if not question.answerable]
        yield Asked(one, sampled(one.judged), [*sampled(strangers), *unanswerable])


def best_cosines(cache: VectorCache, connection: psycopg.Connection[object], one: Asked) -> tuple[list[float], ...]:
    """The best cosine of each question, answered and off the topic; with a locale among the texts of that language."""
    stems = {locale: Stems(connection, locale) for locale in ("en", "it")}
    own = one.retrieval.kind.own_language
    found: tuple[list[float], list[float]] = ([], [])
    for locale in sorted({document.locale for document in one.retrieval.documents}) if own else [""]:
        documents = [document for document in one.retrieval.documents if not locale or document.locale == locale]
        legs = Rebuilt(stems, cache, documents, locale or one.retrieval.kind.stems or "")
        for questions, cosines in zip((one.answered, one.off_topic), found, strict=True):
            cosines += [float(legs.cosines(question).max()) for question in questions
                        if not locale or question.locale == locale]  # fmt: skip
    return found


def qualities(stock: Stocked, one: Asked) -> tuple[list[float], list[float]]:
    """What the console says of the answers to the same questions."""
    own = one.retrieval.kind.own_language
    answered, off_topic = (
        [stock.quality(question, own_language=own) for question in questions]
        for questions in (one.answered, one.off_topic)
    )
    return answered, off_topic


def scale(cosines: Mapping[str, tuple[list[float], ...]]) -> tuple[float, float]:
    """(noise, span)."""
    noise = float(np.mean([np.quantile(off, 0.9) for _, off in cosines.values()]))
    middle = float(np.mean([np.median(answered) for answered, _ in cosines.values()]))
    return noise, middle - noise


def spread(name: str, values: Sequence[float]) -> list[Figure]:
    quantiles = {"10": 0.1, "50": 0.5, "90": 0.9}
    return [Figure(f"{name}_q{told}", [float(np.quantile(values, at))], "") for told, at in quantiles.items()]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evaluations.bench.quality_scale")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument(
        "--sets", default="", help="names after commas; the questions of the others are strangers still"
    )
    parser.add_argument("--cosines-only", action="store_true", help="without the console's own searches")
    parser.add_argument("--embeddings", default="", help="address of a running server of the model")
    chosen = parser.parse_args()
    known = [kind for kind in KINDS if kind.name not in LEFT_OUT]
    sets = [read_set(chosen.data, kind) for kind in known]
    names = chosen.sets.split(",") if chosen.sets else [kind.name for kind in known]
    figures: list[Figure] = []
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stack.callback(Home(folder).remove)
        postgres = stack.enter_context(LocalPostgres(folder, durable=False))
        cache = stack.enter_context(kept_vectors(chosen.embeddings or None))
        embeddings = stack.enter_context(serving(cache))
        cosines: dict[str, tuple[list[float], ...]] = {}
        everything = list(asked(sets, names))
        with psycopg.connect(plain(postgres.url), autocommit=True) as connection:
            for one in everything:
                answered, off = cosines[one.retrieval.kind.name] = best_cosines(cache, connection, one)
                figures += spread(f"{one.retrieval.kind.name}/answered", answered)
                figures += spread(f"{one.retrieval.kind.name}/off_topic", off)
                figures.append(Figure(f"{one.retrieval.kind.name}/auc_cosine", [auc(answered, off)], "", "higher"))
        noise, span = scale(cosines)
        figures += [Figure("noise", [noise], ""), Figure("span", [span], "")]
        for one in [] if chosen.cosines_only else everything:
            name = one.retrieval.kind.name
            database = f"scale_{database_name((name.replace(' ', '_'), True))}"
            with stocked(postgres.url, database, one.retrieval, embeddings, NO_REDIS) as stock:
                figures.append(Figure(f"{name}/auc_quality", [auc(*qualities(stock, one))], "", "higher"))
    return publish("quality_scale", figures, {}, [f"at most {SAMPLE} questions of each kind, seed {SEED}"])


if __name__ == "__main__":
    raise SystemExit(main())
