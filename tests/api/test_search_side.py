"""``GET /api/v1/search/suggestions``, ``…/health`` and what narrows a search by declared fields."""

from __future__ import annotations

from typing import Any

import pytest
from apiflask import APIFlask

from app.container import Container
from app.core.contracts.actor import SYSTEM
from tests.fixtures.clients import Api, People

SUGGESTIONS = "/api/v1/search/suggestions"


def ticket(container: Container, subject: str, **values: Any) -> int:
    with container.units() as unit:
        made = {"subject": subject, "description": "It does not work.", "locale": "en", **values}
        return container.records.create(unit, SYSTEM, "sao.tickets", made).id


@pytest.fixture
def tickets(container: Container) -> None:
    for subject in ("Printer on fire", "Printer without toner", "Printing slowly", "Stampante rotta"):
        ticket(container, subject, locale="it" if subject.startswith("Stampante") else "en")
    container.word_statistics.refresh(seconds=None)


def words(api: Api, **asked: str) -> list[str]:
    answer = api.get(SUGGESTIONS, query_string=asked)
    assert answer.status_code == 200, answer.json
    return [one["word"] for one in answer.json["data"]]


@pytest.mark.usefixtures("tickets")
def test_the_last_word_is_completed_most_texts_first(api: Api) -> None:
    assert words(api, q="prin") == ["printer", "printing"]
    answer = api.get(SUGGESTIONS, query_string={"q": "The red +prin"}).json["data"]
    assert [one["q"] for one in answer] == ["The red +printer", "The red +printing"]
    assert words(api, q="prin", limit="1") == ["printer"]


@pytest.mark.usefixtures("tickets")
@pytest.mark.parametrize("q", ["", "p", "printer ", "-prin", "SAO-1", "printer", "?!", "prin\u0000"])
def test_nothing_is_completed_where_no_word_is_begun(api: Api, q: str) -> None:
    assert words(api, q=q) == []


@pytest.mark.usefixtures("tickets")
def test_only_where_it_would_be_looked_for(api: Api, app: APIFlask, people: People) -> None:
    assert words(api, q="prin", entity="cms.contents") == []
    assert words(api, q="stam", locale="en") == []
    assert words(api, q="stam", locale="it") == ["stampante"]
    with people.container.units() as unit:
        people.container.access.ensure_roles(unit)
    nobody = Api(app, people.token(people.user("nobody"), "all"))
    assert words(nobody, q="prin") == []
    assert nobody.get(SUGGESTIONS, query_string={"q": "prin", "entity": "sao.tickets"}).status_code == 403


@pytest.mark.parametrize(
    "asked", [{}, {"q": "x", "locale": "fr"}, {"q": "x", "limit": "21"}, {"q": "x" * 4001}, {"q": "x", "more": "1"}]
)
def test_what_is_not_known_is_refused(api: Api, asked: dict[str, str]) -> None:
    assert api.get(SUGGESTIONS, query_string=asked).status_code == 422


def test_an_unknown_kind_is_refused(api: Api) -> None:
    answer = api.get(SUGGESTIONS, query_string={"q": "prin", "entity": "no.such"})
    assert answer.status_code == 422
    assert "sao.tickets" in answer.json["errors"][0]["detail"]


def test_a_search_is_narrowed_by_declared_fields(api: Api, container: Container) -> None:
    closed = ticket(container, "Printer one", status="closed")
    high = ticket(container, "Printer two", status="open", priority="high")
    ticket(container, "Printer three", status="open")

    def ask(*only: str, **asked: str) -> Any:
        answer = api.get("/api/v1/search", query_string={"q": "printer", "cost": "fast", "only": only, **asked})
        assert answer.status_code == 200, answer.json
        return answer.json

    assert ask("sao.tickets.status:open")["meta"]["total"] == 2
    assert ask("sao.tickets.status:open", "sao.tickets.status:closed")["meta"]["total"] == 3
    (hit,) = ask("sao.tickets.status:open", "sao.tickets.priority:high")["data"]
    assert hit["id"] == high
    facets = ask("sao.tickets.status:closed", facets="true")["meta"]["facets"]
    assert {"name": "status", "entity": "sao.tickets", "values": [{"value": "closed", "count": 1}]} in facets
    told = ask("sao.tickets.status:closed", explain="true")["meta"]["explain"]
    assert told["removed"]["only"] == 2
    empty = ask("sao.tickets.status:waiting")
    assert {"change": "only", "total": 3} in empty["meta"]["relaxations"]
    why = {"q": "printer", "entity": "sao.tickets", "only": "sao.tickets.status:open"}
    for record, reason in ((closed, "only_filter"), (high, "found")):
        answer = api.get("/api/v1/search/why", query_string={**why, "id": str(record)})
        assert answer.json["data"]["reason"] == reason


@pytest.mark.parametrize(
    "only", ["status", "sao.tickets.status", "sao.tickets.requester:anna", "sao.tickets.subject:x", "no.such.field:x"]
)
def test_narrowing_by_anything_else_is_refused(api: Api, only: str) -> None:
    answer = api.get("/api/v1/search", query_string={"q": "printer", "only": only})
    assert answer.status_code == 422
    assert {item["path"] for item in answer.json["errors"]} == {"only"}


def test_the_health_of_the_engines(api: Api, container: Container, app: APIFlask, people: People) -> None:
    ticket(container, "Printer")
    answer = api.get("/api/v1/search/health")
    assert answer.status_code == 200
    (engine,) = answer.json["items"]
    assert (engine["engine"], engine["chosen"], engine["lag"], engine["problems"]) == ("postgres", True, 0, [])
    held = {index["name"]: index for index in engine["indexes"]}["search_documents_words_idx"]
    assert (held["documents"], held["expected"], held["valid"], held["ready"]) == (1, 1, True, True)
    assert engine["size"] >= held["size"] > 0
    with people.container.units() as unit:
        people.container.access.ensure_roles(unit)
    reader = Api(app, people.token(people.user("anna", "reader"), "all"))
    assert reader.get("/api/v1/search/health").status_code == 403
