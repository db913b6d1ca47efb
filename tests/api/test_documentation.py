"""The documentation over the API: passages, answers, and who gets neither."""

from __future__ import annotations

from typing import Any

import pytest
from apiflask import APIFlask

from app.container import Container
from app.core.settings.schema import DOCS_MIN_SIMILARITY, DOCS_MOST
from tests.fakes.chat_model import FakeChatModel
from tests.fixtures.clients import Api, People


@pytest.fixture(autouse=True)
def _handbook(container: Container) -> None:
    assert container.documentation is not None
    container.documentation.index(container.units)


@pytest.fixture
def reader(app: APIFlask, people: People) -> Api:
    return Api(app, people.token(people.user("rita", "reader"), "read", "write"))


def retrieve(api: Api, **query: Any) -> Any:
    return api.get("/api/v1/documentation/retrieve", query_string=query)


def answer(api: Api, **body: Any) -> Any:
    return api.post("/api/v1/documentation/answer", json=body)


def test_passages_with_their_safe_metadata(reader: Api, api: Api) -> None:
    found = retrieve(reader, q="How do I go back to the previous model?", top_k=2)
    assert found.status_code == 200
    first = found.json["data"][0]
    assert first["metadata"]["safe_source_label"] == "Handbook: Going back to the previous model"
    assert first["url"] == "/documentation/user/going-back?locale=en"
    assert set(first) == {"number", "title", "text", "metadata", "url"}
    assert found.json["meta"]["confident"] is True
    assert len(found.json["data"]) == 2
    assert set(retrieve(api, q="previous model").json["data"][0]) == {*first, "score", "similarity"}


def test_the_language_is_the_caller_s_or_the_one_asked_for(app: APIFlask, people: People, reader: Api) -> None:
    italian = Api(app, people.token(people.user("ugo", "reader", locale="it"), "read"))
    for api, query in ((italian, {}), (reader, {"locale": "it"})):
        data = retrieve(api, q="password", **query).json["data"]
        assert {one["metadata"]["locale"] for one in data} == {"it"}


def test_an_answer_without_a_model_is_the_passages(reader: Api) -> None:
    said = answer(reader, question="How do I change my password?", sources=True).json
    assert (said["outcome"], said["claims"], said["meta"]["model_degraded"]) == ("passages", [], "no_model")
    assert said["sources_block"].startswith("[1] Handbook: Signing in and out / Change your password")
    assert said["sources"][0]["metadata"]["heading_breadcrumb"] == ["Change your password"]
    assert "sources_block" not in answer(reader, question="How do I change my password?").json


def test_an_answer_by_a_model(reader: Api, container: Container) -> None:
    assert container.answering is not None
    container.answering.chat = FakeChatModel("Open your account page [1]. Or wait.")
    said = answer(reader, question="How do I change my password?").json
    assert said["claims"] == [
        {"text": "Open your account page.", "cites": [1], "supported": True},
        {"text": "Or wait.", "cites": [], "supported": False},
    ]
    assert [one["number"] for one in said["sources"]] == [1]
    assert said["meta"]["model"] == "fake-chat"


def test_the_setting_says_how_many_passages_there_are_unless_the_caller_does(reader: Api, container: Container) -> None:
    def count(**query: Any) -> int:
        return len(retrieve(reader, q="model", **query).json["data"])

    assert count() == 5
    with container.units() as unit:
        container.settings.write_system(unit, DOCS_MOST, 2)
    assert (count(), count(top_k=3), count(top_k=0), count(top_k=-7)) == (2, 3, 1, 1)
    assert count(top_k=99) == 10
    assert len(answer(reader, question="password").json["sources"]) <= 2


def test_the_least_similarity_is_a_setting_in_thousandths(container: Container) -> None:
    assert container.answering is not None
    limits = container.answering.retrieval._limits
    with container.units() as unit:
        assert limits(unit.session).min_similarity is None
        container.settings.write_system(unit, DOCS_MIN_SIMILARITY, 812)
        assert limits(unit.session).min_similarity == 0.812


def test_what_the_model_writes_is_held_against_the_passages(reader: Api, container: Container) -> None:
    assert container.answering is not None
    container.answering.chat = FakeChatModel("Open [it](https://evil.example/?q=1) [1][8]. ![p](//evil.example/p.png)")
    said = answer(reader, question="How do I change my password?").json
    assert said["claims"] == [
        {"text": "Open it.", "cites": [1], "supported": True},
        {"text": "p", "cites": [], "supported": False},
    ]
    assert (said["meta"]["dropped_citations"], said["meta"]["removed_links"]) == (1, 2)


def test_another_form_than_prose_is_no_answer(reader: Api, container: Container) -> None:
    assert container.answering is not None
    container.answering.chat = FakeChatModel('{"outcome": "answered", "claims": []}')
    said = answer(reader, question="How do I change my password?").json
    assert (said["outcome"], said["claims"], said["meta"]["model_degraded"]) == ("passages", [], "model_off_form")
    assert said["sources"]


def test_what_is_not_documented(reader: Api) -> None:
    said = answer(reader, question="How long must risotto simmer with mushrooms?").json
    assert (said["outcome"], said["sources"]) == ("not_documented", [])


def test_refusals(reader: Api, app: APIFlask, people: People) -> None:
    assert retrieve(reader, q="worker", corpus="developer").status_code == 403
    nobody = Api(app, people.token(people.user("nina"), "read", "write"))
    assert answer(nobody, question="password").status_code == 403
    assert retrieve(reader, q=" ").status_code == 422
    assert retrieve(reader, q="x" * 2001).status_code == 422
    assert retrieve(reader).status_code == 422
    assert retrieve(reader, q="x", corpus="all").status_code == 422
    assert retrieve(reader, q="x", index="y").status_code == 422
    assert answer(reader, question="x", top_k="3").status_code == 422
