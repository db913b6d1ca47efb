"""Many votes at once, through the front door: 64 requests at the same moment, on the real database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from apiflask import APIFlask

from app.core.access.models import User
from app.core.contracts.actor import SYSTEM
from app.core.crud.service import Captured
from tests.fixtures.clients import Browser
from tests.integration.approvals.conftest import CONTENTS, Desk, Voters

AT_ONCE = 64


def signed_in(app: APIFlask, user: User) -> tuple[Browser, dict[str, str]]:
    browser = Browser(app).login_as(user)
    return browser, {"X-CSRFToken": browser.form_token()}


def at_once(calls: Sequence[Callable[[], int]]) -> Counter[int]:
    """The statuses of calls that start together."""
    barrier = Barrier(len(calls))

    def run(call: Callable[[], int]) -> int:
        barrier.wait(30)
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return Counter(threads.map(run, calls))


def votes(app: APIFlask, people: Sequence[User], modification_id: int) -> list[Callable[[], int]]:
    """64 votes in favour, the people taking turns."""

    def vote(user: User) -> Callable[[], int]:
        browser, headers = signed_in(app, user)
        path = f"/api/v1/approvals/{modification_id}/votes"
        return lambda: browser.client.post(path, json={"approves": True}, headers=headers).status_code

    return [vote(people[number % len(people)]) for number in range(AT_ONCE)]


def applied(desk: Desk) -> int:
    return desk.audited().count(("author", "update", "cms.contents"))


def test_double_clicks_apply_once_and_all_get_the_first_outcome(
    app: APIFlask, desk: Desk, author: User, voter: User
) -> None:
    record = desk.content()
    waiting = desk.capture(author, record, category="rules")
    assert at_once(votes(app, [voter], waiting)) == {200: AT_ONCE}
    assert (desk.status(waiting), desk.read(record).revision, applied(desk)) == (("applied", None), 2, 1)
    assert desk.audited().count(("voter0", "approve", "cms.contents")) == 1


def test_many_people_at_once_apply_once(app: APIFlask, desk: Desk, author: User, voters: Voters) -> None:
    record = desk.content()
    waiting = desk.capture(author, record, category="rules")
    desk.need(waiting, 3)
    outcome = at_once(votes(app, voters(8), waiting))
    assert set(outcome) <= {200, 409}
    assert outcome[200] >= 3
    assert (desk.status(waiting), desk.read(record).revision, applied(desk)) == (("applied", None), 2, 1)


def test_a_new_record_is_made_once(app: APIFlask, desk: Desk, author: User, voters: Voters) -> None:
    with desk.container.units() as unit:
        values = {"translations": {"en": {"title": "Fire drill"}}, "category": "news"}
        made = desk.container.records.create(unit, desk.actor(author), CONTENTS, values)
    assert isinstance(made, Captured)
    outcome = at_once(votes(app, voters(16), made.modification.id))
    assert set(outcome) <= {200, 409}
    with desk.container.units() as unit:
        page = desk.container.records.page(unit, SYSTEM, CONTENTS, {})
    assert [record.title for record in page.records] == ["Fire drill"]
    assert desk.status(made.modification.id) == ("applied", None)


def test_two_changes_of_one_field_at_once_are_one_and_a_conflict(
    app: APIFlask, desk: Desk, author: User, voter: User
) -> None:
    record = desk.content()
    first = desk.capture(author, record, category="rules")
    second = desk.capture(author, record, category="help")
    at_once([*votes(app, [voter], first)[:32], *votes(app, [voter], second)[:32]])
    assert sorted(desk.status(waiting)[0] for waiting in (first, second)) == ["applied", "conflict"]
    assert (desk.read(record).revision, applied(desk)) == (2, 1)


def test_a_change_by_hand_amid_the_votes_is_a_conflict_or_comes_after(
    app: APIFlask, desk: Desk, author: User, voter: User, admin: User
) -> None:
    record = desk.content()
    waiting = desk.capture(author, record, category="rules")
    browser, headers = signed_in(app, admin)

    def edit() -> int:
        path, body = f"/api/v1/update/cms/contents/{record.id}", {"category": "help", "revision": 1}
        return browser.client.patch(path, json=body, headers=headers).status_code

    outcome = at_once([edit, *votes(app, [voter], waiting)[:-1]])
    status = desk.status(waiting)[0]
    now = desk.read(record)
    assert (status, now.fields["category"], now.revision, outcome[409]) in [
        ("conflict", "help", 2, 0),
        ("applied", "rules", 2, 1),
    ]


def test_captures_sent_at_once_are_one(app: APIFlask, desk: Desk, author: User) -> None:
    record = desk.content()

    def send() -> Callable[[], int]:
        browser, headers = signed_in(app, author)
        path, body = f"/api/v1/update/cms/contents/{record.id}", {"category": "rules", "revision": 1}
        return lambda: browser.client.patch(path, json=body, headers=headers).status_code

    assert at_once([send() for _ in range(16)]) == {202: 16}
    assert desk.audited().count(("author", "capture", "cms.contents")) == 1
