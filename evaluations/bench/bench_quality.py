"""How well search finds, on public retrieval sets, beside public tools: ``make bench-quality``.

Records and documents are written by the product, vectors made by its consumers from the model's own server (or kept
ones, `vector_cache.py`), questions asked of its search service in process. See `docs/reference/benchmarks.md`.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg

from app.local.home import Home
from app.local.postgres import LocalPostgres
from evaluations.bench import quality_report
from evaluations.bench.laboratory import FOLDER_PREFIX, plain
from evaluations.bench.quality_console import (
    Ask,
    Stocked,
    database_name,
    elasticsearch_chosen,
    reranked,
    search_at,
    stocked,
)
from evaluations.bench.quality_metrics import Scores, scored
from evaluations.bench.quality_rebuilt import rebuilt
from evaluations.bench.quality_report import Measured
from evaluations.bench.quality_sets import KINDS, SMALL, RetrievalSet, read_baselines, read_set
from evaluations.bench.report import load
from evaluations.bench.vector_cache import VectorCache, kept_vectors, serving
from tests.fixtures.elasticsearch import launch

ENGINES = ("postgres", "elasticsearch")
NO_REDIS = "redis://127.0.0.1:1/0"
"""Nothing that is measured here asks it."""


def names_of_sets(text: str) -> list[str]:
    """The names in an argument; argparse says what is wrong with it."""
    names = text.split(",") if text else []
    known = [kind.name for kind in KINDS]
    if unknown := set(names) - set(known):
        raise argparse.ArgumentTypeError(f"no set is named {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return names


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evaluations.bench.bench_quality")
    parser.add_argument("--size", choices=("small", "full"), default="small")
    parser.add_argument("--data", type=Path, required=True, help="folder of the sets; they are not in the repository")
    parser.add_argument("--sets", type=names_of_sets, default=[], help="names after commas, instead of a size")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--words", action="store_true", help="search by words only: no model, no vectors")
    parser.add_argument("--embeddings", default="", help="address of a running server of the model")
    parser.add_argument("--elasticsearch", default="", help="address of a running server")
    parser.add_argument("--rerank", default="", help="address of a cross-encoder; without one it is not measured")
    parser.add_argument("--rerank-model", default="", help="its name; asked over the Cohere-style API then")
    return parser.parse_args()


def systems(stock: Stocked) -> Mapping[str, Ask]:
    """Words alone, both legs (the vector leg's own order comes with them), and both reranked."""
    if stock.parts.config.ai_embeddings_url is None:
        return {"fast": search_at(stock, "fast")}
    found: dict[str, Ask] = {
        "fast": search_at(stock, "fast"),
        "balanced": search_at(stock, "balanced"),
        "heuristic": reranked(stock, None),
    }
    servers = stock.parts.model_servers
    if servers is not None and (cross_encoder := servers.reranker()) is not None:
        found["cross-encoder"] = reranked(stock, cross_encoder)
    return found


def measure(found: Measured, stock: Stocked, engine: str) -> None:
    """Every system on one engine."""
    retrieval = found.retrieval
    for system, ask in systems(stock).items():
        began = time.monotonic()
        asked = ask(retrieval.judged, retrieval.kind.own_language)
        found.ours[engine, system] = scored(asked.rankings, retrieval.judgements)
        found.degraded[engine, system] = asked.degraded
        if system == "balanced":
            found.ours[engine, "vector leg"] = scored(asked.nearest, retrieval.judgements)
        ndcg = found.ours[engine, system].means[0]
        print(f"{found.name}, {engine}, {system}: {ndcg:.4f} in {time.monotonic() - began:.0f} s", file=sys.stderr)


def reference(admin: str, cache: VectorCache | None, retrieval: RetrievalSet) -> dict[str, Scores]:
    """The public systems, rebuilt."""
    with psycopg.connect(plain(admin), autocommit=True) as connection:
        return {
            system: scored(rankings, retrieval.judgements) for system, rankings in rebuilt(connection, cache, retrieval)
        }


def by_corpus(sets: Sequence[RetrievalSet]) -> dict[tuple[str, bool], list[RetrievalSet]]:
    """Sets of one corpus share its database."""
    found: dict[tuple[str, bool], list[RetrievalSet]] = {}
    for one in sets:
        found.setdefault(one.corpus, []).append(one)
    return found


class Bench:
    """The servers of a whole run."""

    def __init__(
        self,
        admin: str,
        cache: VectorCache | None,
        embeddings: str | None,
        elasticsearch: str | None,
        rerank: Mapping[str, str],
    ) -> None:
        self.admin = admin
        self.cache = cache
        self.embeddings = embeddings
        self.elasticsearch = elasticsearch
        self.rerank = rerank

    def corpus(self, corpus: tuple[str, bool], sets: Sequence[RetrievalSet], engines: Sequence[str]) -> list[Measured]:
        """All sets of one corpus, on all engines."""
        all_found = [Measured(one, reference(self.admin, self.cache, one)) for one in sets]
        name = database_name(corpus)
        more: dict[str, Any] = dict(self.rerank)
        if self.elasticsearch:
            more |= {
                "elasticsearch_url": self.elasticsearch,
                "elasticsearch_prefix": name,
                "elasticsearch_timeout": 60.0,
            }
        with stocked(self.admin, name, sets[0], self.embeddings, NO_REDIS, **more) as stock:
            for engine in engines:
                with ExitStack() as stack:
                    if engine == "elasticsearch":
                        stack.enter_context(elasticsearch_chosen(stock))
                    for found in all_found:
                        measure(found, stock, engine)
        return all_found


def elasticsearch_server(stack: ExitStack, given: str, *, wanted: bool) -> tuple[str | None, str]:
    """Its address, or None and why there is none."""
    if not wanted:
        return None, ""
    told = given or launch(stack)
    return (told, "") if told.startswith("http") else (None, told)


def rerank_settings(chosen: argparse.Namespace) -> dict[str, str]:
    """The configuration of the cross-encoder; empty without an address."""
    if not chosen.rerank:
        return {}
    named = {"ai_rerank_api": "cohere", "ai_rerank_model": chosen.rerank_model} if chosen.rerank_model else {}
    return {"ai_rerank_url": chosen.rerank, **named}


def main() -> int:
    chosen = options()
    names = chosen.sets or (SMALL if chosen.size == "small" else [one.name for one in KINDS])
    sets = [read_set(chosen.data, kind) for kind in KINDS if kind.name in names]
    began, before = time.monotonic(), load()
    engines = chosen.engines.split(",")
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        stack.callback(Home(folder).remove)
        postgres = stack.enter_context(LocalPostgres(folder, durable=False))
        cache = None if chosen.words else stack.enter_context(kept_vectors(chosen.embeddings or None))
        embeddings = None if cache is None else stack.enter_context(serving(cache))
        elasticsearch, why = elasticsearch_server(stack, chosen.elasticsearch, wanted="elasticsearch" in engines)
        bench = Bench(postgres.url, cache, embeddings, elasticsearch, rerank_settings(chosen))
        measured_on = [engine for engine in engines if engine == "postgres" or elasticsearch]
        found = [one for corpus, some in by_corpus(sets).items() for one in bench.corpus(corpus, some, measured_on)]
    notes = [f"load {before} before, {load()} after; {time.monotonic() - began:.0f} s in all"]
    notes += [f"elasticsearch: not measured ({why})"] if why else []
    notes += [] if bench.rerank else ["cross-encoder: not measured, no RERANK_URL is given"]
    return quality_report.publish(read_baselines(chosen.data), found, notes)


if __name__ == "__main__":
    raise SystemExit(main())
