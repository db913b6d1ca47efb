"""The access matrix: every route × every kind of caller, against the table that was reviewed and checked in."""

from __future__ import annotations

import os

import pytest
from apiflask import APIFlask

from app.container import Container
from app.edge.security import FORM_METHODS
from tests.fixtures.clients import Api, Browser, People
from tests.web.access_matrix import CALLERS, WRITE, Matrix, written
from tests.web.access_matrix import write as write_table

OPEN = {"/sign-in", "/sign-out", "/locale", "/theme", "/healthz", "/readyz", "/static/<path:filename>"}
"""Routes that answer whoever asks."""
FOR_WHOEVER_IS_SIGNED_IN = {
    "/": "leads to search",
    "/account": "one's own",
    "/account/tokens": "one's own",
    "/api/docs": "says what there is, not what is in it",
    "/api/v1/approvals": "one's own changes",
    "/api/v1/me": "who one is",
    "/api/v1/openapi.json": "says what there is, not what is in it",
    "/api/v1/permissions": "names of permissions",
    "/api/v1/search": "over what one may see",
    "/api/v1/search/suggestions": "words of what one may see",
    "/api/v1/tokens": "one's own",
    "/approvals": "one's own changes",
    "/documentation": "lists what one may read",
    "/documentation/ask": "answers from what one may read",
    "/search": "over what one may see",
    "/settings/ai/strip": "empty for who may not know",
    "/view-as/stop": "ends what one began oneself",
}
"""Routes that a person without any role may use, and why."""


@pytest.fixture
def rows(app: APIFlask, container: Container, people: People) -> list[dict[str, str]]:
    return Matrix(app, container, people).rows()


@pytest.mark.slow
def test_every_route_answers_everybody_as_it_was_reviewed(rows: list[dict[str, str]]) -> None:
    """A new route without a row fails, and so does a row without a route."""
    if os.environ.get(WRITE):
        write_table(rows)
    expected = {(row["method"], row["route"]): row for row in written()}
    found = {(row["method"], row["route"]): row for row in rows}
    assert set(found) == set(expected)
    differing = {
        f"{method} {route} as {who}: {row[who]} instead of {expected[method, route][who]}"
        for (method, route), row in found.items()
        for who in CALLERS
        if row[who] != expected[method, route][who]
    }
    assert differing == set()


def test_nobody_and_no_expired_token_get_in_anywhere() -> None:
    for row in written():
        if row["route"] not in OPEN:
            assert row["anonymous"] in ("401", "sign-in"), row
            assert row["expired token"] == "401", row


def test_who_has_no_role_gets_to_nothing_but_their_own() -> None:
    open_to_all = {row["route"] for row in written() if row["other"][0] in "23"} - OPEN
    assert open_to_all <= set(FOR_WHOEVER_IS_SIGNED_IN)


def test_a_guest_changes_nothing() -> None:
    for row in written():
        if row["method"] != "GET" and row["route"] not in {*OPEN, "/view-as/stop"}:
            assert row["guest"] in ("403", "404"), row


def test_a_token_for_reading_changes_nothing() -> None:
    for row in written():
        if row["method"] != "GET" and row["route"] not in OPEN:
            assert row["read token"] == "403", row


ONLY_AUTHORS = {
    "/api/v1/approvals/<int:modification_id>",
    "/api/v1/approvals/<int:modification_id>/withdraw",
    "/approvals/<int:modification_id>/withdraw",
}
"""What only the author of a change may do; the editor is the author in this table."""


def test_nobody_may_more_than_the_administrator() -> None:
    for row in written():
        if row["administrator"] in ("401", "403") and row["route"] not in ONLY_AUTHORS:
            assert all(row[who][0] not in "2" for who in CALLERS), row


def test_no_change_without_form_token_or_bearer(app: APIFlask, admin_client: Browser, api: Api) -> None:
    """The cookie alone is 403 at every route that changes something; a bearer token alone is let through to it."""
    changing = [
        (rule, method) for rule in app.url_map.iter_rules() for method in sorted((rule.methods or set()) & FORM_METHODS)
    ]
    assert len(changing) > 40
    adapter = app.url_map.bind("localhost")
    for rule, method in changing:
        path = adapter.build(rule.endpoint, dict.fromkeys(rule.arguments, 1), method=method, force_external=False)
        answer = admin_client.client.open(path, method=method)
        assert answer.status_code == 403, (method, rule.rule)
        assert "came from another site" in answer.text
    assert api.post("/api/v1/roles", json={"name": "helpers"}).status_code == 201
