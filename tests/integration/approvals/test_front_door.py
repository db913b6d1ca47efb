"""Approvals through pages and API: lists, the difference, votes, and what a script or a stranger gets."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from apiflask import APIFlask

from app.core.access.models import User
from app.core.settings.schema import PAGE_SIZE
from tests.fakes.clock import FakeClock
from tests.fixtures.clients import Api, Browser, People
from tests.integration.approvals.conftest import Desk, Voters
from tests.integration.approvals.test_parallel import signed_in

TITLE = {"translations": {"it": {"title": "Piano ferie 2027"}}}


def send(app: APIFlask, user: User, path: str, body: Any, method: str = "POST") -> Any:
    browser, headers = signed_in(app, user)
    return browser.client.open(f"/api/v1/{path}", method=method, json=body, headers=headers)


def listed(app: APIFlask, user: User, query: str = "") -> list[int]:
    answer = Browser(app).login_as(user).get(f"/api/v1/approvals{query}")
    assert answer.status_code == 200
    return [item["id"] for item in answer.get_json()["items"]]


def test_a_captured_write_of_a_record_and_of_a_setting_is_202(app: APIFlask, desk: Desk, people: People) -> None:
    chief = people.user("chief", "administrator", needs_approval=True)
    record = desk.content()
    for path, body in (
        (f"update/cms/contents/{record.id}", {"category": "rules", "revision": 1}),
        (f"settings/{PAGE_SIZE}", {"value": 50}),
    ):
        answer = send(app, chief, path, body, "PATCH")
        assert answer.status_code == 202
        captured = answer.get_json()["captured"]
        assert (captured["status"], captured["votes_needed"]) == ("pending", 1)
        assert answer.headers["Location"] == f"/api/v1/approvals/{captured['id']}"
    assert desk.read(record) == record


def test_the_lists_by_state_mine_subject_and_page(
    app: APIFlask, desk: Desk, author: User, voter: User, clock: FakeClock
) -> None:
    one, two = desk.content(), desk.content()
    first = desk.capture(author, one, **TITLE)
    second = desk.capture(author, two, category="rules")
    third = desk.capture(author, two, status="draft")
    desk.vote(voter, second)
    assert listed(app, voter) == [third, second, first]
    assert listed(app, voter, "?to_vote=true") == [third, first]
    assert listed(app, voter, "?state=applied") == [second]
    assert listed(app, author, "?mine=1&state=pending") == [third, first]
    assert listed(app, voter, "?mine=1") == []
    assert listed(app, voter, f"?subject=cms.contents&record={one.id}") == [first]
    page = Browser(app).login_as(voter).get("/api/v1/approvals?size=2").get_json()
    assert [item["id"] for item in page["items"]] == [third, second]
    assert listed(app, voter, f"?size=2&cursor={page['next_cursor']}") == [first]
    clock.advance(timedelta(days=15).total_seconds())
    assert listed(app, voter, "?state=pending") == []
    assert listed(app, voter, "?state=expired") == [third, first]


def test_a_wrong_filter_is_refused_by_its_name(app: APIFlask, author: User) -> None:
    answer = Browser(app).login_as(author).get("/api/v1/approvals?state=open&cursor=x&size=0&colour=red&mine=perhaps")
    assert answer.status_code == 422
    paths = {problem["path"] for problem in answer.get_json()["errors"]}
    assert paths == {"state", "cursor", "size", "colour", "mine"}


def test_somebody_else_sees_and_changes_nothing(app: APIFlask, desk: Desk, author: User, people: People) -> None:
    waiting = desk.capture(author, desk.content(), **TITLE)
    other = people.user("other", "editor")
    assert listed(app, other) == []
    assert Browser(app).login_as(other).get(f"/api/v1/approvals/{waiting}").status_code == 404
    assert send(app, other, f"approvals/{waiting}/votes", {"approves": True}).status_code == 404
    assert send(app, other, f"approvals/{waiting}", {"values": {"category": "x"}}, "PATCH").status_code == 404
    assert send(app, other, f"approvals/{waiting}/withdraw", None).status_code == 404
    assert desk.status(waiting) == ("pending", None)


def test_a_token_reads_and_does_not_vote(app: APIFlask, desk: Desk, author: User, voter: User, people: People) -> None:
    waiting = desk.capture(author, desk.content(), **TITLE)
    script = Api(app, people.token(voter, "all"))
    shown = script.get(f"/api/v1/approvals/{waiting}").get_json()
    assert (shown["may_vote"], shown["title"]) == (False, "Holiday plan")
    assert shown["diff"] == {"translations.it.title": {"old": "Piano ferie", "new": "Piano ferie 2027"}}
    answer = script.post(f"/api/v1/approvals/{waiting}/votes", json={"approves": True})
    assert (answer.status_code, answer.get_json()["code"]) == (403, "approval.token")


def test_the_conflict_shows_what_the_record_says_now(app: APIFlask, desk: Desk, author: User, voter: User) -> None:
    record = desk.content()
    waiting = desk.capture(author, record, **TITLE)
    desk.change(record, translations={"it": {"title": "Piano"}})
    page = Browser(app).login_as(voter).get(f"/approvals/{waiting}")
    assert page.status_code == 200
    assert "Changed by somebody else since: Title (Italian)" in page.text
    answer = send(app, voter, f"approvals/{waiting}/votes", {"approves": True, "round": 1})
    body = answer.get_json()
    assert (answer.status_code, body["status"], body["error"]["code"]) == (200, "conflict", "approval.moved")
    assert "translations.it.title" in body["error"]["detail"]
    assert "Nothing was written" in Browser(app).login_as(author).get(f"/approvals/{waiting}").text


def test_the_author_edits_and_withdraws(app: APIFlask, desk: Desk, author: User) -> None:
    waiting = desk.capture(author, desk.content(), **TITLE)
    edited = send(app, author, f"approvals/{waiting}", {"values": {"category": "help"}, "round": 1}, "PATCH")
    assert edited.status_code == 200
    assert (edited.get_json()["round"], edited.get_json()["diff"]) == (2, {"category": {"old": "news", "new": "help"}})
    late = send(app, author, f"approvals/{waiting}", {"values": {"category": "x"}, "round": 1}, "PATCH")
    assert (late.status_code, late.get_json()["code"]) == (409, "approval.edited")
    assert send(app, author, f"approvals/{waiting}/withdraw", None).get_json()["status"] == "withdrawn"


def test_the_inbox_counts_shows_the_words_and_approves(app: APIFlask, desk: Desk, author: User, voter: User) -> None:
    record = desk.content()
    waiting = desk.capture(author, record, translations={"en": {"body": "Ask very early."}})
    browser = Browser(app).login_as(voter)
    inbox = browser.get("/approvals")
    assert inbox.status_code == 200
    assert "Change: Holiday plan (Content" in inbox.text
    assert '<span class="count-x">1' in inbox.text
    page = browser.get(f"/approvals/{waiting}")
    assert "Ask<ins> very</ins> early." in page.text
    answer = browser.post(f"/approvals/{waiting}/approve", {"round": "1"}, follow_redirects=True)
    assert answer.status_code == 200
    assert "Approved and applied." in answer.text
    assert desk.read(record).translations["en"]["body"] == "Ask very early."
    assert "Nothing waits for your vote" in browser.get("/approvals").text


def test_a_disapproval_without_a_reason_is_asked_for_it(app: APIFlask, desk: Desk, author: User, voter: User) -> None:
    waiting = desk.capture(author, desk.content(), **TITLE)
    browser = Browser(app).login_as(voter)
    answer = browser.post(f"/approvals/{waiting}/disapprove", {"round": "1", "reason": " "})
    assert answer.status_code == 422
    assert 'id="reason-error"' in answer.text
    assert browser.post(f"/approvals/{waiting}/disapprove", {"round": "1", "reason": "Too late"}).status_code == 303
    assert "Too late" in Browser(app).login_as(author).get(f"/approvals/{waiting}").text


def test_the_author_is_offered_no_vote_and_sees_it_on_the_record(
    app: APIFlask, desk: Desk, author: User, voters: Voters
) -> None:
    record = desk.content()
    waiting = desk.capture(author, record, **TITLE)
    browser = Browser(app).login_as(author)
    page = browser.get(f"/approvals/{waiting}").text
    assert f"/approvals/{waiting}/withdraw" in page
    assert f"/approvals/{waiting}/approve" not in page
    shown = browser.get(f"/records/cms.contents/{record.id}")
    assert shown.status_code == 200
    assert "A change of this record waits for approval" in shown.text
    assert f'href="/approvals/{waiting}"' in shown.text


def test_a_setting_that_is_changed_on_its_page_is_captured(app: APIFlask, desk: Desk, people: People) -> None:
    chief = people.user("chief", "administrator", needs_approval=True)
    browser = Browser(app).login_as(chief)
    answer = browser.post("/settings", {PAGE_SIZE: "50"}, follow_redirects=True)
    assert answer.status_code == 200
    assert "Your change waits for approval" in answer.text
    assert "Change: Results per page" in answer.text


def test_choosing_a_model_is_captured_and_starts_nothing(app: APIFlask, people: People) -> None:
    chief = people.user("chief", "administrator", needs_approval=True)
    browser = Browser(app).login_as(chief)
    key = next(iter(app.extensions["changeover"].profiles.keys()))
    app.extensions["changeover"].settings.definitions["features.embeddings.model"] = _offering(app, key)
    answer = browser.post("/settings/ai/switch", {"target": key, "mode": "side_by_side", "confirm": "1", "epoch": "0"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/approvals?show=mine")
    assert app.extensions["changeover"].ai.switching.status().status == "idle"


def _offering(app: APIFlask, key: str) -> Any:
    definition = app.extensions["changeover"].settings.definition("features.embeddings.model")
    return replace(definition, choices=lambda: [key])
