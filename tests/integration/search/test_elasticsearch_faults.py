"""Faults 32 to 40 of `faults.md`, and the late write after a delete: what Elasticsearch and the way to it may do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from app.container import Container, build_container
from app.core.config import Config
from app.core.contracts.documents import Document
from app.core.elasticsearch.client import Action
from app.core.errors import Unavailable
from app.core.settings.schema import SEARCH_ENGINE
from app.factory import create_app
from app.search.engines import elasticsearch_mapping
from app.search.engines.elasticsearch_follow import Elasticsearch
from app.search.engines.elasticsearch_mapping import TOMBSTONE_SECONDS
from app.search.engines.ports import KeywordLeg
from app.search.matching import parse_query
from tests.fakes.clock import FakeClock
from tests.fakes.elasticsearch_proxy import Proxy, elasticsearch_proxy, items
from tests.fakes.queue import RecordingQueue
from tests.fixtures.databases import wait_until_nothing_is_older
from tests.fixtures.elasticsearch import elasticsearch_container, elasticsearch_url

CONTENTS = "cms.contents"
BUSY = "es_rejected_execution_exception"


class Stage:
    """A console whose way to Elasticsearch leads through a proxy; Elasticsearch is chosen."""

    def __init__(self, parts: Container, proxy: Proxy) -> None:
        self.parts = parts
        self.proxy = proxy
        assert parts.elasticsearch is not None
        self.follower: Elasticsearch = parts.elasticsearch
        with parts.units() as unit:
            parts.settings.write_system(unit, SEARCH_ENGINE, "elasticsearch")

    def put(self, record: int, title: str = "Printer") -> None:
        with self.parts.units() as unit:
            self.parts.outbox.put(unit, CONTENTS, record, [Document(CONTENTS, record, "en", title, "x", 1)])

    def remove(self, record: int) -> None:
        with self.parts.units() as unit:
            self.parts.outbox.remove(unit, CONTENTS, record)

    def reindex(self) -> Any:
        wait_until_nothing_is_older(self.parts.engine)
        return self.follower.reindex(lambda entity, done, total: None)

    def settle(self) -> None:
        while self.follower.apply():
            pass
        self.follower.cluster.refresh(f"{self.follower.cluster.prefix}-*")

    def ask(self, question: str = "printer") -> KeywordLeg:
        with self.parts.units("REPEATABLE READ") as unit:
            return self.parts.word_engine.keyword(unit.session, parse_query(question), {CONTENTS: None}, None, 50)

    def ids(self, question: str = "printer") -> list[int]:
        leg = self.ask(question)
        assert leg.degraded is None
        return sorted(hit.record_id for hit in leg.hits)

    @property
    def index(self) -> str:
        (one,) = (one for one in self.follower.generations.all()[CONTENTS] if one.serves)
        return one.index


@pytest.fixture
def stage(config: Config, clock: FakeClock, queue: RecordingQueue) -> Iterator[Stage]:
    with (
        elasticsearch_container(config, clock, queue) as direct,
        elasticsearch_proxy(elasticsearch_url()) as proxy,
    ):
        own = {
            "elasticsearch_url": proxy.url,
            "elasticsearch_prefix": direct.config.elasticsearch_prefix,
            "elasticsearch_timeout": 0.5,
        }
        parts = build_container(config.model_copy(update=own), clock=clock, queue=queue)
        yield Stage(parts, proxy)
        parts.engine.dispose()


@pytest.mark.parametrize("fate", ["refuse", "black_hole"])
def test_32_while_it_is_down_postgresql_answers_and_events_wait(stage: Stage, clock: FakeClock, fate: Any) -> None:
    stage.put(1)
    stage.reindex()
    stage.proxy.rule("", fate, times=None)
    stage.put(2)
    leg = stage.ask()
    assert leg.degraded in ("engine_unavailable", "engine_timeout")
    assert sorted(hit.record_id for hit in leg.hits) == [1, 2]
    asked = len(stage.proxy.seen)
    assert stage.ask().degraded == "engine_unavailable"
    assert len(stage.proxy.seen) == asked  # for a moment nobody waits for it again
    if fate == "refuse":
        assert not stage.follower.apply()
    assert stage.follower.lag() == 1
    stage.proxy.heal()
    clock.advance(10)
    stage.settle()
    assert stage.ids() == [1, 2]


def test_33_a_whole_bulk_that_is_refused_is_sent_again(stage: Stage) -> None:
    stage.reindex()
    stage.proxy.rule("_bulk", answer=(429, {"error": {"type": BUSY}, "status": 429}), times=2)
    stage.put(1)
    stage.settle()
    assert stage.ids() == [1]


def test_33_only_the_items_that_were_refused_are_sent_again(stage: Stage) -> None:
    stage.reindex()
    stage.proxy.seen.clear()
    for number in (1, 2, 3):
        stage.put(number)
    stage.proxy.rule("_bulk", answer=(200, items((201, ""), (429, BUSY), (201, ""))))
    stage.follower.apply()
    first, second = stage.proxy.bodies("_bulk")
    assert [line.count('"_id"') for line in (first, second)] == [3, 1]
    assert '"_id":"2"' in second.replace(" ", "")


def test_34_one_record_that_is_refused_is_named_and_the_others_are_done(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = elasticsearch_mapping.source_of

    def spoilt(indexed: Any, spaces: Any = ()) -> dict[str, Any]:
        source = whole(indexed, spaces)
        return {**source, "record_id": "not a number"} if indexed.record_id == 3 else source

    monkeypatch.setattr("app.search.engines.elasticsearch_write.source_of", spoilt)
    for number in range(1, 6):
        stage.put(number)
    runner = create_app(stage.parts.config, stage.parts).test_cli_runner()
    built = runner.invoke(args=["search", "reindex"])
    assert built.exit_code == 1
    assert f"{CONTENTS} 3 was left out" in built.output
    assert "document_parsing_exception" in built.output
    assert "answers now" in built.output
    assert stage.ids() == [1, 2, 4, 5]


def test_35_a_full_disk_takes_no_writes_and_nothing_is_lost(stage: Stage) -> None:
    stage.put(1)
    stage.reindex()
    block = "index.blocks.read_only_allow_delete"
    stage.follower.cluster._client.indices.put_settings(index=stage.index, settings={block: True})
    stage.put(2)
    assert not stage.follower.apply()
    assert stage.follower.lag() == 1
    assert stage.ids() == [1]  # what is there answers on
    with pytest.raises(Unavailable) as refused:
        stage.follower.cluster.bulk([Action(stage.index, "9", 1, {"record_id": 9})])
    assert refused.value.code == "engine.blocked"
    stage.follower.cluster._client.indices.put_settings(index=stage.index, settings={block: None})
    stage.settle()
    assert stage.ids() == [1, 2]


@pytest.mark.parametrize("status", [503, 500])
def test_35_a_cluster_that_can_not_answer_is_no_empty_answer(stage: Stage, status: int) -> None:
    stage.put(1)
    stage.reindex()
    kind = "no_shard_available_action_exception"
    stage.proxy.rule("_search", answer=(status, {"error": {"type": kind}, "status": status}), times=None)
    leg = stage.ask()
    assert [hit.record_id for hit in leg.hits] == [1]
    assert leg.degraded == "engine_unavailable"


def test_36_a_bulk_that_was_applied_but_not_answered_is_harmless_again(stage: Stage, clock: FakeClock) -> None:
    stage.reindex()
    for number in (1, 2):
        stage.put(number)
    stage.proxy.rule("_bulk", "lose_answer")
    assert not stage.follower.apply()
    assert stage.follower.lag() == 2
    clock.advance(10)
    stage.settle()
    assert stage.ids() == [1, 2]
    assert stage.follower.cluster.count(stage.index) == 2


class Held:
    """A writer that stands still with what it has read, until it is let go."""

    def __init__(self, stage: Stage, keys: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch) -> None:
        self.cluster = stage.follower.cluster
        self.actions: list[Action] = []
        with monkeypatch.context() as patch:
            patch.setattr(self.cluster, "bulk", self._hold)
            stage.follower.writer.write(keys)

    def _hold(self, actions: list[Action]) -> Any:
        self.actions = list(actions)
        return type("Report", (), {"refused": ()})

    def go(self) -> Any:
        return self.cluster.bulk(self.actions)


def test_37_a_late_older_write_never_replaces_a_newer_one(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.put(1, "Printer")
    stage.reindex()
    late = Held(stage, [(CONTENTS, 1)], monkeypatch)
    stage.put(1, "Scanner")
    stage.settle()
    assert late.go().superseded == 1
    stage.settle()
    assert (stage.ids("printer"), stage.ids("scanner")) == ([], [1])


def test_37_a_late_write_after_a_delete_brings_nothing_back(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.put(1)
    stage.reindex()
    late = Held(stage, [(CONTENTS, 1)], monkeypatch)
    stage.remove(1)
    stage.settle()
    assert late.go().superseded == 1
    stage.settle()
    assert stage.follower.cluster.count(stage.index) == 0
    settings = stage.follower.cluster._client.indices.get_settings(index=stage.index).body
    assert settings[stage.index]["settings"]["index"]["gc_deletes"] == f"{TOMBSTONE_SECONDS}s"


def test_37_a_record_that_comes_back_after_a_delete_is_found(stage: Stage) -> None:
    stage.put(1)
    stage.reindex()
    stage.remove(1)
    stage.settle()
    assert stage.ids() == []


@pytest.mark.parametrize("fate", ["lose_answer", "refuse"])
def test_38_an_alias_whose_move_was_not_answered_follows_what_serves(stage: Stage, clock: FakeClock, fate: Any) -> None:
    stage.put(1)
    stage.reindex()
    stage.proxy.rule("_aliases", fate)
    with pytest.raises(Unavailable):
        stage.reindex()
    clock.advance(10)
    stage.reindex()
    prefix = f"{stage.follower.cluster.prefix}-{CONTENTS}"
    assert list(stage.follower.cluster.indexes(prefix)) == [stage.index]
    assert stage.ids() == [1]


def test_39_an_index_that_was_deleted_by_hand_is_missed_and_built_again(stage: Stage) -> None:
    stage.put(1)
    stage.reindex()
    index = stage.index
    stage.follower.cluster.drop([index])
    assert stage.ask().degraded == "engine_unavailable"
    stage.follower.cluster._client.index(index=index, id="1", document={"record_id": "one", "passages": [1]})
    assert [one.entity for one in stage.follower.state().entities if one.index is None] == [CONTENTS]
    stage.reindex()
    assert stage.ids() == [1]


def test_40_counts_wait_for_a_refresh(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = elasticsearch_mapping.index_body

    def lazy(*arguments: Any, **options: Any) -> Any:
        body = whole(*arguments, **options)
        body["settings"]["refresh_interval"] = "-1"
        return body

    monkeypatch.setattr("app.search.engines.elasticsearch_index.index_body", lazy)
    for number in range(1, 6):
        stage.put(number)
    assert stage.reindex().refused == []
    assert stage.follower.cluster.count(stage.index) == 5
