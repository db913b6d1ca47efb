"""Whatever part of a search is away, the cheaper result comes, in time, and says why (`seed-facts.md` 4.3, 4.4)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from app.core.clock import SystemClock
from app.core.documents import events_store
from app.core.elasticsearch.client import SLOW, Cluster
from app.core.elasticsearch.reading import Reader
from app.core.errors import Unavailable
from app.search.engines.chosen import ChosenEngine
from app.search.engines.elasticsearch import ElasticsearchEngine
from app.search.rates import DeepRate
from app.search.reasons import REASONS
from tests.fakes.clock import FakeClock
from tests.fixtures.clients import Api
from tests.integration.search.conftest import Stage, StageParts
from tests.integration.search.degradation import broken
from tests.integration.search.degradation.cells import COSTS, EXPECTED, cells, expected
from tests.integration.search.degradation.report import PAGE, page

BUDGETS = {"fast": 3000, "balanced": 4000, "deep": 8000}
"""Milliseconds while something hangs, which is waited for; what works answers on a busy machine."""
LONG = dict.fromkeys(COSTS, 60_000)
"""While nothing hangs."""
SPARE = 20.0
"""Seconds that a busy machine may take beyond a budget; what hangs does so for two minutes."""


class Builder:
    """A search whose ``component`` is in ``state``, and all else is well."""

    def __init__(self, stage: Stage, patience: broken.Patience, stack: ExitStack, patch: pytest.MonkeyPatch) -> None:
        self.stage, self.patience, self.stack, self.patch = stage, patience, stack, patch
        self.vectors: Any = None
        self.parts = StageParts(clock=SystemClock())
        self.parts.intent = broken.Chat("well", patience, "")
        self.parts.planner = broken.Chat("well", patience, "")
        self.parts.reranker = broken.Scores("well", patience)

    def break_embedder(self, state: str) -> None:
        self.vectors = broken.Vectors(self.stage.vectors, "embedder", state, self.patience)

    def break_vector_leg(self, state: str) -> None:
        self.vectors = broken.Vectors(self.stage.vectors, "vector leg", state, self.patience)

    def break_engine(self, state: str) -> None:
        url = "http://127.0.0.1:1"
        if state in ("slow", "malformed"):
            url = self.stack.enter_context(broken.page_server(state, self.patience))
        if state != "absent":
            self.patch.setattr(events_store, "follows", lambda session, consumer: True)
        console = self.stage.container
        cluster = Cluster(url, "matrix", self.parts.clock, 60.0)
        reader = Reader(console.units, cluster, None)
        elasticsearch = ElasticsearchEngine(reader, console.word_engine, self.stage.filters, console.registry)
        self.parts.engine = ChosenEngine(console.word_engine, elasticsearch, lambda session: True)

    def break_word_leg(self, state: str) -> None:
        self.parts.engine = broken.Words(self.stage.container.word_engine, state, self.patience)

    def break_reranker(self, state: str) -> None:
        self.parts.reranker = None if state == "absent" else broken.Scores(state, self.patience)

    def break_intent(self, state: str) -> None:
        self.parts.intent = None if state == "absent" else broken.Chat(state, self.patience, "It is about printers.")

    def break_plan(self, state: str) -> None:
        self.parts.planner = None if state == "absent" else broken.Chat(state, self.patience, '{"strategy": "hybrid"}')

    def break_counter(self, state: str) -> None:
        url = {"absent": "redis://no-such-host.invalid:6379/0", "refused": "redis://127.0.0.1:1/0"}.get(state)
        address = url or self.stack.enter_context(broken.line_server(state))
        self.parts.deep_allowed = DeepRate(address, self.parts.clock).allowed

    def install(self, budgets: Mapping[str, int] = LONG) -> None:
        search = self.stage.search(self.vectors, with_parts=self.parts, budgets=budgets, rerank=True)
        self.stage.container.search = search


@pytest.fixture
def builder(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Iterator[Builder]:
    stage.put(1, (1, 0, 0, 0), en="the printer")
    stage.put(2, (0, 1, 0, 0), en="the printer, and paper")
    patience = broken.Patience()
    with ExitStack() as stack:
        yield Builder(stage, patience, stack, monkeypatch)
        patience.over.set()


@pytest.mark.parametrize(("component", "state", "cost"), [pytest.param(*cell, id="-".join(cell)) for cell in cells()])
def test_cell(builder: Builder, api: Api, component: str, state: str, cost: str) -> None:
    getattr(builder, f"break_{component.replace(' ', '_')}")(state)
    budgets = BUDGETS if state == "slow" else LONG
    builder.install(budgets)
    began = time.monotonic()
    answer = api.get(f"/api/v1/search?q=printer&cost={cost}")
    took = time.monotonic() - began
    assert answer.status_code == 200
    meta = answer.json["meta"]["search"]
    assert (meta["mode_applied"], meta["degraded_reason"]) == expected(component, state, cost)
    assert meta["cost"] == cost
    assert took < budgets[cost] / 1000 + SPARE
    assert all(0 < seconds <= budgets[cost] / 1000 for seconds in builder.patience.given)
    if component != "word leg" or cost != "fast":
        assert {hit["id"] for hit in answer.json["data"]} == {1, 2}


def test_all_is_well_without_a_reason(builder: Builder, api: Api) -> None:
    builder.install()
    for cost in COSTS:
        meta = api.get(f"/api/v1/search?q=printer&cost={cost}").json["meta"]["search"]
        assert (meta["mode_applied"], meta["degraded_reason"]) == (cost, None)
        assert meta["reranker_model"] == ("heuristic" if cost == "fast" else "cross-encoder")


def test_the_page_says_what_the_matrix_expects() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_the_matrix_knows_no_other_reasons() -> None:
    told = {reason for rows in EXPECTED.values() for row in rows.values() for _, reason in row or ()}
    assert told - {None} <= set(REASONS)


@pytest.mark.parametrize(("seconds", "then"), [(0.2, SLOW), (None, "away")])
def test_a_brief_wait_does_not_say_that_the_cluster_is_away(seconds: float | None, then: str) -> None:
    patience = broken.Patience()
    with broken.page_server("slow", patience) as url:
        cluster = Cluster(url, "matrix", FakeClock(), 30.0 if seconds else 0.2)
        for kind in (SLOW, then):
            with pytest.raises(Unavailable) as raised:
                cluster.search("i", {}, seconds)
            assert raised.value.values["kind"] == kind
        patience.over.set()
