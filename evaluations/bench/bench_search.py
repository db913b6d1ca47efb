"""Searches by words, by meaning and by both, beside the same SQL by hand: `make bench-search`.

Every search goes through the `Search` service in this process, from the question to the page with its snippets, in
units of its own; the model answers at once. By meaning alone is the same service with a word engine that finds nothing.
The statements of one call are recorded and sent again by hand, on open connections of the driver: those of both legs at
the same time where both ran. All are taken in turns on the same tables.
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from sqlalchemy import event

from app.container import Container
from app.local.home import Home
from app.local.postgres import LocalPostgres
from app.search.answer import SearchRequest
from app.search.beside import beside
from app.search.engines.ports import KeywordLeg
from evaluations.bench.corpus import ENTITY
from evaluations.bench.laboratory import FOLDER_PREFIX, plain
from evaluations.bench.report import Figure, load, publish
from evaluations.bench.search_field import SHARES, Asking, Field, asker, visible
from evaluations.bench.search_field import field as field_of

PASSAGES = {"small": (10_000,), "full": (10_000, 100_000)}
ROUNDS = 5
CALLS = {"small": {1: 20, 8: 6}, "full": {1: 40, 8: 12}}
"""Calls of each client in a round, by how many clients there are."""
MODES = ("keyword", "vector", "hybrid")
OVER_LEG_MS, OVER_RAW, OVER_SUM = 3.0, 1.5, 1.1
NEAREST = 10
WINDOW = 200
OWN = re.compile(r"select pg_export_snapshot\(\)|begin [^;]*; set transaction snapshot [^;]*; ")
"""What means nothing on another connection."""

Statement = tuple[str, Any]
Call = Callable[[Asking], None]


class Mute:
    """The word engine's ``keyword`` and ``corrections`` while nothing is looked for by words."""

    def __init__(self, parts: Container) -> None:
        self._engine: Any = parts.word_engine

    @contextmanager
    def here(self) -> Iterator[None]:
        self._engine.keyword = lambda *arguments, **options: KeywordLeg(hits=(), total=0, known_idf_mass=0.0)
        self._engine.corrections = lambda *arguments, **options: {}
        try:
            yield
        finally:
            del self._engine.keyword, self._engine.corrections


def call_of(parts: Container, mode: str, share: str) -> Call:
    """One search of a mode by an asker with that share of the records."""
    actor = asker(share)
    cost: Any = "fast" if mode == "keyword" else "balanced"

    def search(asking: Asking) -> None:
        found = parts.search.search(actor, SearchRequest(asking.words, entities=(ENTITY,), cost=cost))
        wanted = ("keyword",) if mode == "keyword" else ("keyword", "vector")
        if found.meta.strategies != wanted or found.meta.degraded_reason:
            raise RuntimeError(f"{mode}: {found.meta.strategies}, {found.meta.degraded_reason}")

    return search


def recorded(parts: Container, call: Call, asking: Asking) -> list[list[Statement]]:
    """What one call sends to the database, by connection, in order."""
    found: dict[Any, list[Statement]] = {}

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        statement = OWN.sub("", statement)
        if statement:
            found.setdefault(connection.connection.driver_connection, []).append((statement, parameters))

    event.listen(parts.engine, "before_cursor_execute", note)
    try:
        call(asking)
    finally:
        event.remove(parts.engine, "before_cursor_execute", note)
    return list(found.values())


def by_hand(connections: Sequence[psycopg.Connection[Any]], statements: Sequence[Sequence[Statement]]) -> None:
    """The same statements, each list in a transaction on a connection of its own, all at the same time."""
    pairs = zip(connections[1:], statements[1:], strict=False)
    others = [beside(partial(_send, connection, some)) for connection, some in pairs]
    if statements:
        _send(connections[0], statements[0])
    for other in others:
        other.result()


def _send(connection: psycopg.Connection[Any], statements: Sequence[Statement]) -> None:
    with connection.transaction(), connection.cursor() as cursor:
        for statement, parameters in statements:
            cursor.execute(statement, parameters)
            if cursor.description:
                cursor.fetchall()


@dataclass
class Times:
    """Milliseconds of calls, one list a round."""

    rounds: list[list[float]] = field(default_factory=list)

    def p50(self) -> list[float]:
        return [statistics.median(one) for one in self.rounds]

    def p95(self) -> list[float]:
        return [float(np.percentile(one, 95)) for one in self.rounds]


