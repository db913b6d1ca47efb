"""Facets, how an answer came about, and why a record is not in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from redis import Redis

from app.container import Container, build_container
from app.core.config import Config
from app.core.contracts.actor import SYSTEM, Actor
from app.core.contracts.conditions import Condition
from app.core.contracts.documents import Document
from app.core.errors import Forbidden, NotFound
from app.core.settings.schema import DEEP_PER_MINUTE
from app.search.answer import SearchRequest
from tests.fakes.queue import RecordingQueue
from tests.fixtures.patience import patient
from tests.integration.search.conftest import CONTENTS, Stage

TICKETS = "sao.tickets"
READER = Actor(1, "reader", "Reader", permissions=frozenset({f"{CONTENTS}.select", f"{TICKETS}.select"}))


@pytest.fixture
def made(container: Container) -> dict[str, int]:
    def content(unit: Any, category: str, **titles: str) -> int:
        texts = {code: {"title": title, "body": "x"} for code, title in titles.items()}
        values = {"status": "published", "category": category, "translations": texts}
        return container.records.create(unit, SYSTEM, CONTENTS, values).id

    with container.units() as unit:
        ids = {
            "news": content(unit, "news", en="Printer", it="Printer"),
            "rules": content(unit, "rules", en="Printer rules"),
            "scanner": content(unit, "rules", en="Scanner"),
        }
        draft = {"status": "draft", "category": "x", "translations": {"en": {"title": "Printer draft", "body": "x"}}}
        ids["draft"] = container.records.create(unit, SYSTEM, CONTENTS, draft).id
        ticket = {"subject": "Printer on fire", "description": "x", "locale": "en", "status": "open"}
        ids["ticket"] = container.records.create(unit, SYSTEM, TICKETS, ticket).id
    return ids


def ask(container: Container, q: str, actor: Actor = SYSTEM, **options: Any) -> Any:
    return container.search.search(actor, SearchRequest(q, **{"cost": "fast", "facets": True, **options}))


def facets(found: Any) -> dict[tuple[str | None, str], dict[str, int]]:
    return {(one.entity, one.name): dict(one.values) for one in found.facets}


def test_facets_count_what_the_total_counts(container: Container, made: dict[str, int]) -> None:
    found = ask(container, "printer")
    counted = facets(found)
    assert found.total == 3
    assert counted[None, "entity"] == {CONTENTS: 2, TICKETS: 1}
    assert counted[None, "locale"] == {"en": 3, "it": 1}
    assert counted[CONTENTS, "category"] == {"news": 1, "rules": 1}
    assert counted[CONTENTS, "status"] == {"published": 2}
    assert counted[TICKETS, "status"] == {"open": 1}
    assert (TICKETS, "locale") not in counted
    assert facets(ask(container, "printer -rules"))[CONTENTS, "category"] == {"news": 1}
    assert facets(ask(container, "printer", facets=False)) == {}


def test_facets_stay_within_what_the_asker_may_see(container: Container, made: dict[str, int]) -> None:
    blind = replace(READER, rows={f"{CONTENTS}.select": Condition("category", "=", "news")})
    counted = facets(ask(container, "printer", blind, entities=(CONTENTS,)))
    assert counted[CONTENTS, "category"] == {"news": 1}
    untold = replace(READER, readable={CONTENTS: frozenset({"title", "body", "status"})})
    counted = facets(ask(container, "printer", untold))
    assert (CONTENTS, "category") not in counted
    assert (CONTENTS, "status") in counted


def test_the_legs_and_what_filters_took_away(container: Container, made: dict[str, int]) -> None:
    told = ask(container, "printer", entities=(CONTENTS,), locale="it", explain=True).explain
    words, vectors = told["legs"]
    assert (words["hits"], words["total"], words["empty_because"]) == (1, 1, None)
    assert (vectors["ran"], vectors["empty_because"]) == (False, "not_asked")
    assert told["removed"] == {"locale": 1, "entity": 0}
    assert ask(container, "printer", entities=(CONTENTS,), explain=True).explain["removed"] == {"entity": 1}
    assert ask(container, "printer").explain is None


@pytest.mark.parametrize(
    ("q", "options", "reason"),
    [
        ("zzzzqqqq", {}, "no_term"),
        ("?!", {}, "no_terms"),
        ('"printer scanner"', {}, "demands"),
        ("printer zzzzqqqq", {"matching": "strict"}, "matching"),
        ("scanner", {"locale": "it"}, "locale_filter"),
        ("scanner", {"entities": (TICKETS,)}, "entity_filter"),
    ],
)
def test_why_a_leg_is_empty(container: Container, made: dict[str, int], q: str, options: Any, reason: str) -> None:
    found = ask(container, q, explain=True, **options)
    assert found.hits == ()
    assert found.explain["legs"][0]["empty_because"] == reason


def test_scores_and_rules_are_told_to_administrators_only(stage: Stage) -> None:
    stage.put(1, (1, 0, 0, 0), en="the printer")
    stage.put(2, (0.5, 0.5, 0, 0), en="a printer and another printer")
    request = SearchRequest("printer", explain=True)
    admin = stage.search().search(SYSTEM, request)
    assert admin.explain["fusion"]["known_idf_mass"] == 1.0
    assert admin.explain["fusion"]["word_weight"] + admin.explain["fusion"]["vector_weight"] == 1.0
    by_id = {hit.id: hit.explain for hit in admin.hits}
    assert by_id[1]["vector"] == {"score": 1.0, "part": 1.0}
    assert by_id[2]["words"]["part"] == 1.0
    plain = stage.search().search(READER, request)
    assert "fusion" not in plain.explain
    assert [hit.explain for hit in plain.hits] == [None, None]


def test_what_row_rules_took_away_is_for_administrators(container: Container, made: dict[str, int]) -> None:
    rules = {f"{CONTENTS}.select": Condition("category", "=", "news")}
    asked: dict[str, Any] = {"entities": (CONTENTS,), "explain": True}
    blind = ask(container, "printer", replace(READER, rows=rules), **asked)
    assert (blind.total, "rows" in blind.explain["removed"]) == (1, False)
    admin = replace(READER, permissions=frozenset({"*"}), rows=rules)
    assert ask(container, "printer", admin, **asked).explain["removed"]["rows"] == 1


def test_why_a_vector_leg_is_empty(stage: Stage) -> None:
    stage.put(1, (1, 0, 0, 0), en="the printer")
    stage.execute("update serving set suspended_reason = 'switching'")
    told = stage.search().search(SYSTEM, SearchRequest("printer", explain=True)).explain
    assert told["legs"][1] == {"leg": "vector", "ran": False, "hits": 0, "took_ms": None, "empty_because": "switching"}


@pytest.mark.parametrize(
    ("of", "q", "options", "reason"),
    [
        ("news", "printer", {}, "found"),
        ("draft", "printer", {}, "not_searchable"),
        ("scanner", "printer", {}, "no_term"),
        ("rules", "printer", {"locale": "it"}, "locale_filter"),
        ("news", "printer", {"entities": (TICKETS,)}, "entity_filter"),
        ("news", "printer -printer", {}, "demands"),
        ("news", "printer rules", {"matching": "strict"}, "matching"),
        ("news", "?!", {}, "no_words"),
    ],
)
def test_which_step_lost_a_record(
    container: Container, made: dict[str, int], of: str, q: str, options: Any, reason: str
) -> None:
    why = container.search.why(SYSTEM, SearchRequest(q, cost="fast", **options), CONTENTS, made[of])
    assert (why.reason, why.place is not None) == (reason, reason == "found")


def test_a_record_below_the_window(container: Container, made: dict[str, int]) -> None:
    with container.units() as unit:
        for record in range(1000, 1201):
            text = "printer " * 5
            container.outbox.put(unit, CONTENTS, record, [Document(CONTENTS, record, "en", "Printer printer", text, 1)])
    why = container.search.why(SYSTEM, SearchRequest("printer", cost="fast"), CONTENTS, made["rules"])
    assert (why.reason, why.words_rank, why.place) == ("window", None, None)


def test_a_record_that_may_not_be_seen_is_not_there(container: Container, made: dict[str, int]) -> None:
    request = SearchRequest("printer", cost="fast")
    blind = replace(READER, rows={f"{CONTENTS}.select": Condition("category", "=", "news")})
    assert container.search.why(blind, request, CONTENTS, made["news"]).reason == "found"
    for record in (made["rules"], 99_999):
        with pytest.raises(NotFound):
            container.search.why(blind, request, CONTENTS, record)
    with pytest.raises(Forbidden):
        container.search.why(Actor(2, "n", "N"), request, CONTENTS, made["news"])


@pytest.fixture
def counter(redis_url: str) -> Iterator[str]:
    valkey = Redis.from_url(redis_url)

    def forget() -> None:
        for key in valkey.keys("search:deep:*"):
            valkey.delete(key)

    forget()
    yield redis_url
    forget()
    valkey.close()


def test_deep_searches_are_counted_for_each_person(config: Config, made: dict[str, int], counter: str) -> None:
    parts = patient(build_container(config.model_copy(update={"redis_url": counter}), queue=RecordingQueue()))
    with parts.units() as unit:
        parts.settings.write_system(unit, DEEP_PER_MINUTE, 2)
    reasons = [ask(parts, "printer", READER, cost="deep").meta.degraded_reason for _ in range(3)]
    assert reasons == ["deep_unavailable", "deep_unavailable", "rate_limited"]
    limited = ask(parts, "printer", READER, cost="deep")
    assert (limited.meta.mode_applied, limited.meta.cost, len(limited.hits)) == ("fast", "deep", 3)
    other = ask(parts, "printer", replace(READER, id=2), cost="deep")
    assert other.meta.degraded_reason == "deep_unavailable"
    assert ask(parts, "printer", READER, cost="deep", mode="basic").meta.degraded_reason is None
    parts.engine.dispose()


def test_a_counter_that_is_away_limits_nobody(container: Container, made: dict[str, int]) -> None:
    with container.units() as unit:
        container.settings.write_system(unit, DEEP_PER_MINUTE, 0)
    assert ask(container, "printer", cost="deep").meta.degraded_reason == "deep_unavailable"
