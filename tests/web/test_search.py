"""The search page."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from apiflask import APIFlask

from app.container import Container
from app.core.contracts.actor import SYSTEM
from app.core.contracts.documents import Document
from app.search.engines.ports import TooSlow
from app.search.explain import Reason
from app.search.reasons import REASONS
from app.web import search_words
from app.web.search_words import DEGRADED
from tests.fixtures.clients import Browser


@pytest.fixture
def ticket(container: Container) -> int:
    with container.units() as unit:
        values = {"subject": "Printer <on> fire", "description": "The <script>printer</script> burns.", "locale": "en"}
        return container.records.create(unit, SYSTEM, "sao.tickets", values).id


def test_before_the_first_search(admin_client: Browser) -> None:
    answer = admin_client.get("/search")
    assert answer.status_code == 200
    assert "What are you looking for?" in answer.text


def test_results_are_marked_and_escaped(admin_client: Browser, ticket: int) -> None:
    page = admin_client.get("/search?q=printer").text
    assert f"/records/sao.tickets/{ticket}" in page
    assert "<mark>Printer</mark> &lt;on&gt; fire" in page
    assert "&lt;script&gt;<mark>printer</mark>&lt;/script&gt;" in page
    assert "SAO-1" in page
    assert "no text has been embedded" in page


def test_htmx_gets_the_results_alone(admin_client: Browser, ticket: int) -> None:
    part = admin_client.get("/search?q=printer", headers={"HX-Request": "true"}).text
    assert "<html" not in part
    assert "<mark>Printer</mark>" in part


@pytest.mark.parametrize(
    "query", ["q=printer&cost=free", "q=printer&page=x", "q=printer&entity=no.such", "q=printer&matching=x"]
)
def test_a_wrong_address_is_refused_with_the_form(admin_client: Browser, query: str) -> None:
    answer = admin_client.get(f"/search?{query}")
    assert answer.status_code == 422
    assert 'value="printer"' in answer.text


def test_an_empty_page_offers_looser_searches(admin_client: Browser, ticket: int) -> None:
    page = admin_client.get("/search?q=printer&entity=cms.contents&cost=fast").text
    assert "Look in everything" in page
    assert "Look by meaning too" in page


def test_nobody_is_sent_to_sign_in(app: APIFlask) -> None:
    assert Browser(app).get("/search?q=printer").status_code in (302, 303)


def test_a_misspelt_word_is_said(admin_client: Browser, ticket: int) -> None:
    page = admin_client.get("/search?q=pritner&cost=fast").text
    assert "Looked for this spelling, too:" in page
    assert "q=printer" in page
    assert "<mark>Printer</mark>" in page


def test_what_the_matches_are(admin_client: Browser, ticket: int, container: Container) -> None:
    with container.units() as unit:
        values = {"status": "published", "category": "x", "translations": {"en": {"title": "Printer", "body": "x"}}}
        container.records.create(unit, SYSTEM, "cms.contents", values)
    page = admin_client.get("/search?q=printer&cost=fast").text
    assert "entity=sao.tickets" in page
    assert "Counted are the records that the words match" in page


def test_the_explanation(admin_client: Browser, ticket: int) -> None:
    page = admin_client.get("/search?q=printer&cost=fast&explain=true&entity=sao.tickets").text
    assert "Left out by the kind" in page
    assert "nothing: it was not asked for" in page
    assert "Weight of the words" in page


def test_what_there_was_no_time_for_is_said(
    admin_client: Browser, container: Container, ticket: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = "/search?q=printer&cost=fast&explain=true&entity=sao.tickets"
    assert "There was no time" not in admin_client.get(asked).text
    monkeypatch.setattr(container.search, "_engine", WithoutTime())
    page = admin_client.get(asked).text
    assert "1 result" in page
    assert "There was no time to count all that is told here." in page
    assert "There was no time to count the values to narrow by." in page
    assert "Left out by the kind" not in page
    page = admin_client.get("/search?q=zzzzqqqq&cost=fast&explain=true&entity=sao.tickets").text
    assert "nothing: there was no time to find out why" in page


class WithoutTime:
    """The engine that counts beside the hits, when it is late."""

    def keyword(self, *asked: Any) -> Any:
        raise TooSlow

    def facets(self, *asked: Any) -> Any:
        raise TooSlow


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ("q=printer&id={id}", "It is there, at place 1."),
        ("q=scanner&id={id}", "None of the words stands in it."),
        ("q=printer&id=999", "There is no such record, or you may not see it."),
        ("q=printer&id=x", "There is no such record, or you may not see it."),
    ],
)
def test_why_a_record_is_not_here(admin_client: Browser, ticket: int, asked: str, sentence: str) -> None:
    page = admin_client.get(f"/search?cost=fast&of=sao.tickets&{asked.format(id=ticket)}").text
    assert sentence in page


def test_a_value_narrows_the_search_and_its_chip_widens_it(admin_client: Browser, container: Container) -> None:
    for status in ("open", "closed"):
        with container.units() as unit:
            values = {"subject": f"Printer {status}", "description": "x", "locale": "en", "status": status}
            container.records.create(unit, SYSTEM, "sao.tickets", values)
    page = admin_client.get("/search?q=printer&cost=fast").text
    assert "only=sao.tickets.status%3Aclosed" in page
    page = admin_client.get("/search?q=printer&cost=fast&only=sao.tickets.status:closed").text
    assert "1 result" in page
    assert "Status: Closed" in page
    assert '<input type="hidden" name="only" value="sao.tickets.status:closed">' in page
    assert 'aria-label="Remove the filter Status: Closed"' in page
    empty = admin_client.get("/search?q=printer&cost=fast&only=sao.tickets.status:waiting").text
    assert "Look without the filters (2)" in empty
    assert admin_client.get("/search?q=printer&only=sao.tickets.subject:x").status_code == 422


def test_the_end_of_the_window_is_said(admin_client: Browser, container: Container) -> None:
    for number in range(1, 202):
        with container.units() as unit:
            document = Document("documentation.user", number, "en", "Printer", "x", 1)
            container.outbox.put(unit, "documentation.user", number, [document])
    page = admin_client.get("/search?q=printer&cost=fast&page=10").text
    assert "This is the end: the first 200" in page
    assert "This is the end" not in admin_client.get("/search?q=printer&cost=fast&page=9").text
    assert "There are no more results" in admin_client.get("/search?q=printer&cost=fast&page=11").text


def test_every_reason_has_a_sentence() -> None:
    assert set(REASONS) == set(DEGRADED)
    assert set(get_args(Reason)) - {"found"} == set(search_words.REASONS)
