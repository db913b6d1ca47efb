"""Rules of every page: who is let in, which headers come back, and how errors look."""

import re
from unittest.mock import patch

import pytest
from apiflask import APIFlask
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from structlog.testing import capture_logs

from app.core.access.models import User
from app.edge.security import FORM_METHODS
from tests.fixtures.clients import Api, Browser, People

CANARY = "canary-7f3e"


def test_nobody_is_sent_to_the_sign_in_and_back(client: Browser, database: str) -> None:
    answer = client.get("/settings?q=page")
    assert answer.status_code == 303
    assert answer.headers["Location"] == "/sign-in?next=/settings?q%3Dpage"


def test_a_part_of_a_page_sends_the_whole_page_to_the_sign_in(client: Browser, database: str) -> None:
    headers = {"HX-Request": "true", "HX-Current-URL": "http://localhost/queues?x=1"}
    answer = client.get("/queues/body", headers=headers)
    assert answer.status_code == 401
    assert answer.headers["HX-Redirect"] == "/sign-in?next=/queues?x%3D1"


def test_no_page_but_the_named_ones_opens_without_a_person(app: APIFlask, client: Browser) -> None:
    opened = set()
    for rule in app.url_map.iter_rules():
        if "GET" in (rule.methods or ()) and rule.endpoint != "static":
            path = re.sub(r"<int:[^>]+>", "1", rule.rule)
            answer = client.get(re.sub(r"<[^>]+>", "x", path))
            if answer.status_code not in (303, 401):
                opened.add(rule.rule)
    assert opened == {"/sign-in", "/healthz", "/readyz"}


def test_every_change_needs_our_token_or_a_bearer_token(app: APIFlask, admin_client: Browser) -> None:
    for rule in app.url_map.iter_rules():
        for method in (rule.methods or set()) & FORM_METHODS:
            path = re.sub(r"<[^>]+>", "1", rule.rule)
            answer = admin_client.client.open(path, method=method)
            assert answer.status_code == 403, (method, rule.rule)
            assert "came from another site" in answer.text


def test_headers_of_every_answer(client: Browser, database: str) -> None:
    answer = client.get("/sign-in")
    assert answer.status_code == 200
    policy = answer.headers["Content-Security-Policy"]
    for part in ("default-src 'self'", "img-src 'self' data:", "base-uri 'none'", "frame-ancestors 'none'"):
        assert part in policy
    assert "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"].startswith("no-store")
    assert re.fullmatch("[0-9a-f]{12}", answer.headers["X-Request-Id"])


def test_static_files_may_be_kept(client: Browser) -> None:
    answer = client.get("/static/css/tokens.css")
    assert answer.status_code == 200
    assert "no-store" not in answer.headers["Cache-Control"]


def test_a_bad_bearer_token_never_falls_back_to_the_session(admin_client: Browser) -> None:
    for value in ("Bearer chg_wrong", "Basic YTpi", ""):
        answer = admin_client.get("/settings", headers={"Authorization": value})
        assert answer.status_code == 401, value
        assert answer.mimetype == "application/problem+json"


def test_a_missing_page_says_so_with_a_reference(admin_client: Browser) -> None:
    answer = admin_client.get("/no-such-page")
    assert answer.status_code == 404
    assert "There is no such page." in answer.text
    assert answer.headers["X-Request-Id"] in answer.text
    assert 'class="rail"' in answer.text


def test_errors_are_said_in_the_language_of_the_person(client: Browser, database: str) -> None:
    answer = client.get("/no-such-page", headers={"Accept-Language": "it"})
    assert answer.status_code == 404
    assert '<html lang="it"' in answer.text


def test_a_missing_permission_is_named(app: APIFlask, people: People) -> None:
    reader = Browser(app).login_as(people.user("rita", "reader"))
    answer = reader.get("/settings")
    assert answer.status_code == 403
    assert "settings.select" in answer.text


def test_a_part_of_a_page_gets_a_part_as_its_error(app: APIFlask, people: People) -> None:
    reader = Browser(app).login_as(people.user("rita", "reader"))
    answer = reader.get("/queues/body", headers={"HX-Request": "true"})
    assert answer.status_code == 403
    assert "<html" not in answer.text


def failing(error: Exception):  # type: ignore[no-untyped-def]
    """Make the page of the people fail below the service."""
    return patch("app.core.access.store.find_users", side_effect=error)


@pytest.mark.parametrize(
    "error", [OperationalError(CANARY, {"text": CANARY}, Exception(CANARY)), PoolTimeout("QueuePool limit " + CANARY)]
)
def test_a_database_that_is_away_is_503_and_tells_nothing(admin_client: Browser, error: Exception) -> None:
    with failing(error), capture_logs() as logs:
        answer = admin_client.get("/people")
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "5"
    assert "Nothing was changed" in answer.text
    assert CANARY not in answer.text + str(logs)


def test_an_unexpected_error_leaves_a_reference_and_places_but_no_message(admin_client: Browser, api: Api) -> None:
    with failing(RuntimeError(CANARY)), capture_logs() as logs:
        answer = admin_client.get("/people")
        twin = api.get("/people")
    assert answer.status_code == twin.status_code == 500
    assert CANARY not in answer.text + twin.text
    assert answer.headers["X-Request-Id"] in answer.text
    assert (twin.json or {})["reference"] == twin.headers["X-Request-Id"]
    assert [entry["event"] for entry in logs if entry["log_level"] == "error"] == ["unexpected_error"] * 2


def test_a_failed_view_writes_nothing(admin_client: Browser, admin: User) -> None:
    with patch("app.web.settings.flash", side_effect=RuntimeError):
        answer = admin_client.post("/settings", {"search.page_size": "63"})
    assert answer.status_code == 500
    page = admin_client.get("/settings")
    assert page.status_code == 200
    assert 'value="63"' not in page.text


def test_language_and_colours_are_kept(client: Browser, admin_client: Browser) -> None:
    assert client.post("/locale", {"locale": "it", "next": "/sign-in"}).headers["Location"] == "/sign-in"
    page = client.get("/sign-in")
    assert page.status_code == 200
    assert '<html lang="it"' in page.text
    assert client.post("/locale", {"locale": "xx"}).status_code == 422
    assert admin_client.post("/locale", {"locale": "it"}).status_code == 303
    assert admin_client.post("/theme", {"theme": "dark"}).status_code == 303
    page = admin_client.get("/people")
    assert page.status_code == 200
    assert '<html lang="it" data-bs-theme="dark"' in page.text


def test_the_language_follows_the_person_to_another_browser(app: APIFlask, admin_client: Browser, admin: User) -> None:
    assert admin_client.post("/locale", {"locale": "it"}).status_code == 303
    page = Browser(app).login_as(admin).get("/people")
    assert page.status_code == 200
    assert '<html lang="it"' in page.text
