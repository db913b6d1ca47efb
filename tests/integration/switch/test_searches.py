"""Searches while a switch runs: never an error, never fewer word hits, no result from the target before its time."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest

from app.core.contracts.actor import SYSTEM
from app.search.answer import SearchRequest
from tests.fakes.embedding_server import Behaviour
from tests.fixtures.bench import A, B, Bench

WORD = "record"
QUESTION = re.compile(rf"{WORD} \d+")
"""What the prober asks; a document's text is longer."""


class Prober:
    """Searches every 50 ms until it is left, and keeps what it saw."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.seen: list[dict[str, Any]] = []
        self.errors: list[BaseException] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._probe)

    def _probe(self) -> None:
        number = 0
        while not self._done.wait(0.05):
            number += 1
            try:
                answer = self.bench.container.search.search(SYSTEM, SearchRequest(q=f"{WORD} {number}"))
                words = self.bench.container.search.search(SYSTEM, SearchRequest(q=WORD, cost="fast"))
            except Exception as error:  # noqa: BLE001 - every error at all is what this looks for
                self.errors.append(error)
                return
            self.seen.append({"words": words.total, **answer.meta.as_json()})

    def __enter__(self) -> Prober:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


@pytest.mark.parametrize("mode", ["side_by_side", "in_place"])
def test_a_prober_sees_a_switch_without_error_or_gap(bench: Bench, mode: str) -> None:
    bench.servers["beta"].behaviour = Behaviour(delay=0.1)
    with Prober(bench) as prober:
        bench.run_until(lambda: len(prober.seen) > 2 or bool(prober.errors), limit=100_000)
        bench.start(mode=mode)
        bench.run_to("activate")
        assert [text for text in bench.servers["beta"].counters.embedded if QUESTION.fullmatch(text)] == []
        bench.run_until(lambda: bench.serving == B, limit=100_000)
        count = len(prober.seen)
        bench.run_until(lambda: len(prober.seen) > count + 3 or bool(prober.errors), limit=100_000)
    assert prober.errors == []
    assert {seen["words"] for seen in prober.seen} == {12}
    models = [seen["model"] for seen in prober.seen if seen["model"] is not None]
    assert models == sorted(models), "the serving model changed once, from the old to the new"
    assert set(models) == {A, B}
    off = {seen["vector_disabled"] for seen in prober.seen}
    assert off == ({None} if mode == "side_by_side" else {None, "switching"})
