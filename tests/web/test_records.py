"""The pages of records and of the documentation."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from apiflask import APIFlask

from app.container import Container
from app.core.contracts.actor import SYSTEM
from app.core.crud.serialise import Record
from tests.fixtures.clients import Browser, People
from tests.integration.documentation.test_indexing import PAGE, write


def content(container: Container, title: str = "Plan") -> Record:
    values = {"translations": {"en": {"title": title, "body": "x"}}, "status": "published"}
    with container.units() as unit:
        return container.records.create(unit, SYSTEM, "cms.contents", values)


def stored(container: Container, record: Record) -> Record:
    with container.units() as unit:
        return container.records.get(unit, SYSTEM, record.entity, record.id)


def test_lists_show_filter_and_page(container: Container, admin_client: Browser) -> None:
    for number in range(30):
        content(container, f"Title {number} <b>")
    page = admin_client.get("/records/cms.contents?sort=title")
    assert page.status_code == 200
    assert "Title 0 &lt;b&gt;" in page.text
    following = re.search(r'rel="next" href="([^"]+)"', page.text)
    assert following is not None
    second = admin_client.get("/records/cms.contents" + unescape(following[1]))
    assert second.status_code == 200
    assert "Title 9 &lt;b&gt;" in second.text
    assert "Title 0 &lt;b&gt;" not in second.text
    assert "26 to 30" in second.text
    assert 'rel="prev" href="?sort=title"' in second.text
    assert "Title 7 &lt;b&gt;" in admin_client.get("/records/cms.contents?q=title+7&status=published").text
    assert "Title 7" not in admin_client.get("/records/cms.contents?status=draft").text
    assert admin_client.get("/records/cms.contents?sort=nothing").status_code == 422
    assert admin_client.get("/records/sao.tickets").status_code == 200


def test_a_record_is_read_edited_deleted_and_restored(container: Container, admin_client: Browser) -> None:
    record = content(container)
    address = f"/records/cms.contents/{record.id}"
    assert "Plan" in admin_client.get(address).text
    form = {"revision": "1", "title.en": "Better plan", "body.en": "x", "title.it": "Piano", "body.it": "y\r\nz"}
    assert 'name="title.it"' in admin_client.get(address + "/edit").text
    assert admin_client.post(address + "/edit", form).status_code == 303
    after = stored(container, record)
    assert (after.revision, after.translations["it"]["body"]) == (2, "y\nz")
    assert admin_client.post(address + "/delete").status_code == 303
    assert stored(container, record).deleted_at is not None
    assert "Better plan" in admin_client.get("/records/cms.contents?deleted=1").text
    assert admin_client.post(address + "/restore").status_code == 303
    assert stored(container, record).deleted_at is None


def test_an_unchanged_form_changes_nothing(container: Container, admin_client: Browser) -> None:
    values = {
        "translations": {"en": {"title": "Plan", "body": "a\nb"}}, "status": "draft",
        "valid_from": "2026-05-05T10:11:12.5Z",
    }  # fmt: skip
    with container.units() as unit:
        record = container.records.create(unit, SYSTEM, "cms.contents", values)
    form = {
        "revision": "1", "title.en": "Plan", "body.en": "a\r\nb", "title.it": "", "body.it": "", "category": "news",
        "author": "", "status": "draft", "valid_from": "2026-05-05T10:11:12", "valid_to": "",
    }  # fmt: skip
    assert admin_client.post(f"/records/cms.contents/{record.id}/edit", form).status_code == 303
    assert stored(container, record).revision == 1


def test_what_was_typed_stays_when_it_is_refused(container: Container, admin_client: Browser) -> None:
    record = content(container)
    address = f"/records/cms.contents/{record.id}/edit"
    refused = admin_client.post(address, {"revision": "1", "title.en": " ", "body.en": "kept words"})
    assert (refused.status_code, "kept words" in refused.text) == (422, True)
    admin_client.post(address, {"revision": "1", "title.en": "Theirs", "body.en": "x"})
    stale = admin_client.post(address, {"revision": "1", "title.en": "Mine", "body.en": "x"})
    assert (stale.status_code, "Mine" in stale.text) == (409, True)
    assert 'name="revision" value="2"' in stale.text
    assert stored(container, record).title == "Theirs"


def test_a_record_is_created_from_a_form(container: Container, admin_client: Browser) -> None:
    assert admin_client.get("/records/sao.tickets/new").status_code == 200
    form = {"subject": "Printer", "description": "", "locale": "it", "status": "open", "priority": "normal"}
    made = admin_client.post("/records/sao.tickets/new", form)
    assert made.status_code == 303
    assert "SAO-1" in admin_client.get(made.headers["Location"]).text
    assert admin_client.post("/records/sao.tickets/new", {"subject": ""}).status_code == 422


def test_missing_and_denied_look_alike(app: APIFlask, container: Container, people: People) -> None:
    record = content(container)
    reader = Browser(app).login_as(people.user("rita", "reader"))
    assert reader.get(f"/records/cms.contents/{record.id}").status_code == 200
    for path in (
        "/records/cms.contents/999", "/records/nothing", "/records/documentation.developer",
        "/records/documentation.developer/1", f"/records/cms.contents/{record.id}/edit", "/records/cms.contents/new",
        "/documentation/developer/layers", "/documentation/user/absent",
    ):  # fmt: skip
        assert reader.get(path).status_code == 404, path
    assert reader.post(f"/records/cms.contents/{record.id}/delete").status_code == 403


def test_the_handbook_is_read(container: Container, admin_client: Browser, tmp_path: Path) -> None:
    write(tmp_path, "user/en/searching.md", PAGE.format(locale="en", title="Searching"))
    assert container.documentation is not None
    container.documentation.index(container.units, tmp_path)
    assert "/documentation/user/searching" in admin_client.get("/documentation").text
    assert "<strong>words</strong>" in admin_client.get("/documentation/user/searching").text
    assert admin_client.get("/records/documentation.user").status_code == 200
    assert admin_client.get("/documentation/user/searching?locale=xx").status_code == 200
