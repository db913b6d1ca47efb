"""Lists of records: filters in the address, columns of one's own, cursor pages, export, fields that are kept back."""

from __future__ import annotations

import json
import re
from html import unescape
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from apiflask import APIFlask

from app.container import Container
from app.core.contracts.actor import SYSTEM
from app.core.crud.serialise import Record
from tests.fixtures.clients import Browser, People

CONTENTS = "/records/cms.contents"


def make(container: Container, title: str, **fields: str) -> Record:
    values = {
        "translations": {"en": {"title": title, "body": "x"}},
        "status": "published",
        "category": "news",
        **fields,
    }
    with container.units() as unit:
        found = container.records.create(unit, SYSTEM, "cms.contents", values)
    assert isinstance(found, Record)
    return found


def titles(text: str) -> list[str]:
    """The titles of the rows, in order."""
    return [unescape(title) for title in re.findall(r'<th scope="row"><a [^>]*>([^<]*)</a>', text)]


def headers(text: str) -> list[str]:
    return re.findall(r'<th scope="col"[^>]*><a [^>]*>([^<]*)', text)


def chips(text: str) -> list[tuple[str, str]]:
    """(words, address that removes it) of each chip."""
    found = re.findall(r'<a class="chip[^"]*" href="([^"]*)"[^>]*><span>([^<]*)</span>', text)
    return [(unescape(words), unescape(href)) for href, words in found]


def filtered(tree: object) -> str:
    return f"{CONTENTS}?filter={quote(json.dumps(tree))}"


def test_a_filter_is_added_to_the_address_and_taken_away_again(container: Container, admin_client: Browser) -> None:
    for title, category in (("One", "hr"), ("Two", "it"), ("Three", "100% hr_team")):
        make(container, title, category=category)
    answer = admin_client.get(f"{CONTENTS}?sort=title&status=published&field=category&operator=contains&value=hr")
    assert answer.status_code == 303
    address = answer.headers["Location"]
    assert json.loads(parse_qs(urlsplit(address).query)["filter"][0]) == {
        "property": "category", "operator": "like", "value": "%hr%",
    }  # fmt: skip
    page = admin_client.get(address)
    assert page.status_code == 200
    assert titles(page.text) == ["One", "Three"]
    assert [words for words, _ in chips(page.text)] == ["Status: Published", "Category: contains hr"]
    wider = admin_client.get(CONTENTS + chips(page.text)[1][1])
    assert wider.status_code == 200
    assert titles(wider.text) == ["One", "Three", "Two"]
    literal = admin_client.get(f"{CONTENTS}?field=category&operator=contains&value=0%25+hr_")
    assert titles(admin_client.get(literal.headers["Location"]).text) == ["Three"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("field=category&operator=begins&value=h", ["One"]),
        ("field=category&operator=in&value=hr,+it", ["One", "Two"]),
        ("field=category&operator=%21%3D&value=hr", ["Two"]),
        ("field=author&operator=empty", ["Two"]),
        ("field=author&operator=filled", ["One"]),
        ("field=status&operator=%3D&value=Draft", ["Two"]),
        ("field=id&operator=between&value=1,1", ["One"]),
        ("field=created_at&operator=%3E%3D&value=2000-01-01", ["One", "Two"]),
    ],
)
def test_every_comparison_filters(container: Container, admin_client: Browser, query: str, expected: list[str]) -> None:
    make(container, "One", category="hr", author="ada")
    make(container, "Two", category="it", status="draft")
    answer = admin_client.get(f"{CONTENTS}?sort=title&{query}")
    assert answer.status_code == 303
    page = admin_client.get(answer.headers["Location"])
    assert page.status_code == 200
    assert titles(page.text) == expected
    assert len(chips(page.text)) == 1


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("field=id&operator=%3D&value=many", "integer is expected"),
        ("field=category&operator=%3D&value=", "This field is needed."),
        ("field=status&operator=%3D&value=lost", "none of the allowed values"),
        ("field=secret&operator=%3D&value=1", "not one that fits"),
        ("field=created_at&operator=between&value=2026-01-01", "is expected"),
    ],
)
def test_a_filter_that_is_no_good_is_refused_where_it_was_typed(
    container: Container, admin_client: Browser, query: str, said: str
) -> None:
    make(container, "One")
    page = admin_client.get(f"{CONTENTS}?{query}")
    assert page.status_code == 422
    assert said in page.text
    assert 'id="f-value-error"' in page.text
    assert titles(page.text) == ["One"]


