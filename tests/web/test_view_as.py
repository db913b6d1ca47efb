"""Viewing the console as another person: marked, recorded with both names, and never more than that person."""

import pytest
from apiflask import APIFlask
from sqlalchemy import select

from app.container import Container
from app.core.access.models import User
from app.core.audit.models import AuditEntry
from tests.fixtures.clients import Api, Browser, People

PASSWORD = "right password"


@pytest.fixture
def boss(people: People) -> User:
    return people.user("boss", "administrator", password=PASSWORD)


@pytest.fixture
def rita(people: People) -> User:
    return people.user("rita", "reader", display_name="Rita Reader", password=PASSWORD)


@pytest.fixture
def desk(app: APIFlask, boss: User) -> Browser:
    return Browser(app).login_as(boss)


def entries(container: Container, action: str) -> list[tuple[str, str | None]]:
    with container.units() as unit:
        found = unit.session.scalars(select(AuditEntry).where(AuditEntry.action == action)).all()
    return [(entry.actor_login, entry.impersonator_login) for entry in found]


def test_it_is_marked_on_every_page_and_stopped(desk: Browser, rita: User, container: Container) -> None:
    assert "Stop viewing as" not in desk.get("/search").text
    assert desk.post(f"/people/{rita.id}/view").status_code == 303
    for path, status in (("/search", 200), ("/people", 403), ("/no-such-page", 404)):
        page = desk.get(path)
        assert page.status_code == status
        assert "You are viewing the console as Rita Reader." in page.text
        assert "Stop viewing as Rita Reader" in page.text
    me = desk.get("/api/v1/me").json
    assert me
    assert (me["login"], me["impersonator"]) == ("rita", "boss")
    assert desk.post("/view-as/stop").status_code == 303
    page = desk.get("/people")
    assert page.status_code == 200
    assert "Stop viewing as" not in page.text
    assert entries(container, "impersonate") == [("boss", None)]
    assert entries(container, "impersonate_end") == [("rita", "boss")]


def test_what_ties_a_person_is_refused(desk: Browser, rita: User, people: People) -> None:
    desk.post(f"/people/{rita.id}/view")
    tokens = {"name": "x", "scopes": ["read"], "days": "1"}
    passwords = {"current": PASSWORD, "password": "a new password", "repeated": "a new password"}
    for path, fields in (
        ("/account/tokens", tokens),
        ("/account/password", passwords),
        ("/account", {"display_name": "x", "locale": "en"}),
        (f"/people/{people.user('bob', 'reader').id}/view", {}),
    ):
        answer = desk.post(path, fields)
        assert answer.status_code == 403, path
    headers = {"X-CSRFToken": desk.form_token()}
    answer = desk.client.post("/api/v1/tokens", json={"name": "x", "scopes": ["read"]}, headers=headers)
    assert answer.status_code == 403
    assert answer.json
    assert answer.json["code"] == "access.impersonating"


def test_never_another_administrator_oneself_nobody_or_through_a_token(
    app: APIFlask, desk: Browser, boss: User, rita: User, people: People
) -> None:
    other = people.user("bea", "administrator", password=PASSWORD)
    for user_id, status in ((other.id, 403), (boss.id, 403), (999, 404)):
        assert desk.post(f"/people/{user_id}/view").status_code == status
    assert Api(app, people.token(boss, "all")).post(f"/people/{rita.id}/view").status_code == 403
    assert Browser(app).login_as(rita).post(f"/people/{boss.id}/view").status_code == 403
    page = desk.get(f"/people/{other.id}")
    assert page.status_code == 200
    assert f"/people/{other.id}/view" not in page.text


def test_a_change_is_recorded_with_both_names(desk: Browser, people: People, container: Container) -> None:
    with container.units() as unit:
        container.access.roles.create(
            unit,
            container.access.actor_by_session(unit, 1, 1),
            "clerk",
            {"permissions": ["users.select", "users.update"]},  # type: ignore[arg-type]
        )
    clerk, bob = people.user("clerk", "clerk"), people.user("bob")
    desk.post(f"/people/{clerk.id}/view")
    assert desk.post(f"/people/{bob.id}", {"display_name": "B", "locale": "en", "is_active": "1"}).status_code == 303
    assert ("clerk", "boss") in entries(container, "update")


def test_it_ends_when_the_person_is_disabled_and_nothing_is_done_as_the_administrator(
    desk: Browser, rita: User, container: Container
) -> None:
    desk.post(f"/people/{rita.id}/view")
    assert desk.get("/search").status_code == 200
    with container.units() as unit:
        container.access.disable(unit, "rita")
    sent = desk.post("/settings", {"search.page_size": "50"})
    assert sent.status_code == 409
    assert "You are yourself again" in sent.text
    with container.units() as unit:
        assert container.settings.value(unit, "search.page_size") == 20
    page = desk.get("/people")
    assert page.status_code == 200
    assert "Stop viewing as" not in page.text


def test_a_page_says_that_it_has_ended(desk: Browser, rita: User, container: Container) -> None:
    desk.post(f"/people/{rita.id}/view")
    with container.units() as unit:
        container.access.set_password(unit, "rita", "another password")
    page = desk.get("/search")
    assert page.status_code == 200
    assert "Viewing as the other person has ended" in page.text


def test_it_ends_with_the_administrators_session(
    app: APIFlask, desk: Browser, boss: User, rita: User, container: Container
) -> None:
    desk.post(f"/people/{rita.id}/view")
    own = Browser(app).login_as(rita)
    assert desk.post("/sign-out").status_code == 303
    assert desk.get("/search").status_code == 303
    assert own.get("/search").status_code == 200, "rita's own sessions stay"
    with container.units() as unit:
        assert container.access.user(unit, "boss").session_version == 2
    assert entries(container, "impersonate_end") == [("rita", "boss")]
