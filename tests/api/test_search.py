"""``GET /api/v1/search``."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from apiflask import APIFlask

from app.container import Container
from app.core.contracts.actor import SYSTEM
from app.search.engines.ports import TooSlow
from tests.fixtures.clients import Api, People


@pytest.fixture
def ticket(container: Container) -> int:
    with container.units() as unit:
        values = {"subject": "Printer on fire", "description": "The <b>printer</b> on floor 2 burns.", "locale": "en"}
        return container.records.create(unit, SYSTEM, "sao.tickets", values).id


def test_a_hit(api: Api, ticket: int) -> None:
    answer = api.get("/api/v1/search?q=burning+printers")
    assert answer.status_code == 200
    (hit,) = answer.json["data"]
    assert (hit["entity"], hit["id"], hit["key"], hit["title"]) == ("sao.tickets", ticket, "SAO-1", "Printer on fire")
    assert hit["url"] == f"/records/sao.tickets/{ticket}"
    assert {"text": "printer", "marked": True} in hit["snippet"]
    assert "".join(piece["text"] for piece in hit["snippet"]) == "The <b>printer</b> on floor 2 burns."
    assert hit["legs"] == {"words_rank": 1, "vector_rank": None}
    meta = answer.json["meta"]
    assert (meta["total"], meta["total_relation"], meta["page"], meta["pages"]) == (1, "eq", 1, 1)
    assert meta["search"]["vector_disabled"] == "no_vectors"
    assert meta["search"]["mode"] == "auto"
    assert meta["search"]["cost"] == "balanced"
    assert meta["search"]["legs"] == {"words": 1, "vector": 0}
    assert meta["search"]["window"] == 200


@pytest.mark.parametrize(
    ("query", "path", "named"),
    [
        ("q=x&cost=free", "cost", "fast, balanced, deep"),
        ("q=x&mode=odd", "mode", "auto, basic, orchestrated"),
        ("q=x&matching=fuzzy", "matching", "strict, balanced, tolerant, auto"),
        ("q=x&retries=99", "retries", "0 … 10"),
        ("q=x&locale=fr", "locale", "en, it"),
        ("q=x&entity=no.such", "entity", "sao.tickets"),
        ("", "q", ""),
        ("q=x&page=-1", "page", ""),
        ("q=x&fuzzy=1", "fuzzy", ""),
        ("q=x&q=y", "q", ""),
    ],
)
def test_bad_input_names_the_field_and_what_is_allowed(api: Api, query: str, path: str, named: str) -> None:
    answer = api.get(f"/api/v1/search?{query}")
    assert answer.status_code == 422
    fields = {item["path"]: item["detail"] for item in answer.json["errors"]}
    assert named in fields[path]


def test_entities_as_a_list_and_pages(api: Api, ticket: int) -> None:
    asked = "/api/v1/search?q=printer&cost=fast"
    assert api.get(f"{asked}&entity=sao.tickets,cms.contents").json["meta"]["total"] == 1
    assert api.get(f"{asked}&entity=cms.contents&entity=sao.tickets").json["meta"]["total"] == 1
    assert api.get(f"{asked}&entity=cms.contents").json["data"] == []
    beyond = api.get(f"{asked}&page=7").json
    assert (beyond["data"], beyond["meta"]["search"]["note"]) == ([], "beyond_window")


@pytest.mark.parametrize(
    "question", ['"open', "the+of", "%3F%21", "%F0%9F%9A%80", "x" * 4000, "%00", "SAO-1", "%27%20or%201=1"]
)
def test_no_question_is_a_failure(api: Api, ticket: int, question: str) -> None:
    assert api.get(f"/api/v1/search?q=a{question}").status_code in (200, 422)
    assert api.get(f"/api/v1/search?q={question}").status_code in (200, 422)


ODD = {
    "4,000 characters": "printer " * 500,
    "4,000 letters": "x" * 4000,
    "a thousand words": " ".join(f"w{number}" for number in range(700)),
    "control characters": "prin\x01ter\x0b\x1f\x7f",
    "line ends": "printer\r\n\u2028fire",
    "a null": "printer\x00fire",
    "an open quote": '"printer on',
    "open quotes": '"" " """printer',
    "a lone plus": "+ - * +",
    "operators": "printer & ! | ( ) <-> :* \\ '",
    "stop words": "the of and il la",
    "a demanded stop word": "+the +of",
    "punctuation": "?!…;:()[]{}",
    "emoji": "🚀🔥 👩‍👩‍👧‍👦",
    "right to left": "\u202eطابعة الطابق الثاني\u202c",
    "hebrew": "מדפסת בקומה",
    "chinese": "打印机着火了",
    "japanese": "プリンターが燃えている",
    "korean": "프린터 화재",
    "combining marks": "p" + "\u0301" * 300,
    "sql": "'; drop table users; --",
    "a lone surrogate": "\ud800printer",
    "everything excluded": "-printer -fire",
}