def timed(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def alone(parts: Field, share: str, connections: Sequence[psycopg.Connection[Any]], count: int) -> dict[str, Times]:
    """One client: each mode and its statements by hand in turns, the same questions for all and in each round."""
    calls = {mode: call_of(parts.parts, mode, share) for mode in MODES}
    mute = Mute(parts.parts)
    found = {name: Times() for mode in MODES for name in (mode, f"{mode}_raw")}
    statements: dict[tuple[str, int], list[list[Statement]]] = {}
    for at, asking in enumerate(parts.questions[:count]):  # the model's answers are known from here on
        for mode in MODES:
            with _as(mode, mute):
                calls[mode](asking)  # what is timed later knows the words, too
                statements[mode, at] = recorded(parts.parts, calls[mode], asking)
    for number in range(ROUNDS):
        for times in found.values():
            times.rounds.append([])
        for at, asking in enumerate(parts.questions[:count]):
            for mode in MODES:
                ours = partial(calls[mode], asking)
                raw = partial(by_hand, connections, statements[mode, at])
                with _as(mode, mute):
                    # Whoever comes second finds the rows in the processor's caches.
                    for name, work in ((mode, ours), (f"{mode}_raw", raw))[:: 1 if (number + at) % 2 else -1]:
                        found[name].rounds[-1].append(timed(work))
    return found


@contextmanager
def _as(mode: str, mute: Mute) -> Iterator[None]:
    if mode == "vector":
        with mute.here():
            yield
    else:
        yield


def together(parts: Field, share: str, clients: int, count: int) -> dict[str, Times]:
    """Several clients at once, threads of this process, one mode after the other in each round."""
    calls = {mode: call_of(parts.parts, mode, share) for mode in MODES}
    mute = Mute(parts.parts)
    found = {mode: Times() for mode in MODES}
    for number in range(ROUNDS):
        for mode in MODES:
            with _as(mode, mute):
                found[mode].rounds.append(_crowd(calls[mode], parts.questions, clients, count, number))
    return found


def _crowd(call: Call, questions: Sequence[Asking], clients: int, count: int, number: int) -> list[float]:
    times: list[list[float]] = [[] for _ in range(clients)]
    gate = threading.Barrier(clients)

    def client(me: int) -> None:
        gate.wait()
        for at in range(count):
            asking = questions[(number * 31 + me * 7 + at) % len(questions)]
            times[me].append(timed(partial(call, asking)))

    threads = [threading.Thread(target=client, args=(me,)) for me in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [one for some in times for one in some]


def found_of_nearest(parts: Field, share: str) -> tuple[float, float]:
    """(recall@10 beside the exact answer, share of the window that came back) of the vector leg, over all questions."""
    assert parts.parts.vectors is not None
    vectors, scope = parts.parts.vectors, {ENTITY: asker(share).rows_for(f"{ENTITY}.select")}
    seen = sum(visible(record, share) for record in {record for record, _ in parts.keys})
    hits, full = [], []
    for asking in parts.questions[:40]:
        query = vectors.query_vector(asking.words, 5.0)
        with parts.parts.units("REPEATABLE READ") as unit:
            near = [hit.record_id for hit in vectors.nearest(unit.session, query, scope, None, WINDOW)]
        exact = parts.nearest(asking, share, NEAREST)
        hits.append(len(set(near[:NEAREST]) & set(exact)) / len(exact))
        full.append(len(near) / min(WINDOW, seen))
    return statistics.mean(hits), statistics.mean(full)


def figures_of(size: int, share: str, one: dict[str, Times], eight: dict[str, Times]) -> list[Figure]:
    """Times, and the three goals."""
    name = f"{size // 1000}k_acl{share}"
    found = []
    for mode in MODES:
        for clients, times in ((1, one[mode]), (8, eight[mode])):
            found.append(Figure(f"{mode}_{name}_c{clients}_p50", times.p50(), "ms", "lower"))
            found.append(Figure(f"{mode}_{name}_c{clients}_p95", times.p95(), "ms", "lower"))
        found.append(Figure(f"{mode}_{name}_c1_raw_p50", one[f"{mode}_raw"].p50(), "ms", "lower"))
        found.append(Figure(f"{mode}_{name}_c1_raw_p95", one[f"{mode}_raw"].p95(), "ms", "lower"))
    legs = [max(pair) for pair in zip(one["keyword"].p50(), one["vector"].p50(), strict=True)]
    over = [both - leg for both, leg in zip(one["hybrid"].p50(), legs, strict=True)]
    ratio = [ours / raw for ours, raw in zip(one["hybrid"].p95(), one["hybrid_raw"].p95(), strict=True)]
    sums = [words + meaning for words, meaning in zip(eight["keyword"].p50(), eight["vector"].p50(), strict=True)]
    crowd = [both / total for both, total in zip(eight["hybrid"].p50(), sums, strict=True)]
    return [
        *found,
        Figure(f"hybrid_{name}_over_slower_leg", over, "ms", "lower", goal=OVER_LEG_MS),
        Figure(f"hybrid_{name}_p95_over_raw", ratio, "ratio", "lower", goal=OVER_RAW),
        Figure(f"hybrid_{name}_c8_over_sum", crowd, "ratio", "lower", goal=OVER_SUM),
    ]


def measured(parts: Field, size: int, calls: Mapping[int, int]) -> list[Figure]:
    figures: list[Figure] = []
    with psycopg.connect(plain(parts.url)) as first, psycopg.connect(plain(parts.url)) as second:
        for connection in (first, second):
            connection.prepare_threshold = None
        for share in SHARES:
            one, eight = alone(parts, share, (first, second), calls[1]), together(parts, share, 8, calls[8])
            figures += figures_of(size, share, one, eight)
            recall, full = found_of_nearest(parts, share)
            figures.append(Figure(f"recall10_{size // 1000}k_acl{share}", [recall], "", "higher", goal=0.95))
            figures.append(Figure(f"window_{size // 1000}k_acl{share}", [full], "", "higher", must=1.0))
    return figures


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--size", choices=sorted(PASSAGES), default="small")
    chosen = options.parse_args()
    before, calls = load(), CALLS[chosen.size]
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix=FOLDER_PREFIX) as folder:
        home = Home(Path(folder))
        with LocalPostgres(Path(folder)) as postgres:
            for passages in PASSAGES[chosen.size]:
                with field_of(postgres, Path(folder), passages) as parts:
                    figures += measured(parts, passages, calls)
        home.remove()
    notes = [
        f"load {before} before, {load()} after; {ROUNDS} rounds of {calls[1]} calls a mode at one client, of "
        f"{calls[8]} calls each at eight; searches and their SQL by hand in turns"
    ]
    return publish("search", figures, {"postgresql": 18}, notes)


if __name__ == "__main__":
    raise SystemExit(main())
