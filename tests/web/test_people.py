"""The pages of people: list, person, own account, tokens, guest."""

import pytest
from apiflask import APIFlask

from app.container import Container
from app.core.access.models import User
from app.core.access.throttle import LIMIT
from tests.fixtures.clients import Api, Browser, People

PASSWORD = "right password"
FORM = {"display_name": "Bob", "email": "bob@example.org", "locale": "it", "roles": ["editor"], "is_active": "1"}


@pytest.fixture
def boss(people: People) -> User:
    return people.user("boss", "administrator", password=PASSWORD, display_name="Bea Boss")


@pytest.fixture
def desk(app: APIFlask, boss: User) -> Browser:
    return Browser(app).login_as(boss)


def fresh(container: Container, login: str) -> User:
    with container.units() as unit:
        return container.access.user(unit, login)


def test_the_list_is_searched_and_filtered(desk: Browser, people: People) -> None:
    people.user("bob", "editor", display_name="Bob Builder", email="bob@example.org")
    people.user("rita", "reader", display_name="Rita")
    for query, found in (("q=builder", "bob"), ("q=example.org", "bob"), ("role=reader", "rita"), ("q=%25", "")):
        page = desk.get(f"/people?{query}")
        assert page.status_code == 200
        assert [login for login in ("bob", "rita", "boss") if f'id="person-{login}"' in page.text] == [found][
            : bool(found)
        ]
    page = desk.get("/people?state=disabled")
    assert page.status_code == 200
    assert "Nobody matches these filters" in page.text
    assert desk.get("/people?page=99&q=%00").status_code == 200


def test_a_person_is_added_changed_and_can_sign_in(app: APIFlask, desk: Browser, container: Container) -> None:
    assert desk.get("/people/new").status_code == 200
    made = desk.post("/people/new", {**FORM, "login": "bob", "password": PASSWORD, "tenant_id": "7"})
    assert made.status_code == 303
    bob = fresh(container, "bob")
    assert (bob.email, bob.locale, bob.tenant_id, [role.name for role in bob.roles]) == (
        "bob@example.org",
        "it",
        7,
        ["editor"],
    )
    assert made.headers["Location"] == f"/people/{bob.id}"
    page = desk.get(f"/people/{bob.id}")
    assert page.status_code == 200
    assert "Bea Boss" in page.text, "the frame still names who is signed in"
    other = Browser(app)
    assert other.post("/sign-in", {"user_name": "bob", "password": PASSWORD}).status_code == 303
    assert other.get("/search").status_code == 200
    changed = {name: value for name, value in FORM.items() if name != "is_active"}
    assert desk.post(f"/people/{bob.id}", {**changed, "display_name": "Robert"}).status_code == 303
    assert fresh(container, "bob").display_name == "Robert"
    assert not fresh(container, "bob").is_active
    assert other.get("/search").status_code == 303, "who is disabled is out at once"


