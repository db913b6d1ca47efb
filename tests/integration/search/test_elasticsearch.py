"""Elasticsearch beside PostgreSQL: following writes, rebuilding, and what is told when it is away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from apiflask import APIFlask

from app.container import Container, build_container
from app.core.config import Config
from app.core.contracts.actor import SYSTEM
from app.core.contracts.conditions import Condition
from app.core.contracts.documents import Document
from app.core.elasticsearch.client import Action
from app.core.errors import Conflict, Unavailable
from app.core.settings.schema import SEARCH_ENGINE
from app.factory import create_app
from app.search.engines.elasticsearch_mapping import Indexed, Text, source_of
from app.search.matching import Alternative, ParsedQuery, parse_query, parse_question
from tests.fakes.clock import FakeClock
from tests.fakes.queue import RecordingQueue
from tests.fixtures.clients import Api, People
from tests.fixtures.databases import wait_until_nothing_is_older
from tests.fixtures.elasticsearch import elasticsearch_container

CONTENTS, TICKETS = "cms.contents", "sao.tickets"


@pytest.fixture
def parts(config: Config, clock: FakeClock, queue: RecordingQueue) -> Iterator[Container]:
    with elasticsearch_container(config, clock, queue) as container:
        yield container


def silent(entity: str, done: int, total: int) -> None:
    """Nobody looks at the progress."""


def follower(parts: Container) -> Any:
    assert parts.elasticsearch is not None
    return parts.elasticsearch


def put(parts: Container, record: int, title: str, entity: str = CONTENTS) -> None:
    with parts.units() as unit:
        parts.outbox.put(unit, entity, record, [Document(entity, record, "en", title, "x", 1)])


def choose(parts: Container) -> None:
    with parts.units() as unit:
        parts.settings.write_system(unit, SEARCH_ENGINE, "elasticsearch")


def found(parts: Container, question: str, tree: Any = None, entity: str = CONTENTS) -> list[int]:
    follower(parts).apply()
    follower(parts).cluster.refresh(f"{follower(parts).cluster.prefix}-*")
    with parts.units("REPEATABLE READ") as unit:
        leg = parts.word_engine.keyword(unit.session, parse_query(question), {entity: tree}, None, 50)
    assert leg.degraded is None
    return [hit.record_id for hit in leg.hits]


def titles(parts: Container) -> dict[str, int]:
    return {one.entity: one.indexed for one in follower(parts).state().entities}


def test_what_was_there_is_copied_and_what_is_written_meanwhile_follows(parts: Container) -> None:
    for number in range(1, 6):
        put(parts, number, f"Printer {number}")
    written = []

    def progress(entity: str, done: int, total: int) -> None:
        if entity == CONTENTS and not written:
            written.append((done, total))
            put(parts, 2, "Scanner")
            put(parts, 6, "Printer 6")

    follower(parts).reindex(progress)
    choose(parts)
    assert written == [(5, 5)]
    assert sorted(found(parts, "printer")) == [1, 3, 4, 5, 6]
    assert found(parts, "scanner") == [2]
    assert titles(parts)[CONTENTS] == 6


def test_an_interrupted_reindex_goes_on_where_it_stood(parts: Container, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.search.engines.elasticsearch_copy.BATCH", 2)
    for number in range(1, 6):
        put(parts, number, "Printer")

    def killed(entity: str, done: int, total: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        follower(parts).reindex(killed)
    state = next(one for one in follower(parts).state().entities if one.entity == CONTENTS)
    assert (state.index, state.copied) == (None, 4)
    with pytest.raises(Conflict):
        follower(parts).ready()
    seen: list[int] = []
    follower(parts).reindex(lambda entity, done, total: seen.append(done) if entity == CONTENTS else None)
    assert seen == [5, 5]
    follower(parts).ready()
    choose(parts)
    assert found(parts, "printer") == [1, 2, 3, 4, 5]


def test_a_second_generation_takes_over_in_one_step_and_the_first_goes_later(parts: Container) -> None:
    put(parts, 1, "Printer")
    first = follower(parts).reindex(silent).indexes
    second = follower(parts).reindex(silent).indexes
    assert [name.rpartition("-")[2] for name in (first[0], second[0])] == ["1", "2"]
    served = {one.index for one in follower(parts).state().entities}
    assert served == set(second)
    assert set(follower(parts).generations.drop_unused()) == set(first)


def test_a_plain_index_in_the_place_of_the_alias_gives_way(parts: Container) -> None:
    cluster = follower(parts).cluster
    body = {"settings": {}, "mappings": {}}
    cluster.create(f"{cluster.prefix}-{CONTENTS}", body)
    put(parts, 1, "Printer")
    follower(parts).reindex(silent)
    choose(parts)
    assert found(parts, "printer") == [1]


def test_operators_rules_and_words_that_count_as_others(parts: Container) -> None:
    for number, title in enumerate(("Red printer", "Printer, red toner", "Red scanner", "Scarlet printer"), 1):
        put(parts, number, title)
    follower(parts).reindex(silent)
    choose(parts)

    def ids(query: ParsedQuery) -> set[int]:
        with parts.units("REPEATABLE READ") as unit:
            leg = parts.word_engine.keyword(unit.session, query, {CONTENTS: None}, None, 50)
        assert leg.degraded is None
        return {hit.record_id for hit in leg.hits}

    assert ids(parse_question('"red printer"')) == {1}
    assert ids(parse_question("printer -toner")) == {1, 4}
    assert ids(parse_question("+red printer")) == {1, 2, 3}
    assert ids(parse_question("print*")) == {1, 2, 4}
    assert ids(parse_question("printer red", "strict")) == {1, 2}
    synonym = replace(parse_question("red printer", "strict"), alternatives=(Alternative(0, "scarlet", "en"),))
    assert ids(synonym) == {1, 2, 4}


def test_rows_that_left_the_scope_a_moment_ago_are_no_hits(parts: Container) -> None:
    made = []
    for category in ("news", "policy"):
        with parts.units() as unit:
            texts = {"en": {"title": "Printer", "body": "x"}}
            values = {"category": category, "status": "published", "translations": texts}
            made.append(parts.records.create(unit, SYSTEM, CONTENTS, values))
    follower(parts).reindex(silent)
    choose(parts)
    news = Condition("category", "=", "news")
    assert found(parts, "printer", news) == [made[0].id]
    with parts.units() as unit:
        parts.records.update(unit, SYSTEM, CONTENTS, made[0].id, {"category": "policy"}, made[0].revision)
    with parts.units("REPEATABLE READ") as unit:
        leg = parts.word_engine.keyword(unit.session, parse_query("printer"), {CONTENTS: news}, None, 50)
    assert (leg.hits, leg.total, leg.degraded) == ([], 0, None)


def test_conditions_on_long_texts_are_checked_in_postgresql(parts: Container) -> None:
    made = []
    for text in ("first floor", "second floor"):
        with parts.units() as unit:
            values = {"subject": "Printer", "description": text, "locale": "en", "status": "open"}
            made.append(parts.records.create(unit, SYSTEM, TICKETS, values).id)
    follower(parts).reindex(silent)
    choose(parts)
    assert found(parts, "printer", Condition("description", "like", "second%"), TICKETS) == [made[1]]


def test_a_late_older_write_never_wins_nor_brings_back_what_was_deleted(parts: Container) -> None:
    follower(parts).reindex(silent)
    cluster = follower(parts).cluster
    (index,) = {one.index for one in follower(parts).state().entities if one.entity == CONTENTS}
    old = source_of(Indexed(CONTENTS, 1, 5, [Text("en", "Old", "x")], {}))
    new = source_of(Indexed(CONTENTS, 1, 6, [Text("en", "New", "x")], {}))
    assert cluster.bulk([Action(index, "1", 6, new)]).done == 1
    assert cluster.bulk([Action(index, "1", 5, old)]).superseded == 1
    assert cluster.bulk([Action(index, "1", 7, None)]).done == 1
    assert cluster.bulk([Action(index, "1", 6, new)]).superseded == 1
    cluster.refresh(index)
    assert cluster.count(index) == 0


def test_one_bad_item_is_named_and_the_others_are_done(parts: Container) -> None:
    follower(parts).reindex(silent)
    (index,) = {one.index for one in follower(parts).state().entities if one.entity == CONTENTS}
    good = source_of(Indexed(CONTENTS, 1, 1, [Text("en", "Good", "x")], {}))
    report = follower(parts).cluster.bulk(
        [Action(index, "1", 1, good), Action(index, "2", 1, {"nothing": 1}), Action(index, "3", 1, good)]
    )
    assert (report.done, report.superseded) == (2, 0)
    assert report.refused == [(index, "2", "strict_dynamic_mapping_exception")]


def scripted(cluster: Any, monkeypatch: pytest.MonkeyPatch, *answers: list[tuple[int, str]]) -> list[int]:
    """Bulk answers in turn, each a (status, kind) per item; returns how many items each call carried."""
    sent: list[int] = []
    waiting = list(answers)

    class Answer:
        def __init__(self, items: list[tuple[int, str]]) -> None:
            self.body = {"items": [{"index": {"status": s, "error": {"type": k} if k else None}} for s, k in items]}

    def bulk(operations: list[Any]) -> Answer:
        sent.append(len(operations) // 2)
        return Answer(waiting.pop(0))

    monkeypatch.setattr(cluster._client, "bulk", bulk)
    return sent


def test_only_items_that_met_a_busy_server_are_sent_again(parts: Container, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = "es_rejected_execution_exception"
    cluster = follower(parts).cluster
    sent = scripted(cluster, monkeypatch, [(201, ""), (429, busy), (503, "")], [(429, busy), (200, "")], [(200, "")])
    report = cluster.bulk([Action("i", str(number), 1, {"a": 1}) for number in range(3)])
    assert (sent, report.done, report.refused) == ([3, 2, 1], 3, [])


def test_a_full_disk_is_no_busy_server(parts: Container, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = scripted(follower(parts).cluster, monkeypatch, [(429, "cluster_block_exception")])
    with pytest.raises(Unavailable) as raised:
        follower(parts).cluster.bulk([Action("i", "1", 1, {"a": 1})])
    assert (raised.value.code, sent) == ("engine.blocked", [1])


def test_while_it_is_away_postgresql_answers_and_says_so(
    config: Config, clock: FakeClock, queue: RecordingQueue
) -> None:
    parts = build_container(
        config.model_copy(update={"elasticsearch_url": "http://127.0.0.1:1"}), clock=clock, queue=queue
    )
    choose(parts)
    with parts.units() as unit:
        values = {"category": "news", "status": "published",
                  "translations": {"en": {"title": "Printer", "body": "x"}}}  # fmt: skip
        parts.records.create(unit, SYSTEM, CONTENTS, values)
    app: APIFlask = create_app(config, parts)
    people = People(parts)
    answer = Api(app, people.token(people.user("admin", "administrator"), "all")).get(
        "/api/v1/search?q=printer&cost=fast"
    )
    assert answer.status_code == 200
    assert [hit["title"] for hit in answer.get_json()["data"]] == ["Printer"]
    assert answer.get_json()["meta"]["search"]["degraded_reason"] == "engine_unavailable"
    parts.engine.dispose()


def test_nothing_is_followed_until_an_index_was_built(parts: Container) -> None:
    put(parts, 1, "Printer")
    assert not follower(parts).apply()
    assert follower(parts).state().lag is None
    wait_until_nothing_is_older(parts.engine)
    follower(parts).reindex(silent)
    put(parts, 2, "Printer")
    assert follower(parts).state().lag == 1
    follower(parts).stop_following()
    assert follower(parts).state().lag is None


def test_commands(parts: Container, config: Config) -> None:
    put(parts, 1, "Printer")
    runner = create_app(config, parts).test_cli_runner()
    refused = runner.invoke(args=["search", "use", "elasticsearch"])
    assert refused.exit_code == 1
    assert "reindex" in refused.output
    built = runner.invoke(args=["search", "reindex", "--engine", "elasticsearch"])
    assert built.exit_code == 0, built.output
    assert "Search still uses postgres" in built.output
    assert runner.invoke(args=["search", "use", "elasticsearch"]).output == "Search uses elasticsearch now.\n"
    told = runner.invoke(args=["search", "status"]).output
    assert "engine: elasticsearch" in told
    assert f"{CONTENTS}: 1 searchable, 1 in " in told
    assert runner.invoke(args=["search", "use", "postgres"]).exit_code == 0
    assert "not followed" in runner.invoke(args=["search", "status"]).output