@pytest.mark.parametrize("how", ["cost=fast", "cost=balanced&matching=strict", "cost=deep&matching=tolerant&retries=2"])
@pytest.mark.parametrize("name", ODD)
def test_an_odd_question_gets_an_answer(api: Api, ticket: int, name: str, how: str) -> None:
    asked = quote(ODD[name], safe="", errors="surrogatepass")
    answer = api.get(f"/api/v1/search?q={asked}&{how}&facets=1&explain=1")
    assert answer.status_code == 200, answer.json
    assert answer.json["meta"]["search"]["degraded_reason"] in (None, "deep_unavailable", "vectors_unavailable")
    assert answer.json["meta"]["total"] == len(answer.json["data"])


def test_a_question_that_is_too_long_or_blank_is_refused(api: Api) -> None:
    for question in ("x" * 4001, "%20", "%0A%09"):
        answer = api.get(f"/api/v1/search?q={question}")
        assert (answer.status_code, answer.json["errors"][0]["path"]) == (422, "q")


def test_who_may_ask(app: APIFlask, people: People, ticket: int) -> None:
    assert app.test_client().get("/api/v1/search?q=printer").status_code == 401
    reader = Api(app, people.token(people.user("rita", "reader"), "read"))
    answer = reader.get("/api/v1/search?q=printer")
    assert len(answer.json["data"]) == 1
    assert "similarity" not in answer.json["data"][0]["legs"]
    nobody = Api(app, people.token(people.user("nora"), "read"))
    assert nobody.get("/api/v1/search?q=printer").json["data"] == []
    assert reader.get("/api/v1/search?q=x&entity=documentation.developer").status_code == 403


def test_facets_explanation_and_suggestions(api: Api, ticket: int) -> None:
    meta = api.get("/api/v1/search?q=printer&cost=fast&facets=1&explain=1").json["meta"]
    assert {"name": "entity", "entity": None, "values": [{"value": "sao.tickets", "count": 1}]} in meta["facets"]
    assert [leg["leg"] for leg in meta["explain"]["legs"]] == ["keyword", "vector"]
    assert meta["search"]["matching"]["requested_preference"] == "auto"
    assert meta["search"]["retries_used"] == 0
    meta = api.get("/api/v1/search?q=pritner&cost=fast&matching=strict").json["meta"]
    assert (meta["did_you_mean"], meta["total"], meta["search"]["corrected"]) == ("printer", 1, True)
    assert "facets" not in meta
    assert "explain" not in meta
    meta = api.get("/api/v1/search?q=printer&cost=fast&entity=cms.contents").json["meta"]
    assert meta["relaxations"] == [{"change": "entity", "total": 1}]


def test_what_there_was_no_time_for_is_named(
    api: Api, container: Container, ticket: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Late:
        def __getattr__(self, name: str) -> Any:
            return getattr(container.word_engine, name)

        def keyword(self, *asked: Any) -> Any:
            raise TooSlow

        facets = keyword

    monkeypatch.setattr(container.search, "_engine", Late())
    asked = "q=printer&cost=fast&entity=sao.tickets&facets=1&explain=1"
    answer = api.get(f"/api/v1/search?{asked}").json
    assert [hit["id"] for hit in answer["data"]] == [ticket]
    assert answer["meta"]["search"]["left_out"] == ["facets", "explain"]
    assert answer["meta"]["explain"]["removed"] == {}
    why = f"/api/v1/search/why?entity=sao.tickets&id={ticket}&cost=fast"
    assert api.get(f"{why}&q=printer").json["data"]["reason"] == "found"
    assert api.get(f"{why}&q=scanner").json["data"]["reason"] == "no_time"


def test_scores_of_an_explanation_are_for_administrators(app: APIFlask, people: People, ticket: int, api: Api) -> None:
    asked = "/api/v1/search?q=printer&cost=fast&explain=true"
    assert api.get(asked).json["data"][0]["explain"]["words"]["part"] == 1.0
    reader = Api(app, people.token(people.user("rita", "reader"), "read"))
    told = reader.get(asked).json
    assert "explain" not in told["data"][0]
    assert set(told["meta"]["explain"]) == {"legs", "removed"}


def test_why_a_record_is_not_here(app: APIFlask, people: People, ticket: int, api: Api) -> None:
    asked = f"/api/v1/search/why?entity=sao.tickets&id={ticket}&cost=fast"
    assert api.get(f"{asked}&q=printer").json["data"]["reason"] == "found"
    assert api.get(f"{asked}&q=scanner").json["data"]["reason"] == "no_term"
    assert api.get(f"{asked}&q=printer&among=cms.contents").json["data"]["reason"] == "entity_filter"
    assert api.get("/api/v1/search/why?entity=sao.tickets&id=999&q=printer").status_code == 404
    assert api.get("/api/v1/search/why?entity=sao.tickets&id=x&q=printer").status_code == 422
    assert api.get("/api/v1/search/why?entity=no.such&id=1&q=printer").status_code == 422
    assert api.get(f"/api/v1/search/why?entity=sao.tickets&id={ticket}").status_code == 422
    nobody = Api(app, people.token(people.user("nora"), "read"))
    assert nobody.get(f"{asked}&q=printer").status_code == 403
