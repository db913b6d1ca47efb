"""What every answer carries, and that the security map names tests that exist."""

from __future__ import annotations

import re

import pytest
from apiflask import APIFlask

from app.container import Container
from app.core.access.models import User
from app.core.config import Config
from app.factory import create_app
from tests.architecture.tree import ROOT
from tests.fixtures.clients import Api, Browser

MAP = ROOT / "docs/reference/security.md"
CHAPTERS = {"1", "2", "3", "4", "6", "7", "8", "16"}
ANSWERS = {
    "a page": ("/search", 200),
    "a page that is not there": ("/no-such-page", 404),
    "a redirect": ("/", 303),
    "JSON": ("/api/v1/me", 200),
    "a problem": ("/api/v1/detail/cms/contents/1", 404),
    "a static file": ("/static/css/tokens.css", 200),
    "the API's page": ("/api/docs", 200),
    "a CSV file": ("/api/v1/export/cms/contents", 200),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_every_kind_of_answer_carries_the_policy(admin_client: Browser, kind: str) -> None:
    path, status = ANSWERS[kind]
    answer = admin_client.get(path)
    assert answer.status_code == status
    answer.get_data()
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["Content-Security-Policy"].split(";") if part)
    assert policy["script-src"] == policy["style-src"] == policy["default-src"] == "'self'"
    assert policy["object-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert answer.headers["X-Frame-Options"] == "DENY"


def test_no_other_site_may_read_an_answer(api: Api) -> None:
    answer = api.get("/api/v1/me", headers={"Origin": "https://elsewhere.example"})
    assert answer.status_code == 200
    assert [name for name, _ in answer.headers if name.startswith("Access-Control-")] == []


def test_behind_https_the_session_is_of_this_host_and_encrypted_only(
    config: Config, container: Container, admin: User
) -> None:
    app: APIFlask = create_app(config.model_copy(update={"changeover_secure_cookies": True}), container)
    answer = app.test_client().get("/sign-in", base_url="https://localhost")
    assert answer.status_code == 200
    assert answer.headers["Strict-Transport-Security"] == "max-age=31536000; includeSubDomains"
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith("__Host-changeover=")
    for attribute in ("Secure", "HttpOnly", "SameSite=Lax", "Path=/"):
        assert attribute in cookie
    assert "Domain=" not in cookie


def test_the_security_map_names_tests_that_exist() -> None:
    written = MAP.read_text(encoding="utf-8")
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    named = set(re.findall(r"`(test_\w+)`", written))
    assert len(named) > 30
    assert {name for name in named if f"def {name}(" not in source} == set()


def test_every_row_of_the_map_says_a_test_or_a_reason() -> None:
    rows = re.findall(r"^\| (\d+)\.[^|]+\|[^|]*\| ([^|]+) \|$", MAP.read_text(encoding="utf-8"), re.MULTILINE)
    assert {chapter for chapter, _ in rows} == CHAPTERS
    for _, last in rows:
        assert re.match(r"`test_|partly: |open: |none here|this page", last), last