def test_a_nested_filter_of_the_api_is_one_chip_and_goes_into_the_export(
    container: Container, admin_client: Browser
) -> None:
    make(container, "One", category="hr")
    make(container, "Two", category="it", status="draft")
    make(container, "Three", category="it")
    first = {"property": "category", "operator": "=", "value": "hr"}
    second = {"operator": "and", "filters": [
        {"property": "category", "operator": "=", "value": "it"},
        {"property": "status", "operator": "=", "value": "draft"},
    ]}  # fmt: skip
    page = admin_client.get(filtered({"operator": "or", "filters": [first, second]}) + "&sort=title&q=o")
    assert page.status_code == 200
    assert titles(page.text) == ["One", "Two"]
    assert [words for words, _ in chips(page.text)] == [
        "Words: o", "Conditions: Category is hr or (Category is it and Status is Draft)",
    ]  # fmt: skip
    link = re.search(r'href="(/api/v1/export/[^"]+)"', page.text)
    assert link is not None
    export = admin_client.get(unescape(link[1]))
    assert export.status_code == 200
    rows = export.text.strip().splitlines()
    assert len(rows) == 3
    assert ("One" in rows[1], "Two" in rows[2]) == (True, True)


@pytest.mark.parametrize("raw", ["{", "[]", '{"property": "nothing", "operator": "=", "value": 1}'])
def test_an_address_with_another_filter_is_refused(admin_client: Browser, raw: str) -> None:
    assert admin_client.get(f"{CONTENTS}?filter={quote(raw)}").status_code == 422


def test_columns_are_chosen_ordered_kept_and_reset(app: APIFlask, container: Container, people: People) -> None:
    make(container, "One")
    ada, bob = (Browser(app).login_as(people.user(name, "editor")) for name in ("ada", "bob"))
    usual = ["Title", "Category", "Author", "Status", "Changed"]
    assert headers(ada.get(CONTENTS).text) == usual
    form = {
        "order": ["title", "category", "status", "id"],
        "column": ["title", "category", "id"],
        "back": "status=published",
    }
    answer = ada.post(f"{CONTENTS}/columns", form)
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{CONTENTS}?status=published")
    page = ada.get(CONTENTS)
    assert page.status_code == 200
    assert headers(page.text) == ["Title", "Category", "Id"]
    moved = ada.post(f"{CONTENTS}/columns", {**form, "up": "id"})
    assert moved.status_code == 303
    again = ada.get(moved.headers["Location"])
    assert headers(again.text) == ["Title", "Id", "Category"]
    assert '<details class="menu columns" open>' in again.text
    assert headers(bob.get(CONTENTS).text) == usual, "the choice is Ada's alone"
    assert ada.post(f"{CONTENTS}/columns", {"order": ["status"], "column": ["status", "nothing"]}).status_code == 303
    assert headers(ada.get(CONTENTS).text) == ["Title", "Status"], "the title leads to the record and stays"
    assert ada.post(f"{CONTENTS}/columns", {"reset": "1"}).status_code == 303
    assert headers(ada.get(CONTENTS).text) == usual


def test_a_field_that_may_not_be_read_is_nowhere(app: APIFlask, container: Container, people: People) -> None:
    record = make(container, "Secret plan", category="hr", author="ada")
    values = {
        "permissions": ["cms.contents.select", "cms.contents.update"],
        "field_rules": [
            {"entity": "cms.contents", "ability": "read", "fields": ["category", "status"]},
            {"entity": "cms.contents", "ability": "write", "fields": ["status"]},
        ],
    }
    with container.units() as unit:
        container.access.roles.create(unit, SYSTEM, "narrow", values)
    nora = Browser(app).login_as(people.user("nora", "narrow"))
    page = nora.get(CONTENTS)
    assert page.status_code == 200
    assert headers(page.text) == ["Category", "Status", "Changed"]
    assert 'name="q"' not in page.text.partition('class="list-filters"')[2].partition("</form>")[0]
    detail = nora.get(f"{CONTENTS}/{record.id}")
    assert detail.status_code == 200
    form = nora.get(f"{CONTENTS}/{record.id}/edit")
    assert form.status_code == 200
    for text in (page.text, detail.text, form.text):
        assert "Secret plan" not in text
        assert ">ada<" not in text
    assert 'name="title.en"' not in form.text
    assert re.search(r'name="category"[^>]* readonly', form.text)
    assert not re.search(r'name="status"[^>]* (readonly|disabled)', form.text)
    sent = {"revision": "1", "category": "forged", "author": "forged", "title.en": "Forged", "status": "draft"}
    assert nora.post(f"{CONTENTS}/{record.id}/edit", sent).status_code == 303
    with container.units() as unit:
        after = container.records.get(unit, SYSTEM, "cms.contents", record.id)
    assert (after.title, after.fields["category"], after.fields["status"]) == ("Secret plan", "hr", "draft")