def test_a_form_sent_twice_adds_one(desk: Browser, container: Container) -> None:
    fields = {**FORM, "login": "bob", "submission": "a1b2"}
    answers = [desk.post("/people/new", fields) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [303, 303]
    assert answers[0].headers["Location"] == answers[1].headers["Location"]


def test_refusals_stand_at_their_fields_and_keep_what_was_typed(desk: Browser, container: Container) -> None:
    answer = desk.post("/people/new", {**FORM, "login": "no good", "email": "nobody", "password": "short"})
    assert answer.status_code == 422
    for said in ("A user name starts with", "This is no e-mail address.", "The password is too short"):
        assert said in answer.text
    assert 'value="no good"' in answer.text
    assert 'value="short"' not in answer.text
    taken = desk.post("/people/new", {**FORM, "login": "boss"})
    assert taken.status_code == 409
    assert "There is already a user named boss." in taken.text


def test_the_last_administrator_is_told_why(desk: Browser, boss: User, container: Container) -> None:
    answer = desk.post(f"/people/{boss.id}", {**FORM, "display_name": "Changed"})
    assert answer.status_code == 409
    assert "This is the last administrator who can sign in." in answer.text
    assert fresh(container, "boss").display_name == "Bea Boss"
    assert [role.name for role in fresh(container, "boss").roles] == ["administrator"]


def test_password_and_sessions_of_another_person(
    app: APIFlask, desk: Browser, people: People, container: Container
) -> None:
    bob = people.user("bob", "reader", password=PASSWORD)
    his = Browser(app).login_as(bob)
    assert his.get("/search").status_code == 200
    assert desk.post(f"/people/{bob.id}/end-sessions").status_code == 303
    assert his.get("/search").status_code == 303
    assert desk.post(f"/people/{bob.id}/password", {"password": "short"}).status_code == 422
    his = Browser(app).login_as(fresh(container, "bob"))
    assert desk.post(f"/people/{bob.id}/password", {"password": "another password"}).status_code == 303
    assert his.get("/search").status_code == 303
    assert his.post("/sign-in", {"user_name": "bob", "password": "another password"}).status_code == 303


def test_a_token_of_another_person_is_revoked(app: APIFlask, desk: Browser, people: People) -> None:
    bob = people.user("bob", "reader", password=PASSWORD)
    script = Api(app, people.token(bob, "read"))
    (token,) = (script.get("/api/v1/tokens").json or {})["items"]
    assert desk.get(f"/people/{bob.id}").status_code == 200
    assert desk.post(f"/people/{bob.id}/tokens/{token['id']}/revoke").status_code == 303
    refused = script.get("/api/v1/tokens")
    assert refused.status_code == 401
    assert (refused.json or {})["code"] == "access.token_revoked"
    assert desk.post(f"/people/999/tokens/{token['id']}/revoke").status_code == 404


def test_readers_see_neither_people_nor_roles(app: APIFlask, people: People, boss: User) -> None:
    rita = Browser(app).login_as(people.user("rita", "reader"))
    for path in ("/people", "/people/new", f"/people/{boss.id}", "/roles", "/roles/1"):
        assert rita.get(path).status_code == 403, path
    assert rita.post(f"/people/{boss.id}", FORM).status_code == 403
    assert rita.post("/people/new", {**FORM, "login": "x"}).status_code == 403


def test_ones_own_account(app: APIFlask, people: People, container: Container) -> None:
    rita = people.user("rita", "reader", password=PASSWORD)
    browser = Browser(app).login_as(rita)
    other = Browser(app).login_as(rita)
    assert browser.get("/account").status_code == 200
    assert browser.post("/account", {"display_name": "Rita R", "locale": "it"}).status_code == 303
    assert (fresh(container, "rita").display_name, fresh(container, "rita").locale) == ("Rita R", "it")
    assert browser.post("/account", {"display_name": "", "locale": "en"}).status_code == 422
    fields = {"current": PASSWORD, "password": "a new password", "repeated": "a new password"}
    assert browser.post("/account/password", {**fields, "current": "wrong"}).status_code == 422
    assert browser.post("/account/password", {**fields, "repeated": "other"}).status_code == 422
    assert browser.post("/account/password", fields).status_code == 303
    assert browser.get("/account").status_code == 200, "this browser stays"
    assert other.get("/account").status_code == 303, "all others are out (ASVS 7.4.3)"


def test_guessing_ones_own_password_is_throttled(app: APIFlask, people: People) -> None:
    browser = Browser(app).login_as(people.user("rita", "reader", password=PASSWORD))
    fields = {"current": "wrong", "password": "a new password", "repeated": "a new password"}
    for _ in range(LIMIT):
        assert browser.post("/account/password", fields).status_code == 422
    answer = browser.post("/account/password", {**fields, "current": PASSWORD})
    assert answer.status_code == 429
    assert "Too many attempts" in answer.text


def test_a_token_is_shown_once_and_used_at_once(app: APIFlask, people: People) -> None:
    browser = Browser(app).login_as(people.user("rita", "reader"))
    made = browser.post("/account/tokens", {"name": "nightly", "scopes": ["read"], "days": "3", "submission": "one"})
    assert made.status_code == 200
    secret = made.text.partition('<code id="secret">')[2].partition("<")[0]
    assert Api(app, secret).get("/api/v1/me").status_code == 200
    again = browser.post("/account/tokens", {"name": "nightly", "scopes": ["read"], "days": "3", "submission": "one"})
    assert secret not in again.text
    page = browser.get("/account/tokens")
    assert page.status_code == 200
    assert secret not in page.text
    assert page.text.count('<th scope="row">nightly</th>') == 1
    for wrong in ({"days": "0"}, {"days": "999"}, {"days": "x"}, {"scopes": []}):
        answer = browser.post("/account/tokens", {"name": "n", "scopes": ["read"], "days": "3", **wrong})
        assert answer.status_code == 422, wrong


def test_a_guest_reads_and_changes_nothing(app: APIFlask, people: People, container: Container) -> None:
    guest = people.user("guest", "editor", is_guest=True, password=PASSWORD)
    browser, beside = Browser(app).login_as(guest), Browser(app).login_as(guest)
    page = browser.get("/records/cms.contents")
    assert page.status_code == 200
    assert 'href="/account"' not in page.text
    for path in ("/account", "/account/tokens", "/people", "/roles", "/settings"):
        assert browser.get(path).status_code == 403, path
    for path, fields in (
        ("/account", {"display_name": "x", "locale": "it"}),
        ("/account/tokens", {"name": "x", "scopes": ["read"], "days": "1"}),
        ("/records/cms.contents/new", {"category": "x"}),
        (f"/people/{guest.id}/view", {}),
    ):
        assert browser.post(path, fields).status_code == 403, path
    assert browser.post("/locale", {"locale": "it"}).status_code == 303
    assert 'lang="it"' in browser.get("/search").text
    assert fresh(container, "guest").locale == "en", "the account is everybody's"
    assert browser.post("/sign-out").status_code == 303
    assert browser.get("/search").status_code == 303
    assert beside.get("/search").status_code == 200, "who shares the account stays"
