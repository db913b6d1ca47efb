"""Changes of records from pages: many at once with a preview, stale edits side by side, deleting for good."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from apiflask import APIFlask
from werkzeug.test import TestResponse

from app.container import Container
from app.core.contracts.actor import SYSTEM
from app.core.crud.serialise import Record
from app.core.errors import NotFound
from tests.fixtures.clients import Browser, People
from tests.web.test_record_lists import CONTENTS, make, titles

BULK = f"{CONTENTS}/bulk"


def now(container: Container, record: Record) -> Record:
    with container.units() as unit:
        return container.records.get(unit, SYSTEM, "cms.contents", record.id)


def query(records: list[Record], operation: str, **more: str) -> dict[str, Any]:
    return {"ids": [str(record.id) for record in records], "operation": operation, **more}


def confirmation(page: TestResponse) -> dict[str, Any]:
    """What the form of a preview would send."""
    form = page.text.partition('<form class="confirm-foot"')[2].partition("</form>")[0]
    found: dict[str, Any] = {}
    for name, value in re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form):
        found.setdefault(name, []).append(unescape(value))
    found.pop("csrf_token")
    return found


def button(page: TestResponse) -> str:
    return unescape(
        page.text.partition('<form class="confirm-foot"')[2].partition("<button")[2].partition(">")[2].partition("<")[0]
    )


def test_chosen_records_are_previewed_deleted_and_restored(container: Container, admin_client: Browser) -> None:
    records = [make(container, f"Plan {number}") for number in range(12)]
    others = make(container, "Other")
    page = admin_client.get(BULK, query_string=query(records, "delete", back="status=published"))
    assert page.status_code == 200
    assert (button(page), "The first 10 of 12" in page.text) == ("Delete 12 contents", True)
    assert "can be restored" in page.text
    assert now(container, records[0]).deleted_at is None
    done = admin_client.post(BULK, confirmation(page))
    assert (done.status_code, done.headers["Location"]) == (303, f"{CONTENTS}?status=published")
    after = admin_client.get(done.headers["Location"])
    assert after.status_code == 200
    assert "Deleted: 12 contents." in after.text
    assert titles(after.text) == [others.title]
    back = admin_client.get(BULK, query_string=query(records[:1], "restore"))
    assert back.status_code == 200
    assert button(back) == "Restore 1 content"
    assert admin_client.post(BULK, confirmation(back)).status_code == 303
    assert now(container, records[0]).deleted_at is None
    assert now(container, records[1]).deleted_at is not None


def test_a_field_is_set_in_two_steps(container: Container, admin_client: Browser) -> None:
    records = [make(container, "One"), make(container, "Two", status="archived")]
    asked = admin_client.get(BULK, query_string=query(records, "update", field="status"))
    assert asked.status_code == 200
    assert '<select class="select-x" id="value" name="value"' in asked.text
    page = admin_client.get(BULK, query_string=query(records, "update", field="status", value="archived"))
    assert page.status_code == 200
    assert button(page) == "Set status of 2 contents"
    done = admin_client.post(BULK, confirmation(page))
    assert done.status_code == 303
    after = admin_client.get(done.headers["Location"])
    assert "Status set: 1 content. 1 had this value already." in after.text
    assert [now(container, record).fields["status"] for record in records] == ["archived", "archived"]
    wrong = admin_client.get(BULK, query_string=query(records, "update", field="status", value="lost"))
    assert wrong.status_code == 422
    assert "none of the allowed values" in wrong.text
    assert admin_client.get(BULK, query_string=query(records, "update", field="key")).status_code == 404


def test_all_that_match_are_changed_not_only_those_on_the_page(container: Container, admin_client: Browser) -> None:
    for number in range(30):
        make(container, f"Plan {number}")
    make(container, "Draft", status="draft")
    page = admin_client.get(CONTENTS + "?status=published")
    assert page.status_code == 200
    assert "All 30 that match the filters" in page.text
    kept = unescape(re.findall(r'<input type="hidden" name="filter" value="([^"]*)"', page.text)[-1])
    assert 'name="all"' not in admin_client.get(CONTENTS).text, "without a filter there is no such offer"
    preview = admin_client.get(BULK, query_string={"all": "1", "filter": kept, "operation": "delete"})
    assert preview.status_code == 200
    assert admin_client.post(BULK, confirmation(preview)).status_code == 303
    assert titles(admin_client.get(CONTENTS).text) == ["Draft"]


def test_a_record_that_changed_meanwhile_stops_all_of_it(container: Container, admin_client: Browser) -> None:
    one, two = make(container, "One"), make(container, "Two")
    page = admin_client.get(BULK, query_string=query([one, two], "delete"))
    assert page.status_code == 200
    with container.units() as unit:
        container.records.update(unit, SYSTEM, "cms.contents", two.id, {"category": "hr"}, 1)
    refused = admin_client.post(BULK, confirmation(page))
    assert refused.status_code == 409
    assert re.search(r">Two</a>: Changed since: revision 1 was shown, it is now 2\.", refused.text)
    assert now(container, one).deleted_at is None
    again = re.search(r'href="([^"]+)">Look at the records again', refused.text)
    assert again is not None
    fresh = admin_client.get(unescape(again[1]))
    assert fresh.status_code == 200
    assert admin_client.post(BULK, confirmation(fresh)).status_code == 303
    assert now(container, one).deleted_at is not None


def test_a_change_sent_twice_is_done_once(container: Container, admin_client: Browser) -> None:
    record = make(container, "One")
    page = admin_client.get(BULK, query_string=query([record], "update", field="category", value="hr"))
    sent = confirmation(page)
    assert [admin_client.post(BULK, sent).status_code for _ in range(2)] == [303, 303]
    assert now(container, record).revision == 2


def test_nothing_chosen_nothing_done(container: Container, admin_client: Browser) -> None:
    make(container, "One")
    answer = admin_client.get(BULK, query_string={"operation": "delete", "back": "status=published"})
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{CONTENTS}?status=published")
    assert "Choose the records first" in admin_client.get(CONTENTS).text
    empty = admin_client.get(BULK, query_string={"operation": "delete", "ids": ["999"]})
    assert empty.status_code == 200
    assert "There is nothing to do" in empty.text
    assert admin_client.get(BULK, query_string={"operation": "burn", "ids": ["1"]}).status_code == 422


def test_a_reader_is_offered_and_given_nothing(app: APIFlask, container: Container, people: People) -> None:
    record = make(container, "One")
    reader = Browser(app).login_as(people.user("rita", "reader"))
    page = reader.get(CONTENTS)
    assert page.status_code == 200
    assert 'name="ids"' not in page.text
    assert reader.get(BULK, query_string=query([record], "delete")).status_code == 403
    assert reader.post(BULK, {"operation": "delete", "token": "x"}).status_code == 403


def test_changes_of_who_needs_approval_wait(app: APIFlask, container: Container, people: People) -> None:
    record = make(container, "One")
    edith = Browser(app).login_as(people.user("edith", "editor", needs_approval=True))
    page = edith.get(BULK, query_string=query([record], "delete"))
    assert page.status_code == 200
    assert button(page) == "Ask for approval: delete 1 content"
    done = edith.post(BULK, confirmation(page))
    assert (done.status_code, done.headers["Location"]) == (303, "/approvals?show=mine")
    assert "Sent for approval: 1 content." in edith.get(done.headers["Location"]).text
    assert now(container, record).deleted_at is None
    detail = edith.get(f"{CONTENTS}/{record.id}")
    assert detail.status_code == 200
    assert "A change of this record waits for approval" in detail.text


def test_a_stale_edit_shows_both_versions_and_takes_what_was_not_touched(
    container: Container, admin_client: Browser
) -> None:
    record = make(container, "The plan", category="hr")
    address = f"{CONTENTS}/{record.id}/edit"
    form = admin_client.get(address)
    assert form.status_code == 200
    base = re.search(r'name="base" value="([^"]*)"', form.text)
    assert base is not None
    theirs = {"translations": {"en": {"title": "Their plan"}}, "category": "it", "author": "ada"}
    with container.units() as unit:
        container.records.update(unit, SYSTEM, "cms.contents", record.id, theirs, 1)
    sent = {
        "revision": "1", "base": unescape(base[1]), "title.en": "My plan", "body.en": "x", "title.it": "",
        "body.it": "", "category": "hr", "author": "bob", "status": "published", "valid_from": "", "valid_to": "",
    }  # fmt: skip
    page = admin_client.post(address, sent)
    assert page.status_code == 409
    compared = page.text.partition('id="compare-head"')[2].partition("</section>")[0]
    assert re.search(r"<del>Their</del><ins>My</ins> plan", compared)
    assert re.search(r"<dt>Theirs</dt><dd>ada</dd><dt>Yours</dt><dd>bob</dd>", compared)
    assert "Category" not in compared, "what the person left alone is no conflict"
    assert "Their values of Category, which you had not touched" in page.text
    assert re.search(r'name="title\.en"[^>]*', page.text)
    values = dict(re.findall(r'<input type="text" class="form-control" value="([^"]*)" id="([^"]*)"', page.text))
    assert {name: value for value, name in values.items()}["title.en"] == "My plan"
    assert {name: value for value, name in values.items()}["category"] == "it"
    following = re.search(r'name="base" value="([^"]*)"', page.text)
    assert following is not None
    again = {**sent, "revision": "2", "base": unescape(following[1]), "category": "it"}
    assert admin_client.post(address, again).status_code == 303
    after = now(container, record)
    assert (after.title, after.fields["category"], after.fields["author"]) == ("My plan", "it", "bob")


def test_a_record_is_deleted_for_good_by_who_may(app: APIFlask, container: Container, people: People) -> None:
    record = make(container, "One")
    editor = Browser(app).login_as(people.user("edith", "editor"))
    admin = Browser(app).login_as(people.user("ada", "administrator"))
    address = f"{CONTENTS}/{record.id}"
    assert "/remove" not in editor.get(address).text
    assert editor.post(address + "/remove", {"revision": "1"}).status_code == 403
    page = admin.get(address)
    assert page.status_code == 200
    assert "Delete “One” for good" in page.text
    assert admin.post(address + "/remove", {"revision": "1"}).headers["Location"] == CONTENTS
    with pytest.raises(NotFound):
        now(container, record)


def test_deleting_what_has_changed_meanwhile_does_nothing(container: Container, admin_client: Browser) -> None:
    record = make(container, "One")
    with container.units() as unit:
        container.records.update(unit, SYSTEM, "cms.contents", record.id, {"category": "hr"}, 1)
    answer = admin_client.post(f"{CONTENTS}/{record.id}/delete", {"revision": "1"})
    assert answer.status_code == 303
    assert "Nothing was done" in admin_client.get(answer.headers["Location"]).text
    assert now(container, record).deleted_at is None
