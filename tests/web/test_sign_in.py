import pytest
from flask import session

from app.container import Container
from app.core.access.models import User
from app.core.access.throttle import LIMIT
from tests.fixtures.clients import Browser, People

PASSWORD = "right password"


@pytest.fixture
def ada(people: People) -> User:
    return people.user("ada", "administrator", password=PASSWORD, display_name="Ada")


def sign_in(client: Browser, password: str = PASSWORD, **fields: str):  # type: ignore[no-untyped-def]
    return client.post("/sign-in", {"user_name": "ada", "password": password, **fields})


def test_the_form_is_open_to_everybody(client: Browser, database: str) -> None:
    page = client.get("/sign-in")
    assert page.status_code == 200
    assert 'name="csrf_token"' in page.text
    assert "Set-Cookie" in page.headers


def test_a_right_password_leads_to_where_the_person_wanted(client: Browser, ada: User) -> None:
    answer = sign_in(client, next="/people?x=1")
    assert answer.status_code == 303
    assert answer.headers["Location"] == "/people?x=1"
    assert client.get("/people").status_code == 200


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:x", "/a\r\nX: y", ""]
)
def test_never_elsewhere(client: Browser, ada: User, target: str) -> None:
    answer = sign_in(client, next=target)
    assert answer.status_code == 303
    assert answer.headers["Location"] == "/"


def test_the_session_before_is_gone(client: Browser, ada: User) -> None:
    with client.client.session_transaction() as before:
        before["planted"] = "x"
    with client.client:
        assert sign_in(client).status_code == 303
        assert "planted" not in session


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(client: Browser, ada: User) -> None:
    cookie = sign_in(client).headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie


def test_a_wrong_password_is_said_at_the_form_and_counted(client: Browser, ada: User) -> None:
    answer = sign_in(client, "wrong password")
    assert answer.status_code == 401
    assert "User name or password is wrong." in answer.text
    assert 'value="ada"' in answer.text
    assert "wrong password" not in answer.text


def test_too_many_attempts_say_when_to_come_back(client: Browser, ada: User) -> None:
    for _ in range(LIMIT):
        assert sign_in(client, "wrong").status_code == 401
    answer = sign_in(client)
    assert answer.status_code == 429
    assert 0 < int(answer.headers["Retry-After"]) <= 901
    assert "Too many attempts" in answer.text


def test_without_our_token_no_form_is_taken(client: Browser, ada: User) -> None:
    client.get("/sign-in")
    answer = client.post("/sign-in", {"user_name": "ada", "password": PASSWORD}, csrf=False)
    assert answer.status_code == 403
    assert "came from another site" in answer.text


def test_signing_out_ends_the_session_also_of_a_copied_cookie(client: Browser, ada: User, app, people) -> None:  # type: ignore[no-untyped-def]
    sign_in(client)
    copy = Browser(app)
    copy.client.set_cookie("changeover", client.client.get_cookie("changeover").value)  # type: ignore[union-attr]
    assert copy.get("/people").status_code == 200
    answer = client.post("/sign-out")
    assert answer.status_code == 303
    assert client.get("/people").status_code == 303
    assert copy.get("/people").status_code == 303


def test_a_disabled_person_is_out_at_once(client: Browser, ada: User, container: Container, people: People) -> None:
    people.user("bea", "administrator", password=PASSWORD)
    sign_in(client)
    with container.units() as unit:
        container.access.disable(unit, "ada")
    assert client.get("/people").status_code == 303


def test_who_is_in_does_not_sign_in_again(admin_client: Browser) -> None:
    answer = admin_client.get("/sign-in?next=/settings")
    assert answer.status_code == 303
    assert answer.headers["Location"] == "/settings"


def test_blanks_and_control_characters_are_only_wrong(client: Browser, ada: User) -> None:
    assert client.post("/sign-in", {}).status_code == 401
    assert client.post("/sign-in", {"user_name": "a\0b", "password": "x"}).status_code in (400, 401)
