"""Every route asked as everybody: `python -m tests.web.access_matrix` writes `access_matrix.csv` anew, to be reviewed.

A request is one that the most powerful caller could make here, and nothing of it is kept: each unit is rolled back.
So a cell says what the route answers to this caller, whatever stands in the other cells.
"""

from __future__ import annotations

import csv
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from flask import Flask
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.container import Container
from app.core.access.models import User
from tests.fixtures.clients import Browser, People

TABLE = Path(__file__).with_name("access_matrix.csv")
WRITE = "ACCESS_MATRIX_WRITE"
CALLERS = (
    "anonymous", "guest", "other", "reader", "editor", "approver", "administrator", "read token", "expired token",
)  # fmt: skip
"""``other`` is signed in and has no role; ``read token`` is an administrator's with the scope read only."""
Row = dict[str, str]


@dataclass(frozen=True)
class Sent:
    """What a request carries; a JSON body in the API, else a form."""

    body: Mapping[str, Any] = field(default_factory=dict)
    query: str = ""


REVISION = Sent(query="revision=1")
REQUESTS: Mapping[str, Sent] = {
    "records_api.insert": Sent({"title": "New", "category": "news"}),
    "records_api.update": Sent({"category": "other", "revision": 1}),
    "records_api.delete": REVISION,
    "records_api.restore": REVISION,
    "bulk_api.preview": Sent({"operation": "update", "ids": [1], "values": {"category": "other"}}),
    "bulk_api.change": Sent({"operation": "delete", "token": "x"}),
    "search_api.search": Sent(query="q=news"),
    "documentation_api.retrieve": Sent(query="q=news"),
    "documentation_api.answer": Sent({"question": "news"}),
    "documentation_ingest_api.ingest": Sent({"collection": "papers", "source": "a.md", "content": "# A\n\nText."}),
    "documentation_queries_api.erase": Sent({"user_id": 1}),
    "search_suggestions_api.suggestions": Sent(query="q=ne"),
    "settings_api.update": Sent({"value": 50}),
    "tokens_api.create": Sent({"name": "t", "scopes": ["read"]}),
    "users_api.create": Sent({"login": "nina", "display_name": "Nina"}),
    "users_api.update": Sent({"display_name": "Rita R."}),
    "users_api.set_password": Sent({"password": "a long password of the tests"}),
    "roles_api.create": Sent({"name": "helpers"}),
    "roles_api.update": Sent({"description": "Votes"}),
    "approvals_api.vote": Sent({"approves": True}),
    "approvals_api.edit": Sent({"values": {"category": "else"}}),
    "embedding_switches_api.start": Sent({"target": "none"}),
    "embedding_switches_api.decide": Sent({"resolution": "retry"}),
    "vector_health_api.repair": Sent({"kind": "orphaned"}),
    "queues_api.failure": Sent({"queue": "default", "job": "none", "action": "forget"}),
    "records.create": Sent({"title.en": "New", "body.en": "", "category": "news", "status": "draft"}),
    "records.save": Sent({"category": "other", "revision": "1"}),
    "records.delete": Sent({"revision": "1"}),
    "records.restore": Sent({"revision": "1"}),
    "records.remove": Sent({"revision": "1"}),
    "records.columns": Sent({"order": "title", "column": "title"}),
    "record_bulk.preview": Sent(query="operation=delete&ids=1"),
    "record_bulk.change": Sent({"operation": "delete", "token": "x"}),
    "settings.reset": Sent({"reset": "search.page_size"}),
    "people.create": Sent({"login": "nina", "display_name": "Nina", "locale": "en"}),
    "people.update": Sent({"display_name": "Rita R.", "locale": "en", "is_active": "on"}),
    "people.set_password": Sent({"password": "a long password of the tests"}),
    "roles.create": Sent({"name": "helpers"}),
    "account.save": Sent({"display_name": "Somebody", "locale": "en"}),
    "account.make_token": Sent({"name": "t", "scopes": "read", "days": "1"}),
    "queues.failure": Sent({"queue": "default", "job": "none", "action": "forget"}),
    "approvals.disapprove": Sent({"reason": "No"}),
    "settings.save": Sent({"search.page_size": "50"}),
    "ai.start": Sent({"target": "none"}),
    "ai.resolve": Sent({"action": "retry"}),
    "search.index": Sent(query="q=news"),
    "locale.choose": Sent({"locale": "it"}),
    "locale.choose_theme": Sent({"theme": "dark"}),
    "auth.sign_in_send": Sent({"user_name": "nobody", "password": "wrong"}),
}
"""What the routes need that need something; the others are sent empty."""


ASKED = ("search.index", "search_api.search", "search_suggestions_api.suggestions", "record_bulk.preview")
"""GET routes that are asked with their query."""


class Matrix:
    """Asks every route as everybody."""

    def __init__(self, app: Flask, container: Container, people: People) -> None:
        self.app = app
        self.people: dict[str, User] = {}
        self._make_people(container, people)
        admin = self.people["administrator"]
        self.tokens = {"read token": people.token(admin, "read"), "expired token": people.token(admin, "all")}
        with container.units() as unit:
            expire = "update api_tokens set expires_at = :at where id = (select max(id) from api_tokens)"
            unit.session.execute(text(expire), {"at": container.clock.now()})
            self.arguments = self._make_things(unit.session)

    def _make_people(self, container: Container, people: People) -> None:
        roles = {"guest": ["reader"], "other": [], "approver": ["reader", "approver"]}
        for name in CALLERS[1:7]:
            if name == "approver":
                with container.units() as unit:
                    permissions = ["cms.contents.approve", "sao.tickets.approve", "settings.approve"]
                    unit.session.execute(
                        text("insert into roles (name, permissions) values ('approver', :permissions)"),
                        {"permissions": permissions},
                    )
            self.people[name] = people.user(name, *roles.get(name, [name]), is_guest=name == "guest")

    def _make_things(self, session: Session) -> dict[str, str]:
        """One of each thing that addresses name; the arguments of the addresses."""
        session.execute(text("insert into cms_contents (category) values ('news')"))
        session.execute(
            text("insert into cms_content_translations (content_id, locale, title, body) values (1, 'en', 'News', '')")
        )
        values = {"editor": self.people["editor"].id}
        modification = (
            "insert into modifications"
            " (kind, subject, record_id, operation, base_revision, diff, author_id, votes_needed, expires_at)"
            " values ('record', 'cms.contents', 1, 'update', 1, '{\"category\": [\"news\", \"other\"]}', :editor, 2,"
            " '2100-01-01') returning id"
        )
        session.execute(
            text(
                "insert into evaluation_runs (kind, suite, collection, retrieval, cases, passed, metrics, started_by)"
                " values ('suite', 'golden', 'papers', 'passages', 0, 0, '{}', 'command')"
            )
        )
        role = session.scalar(text("select id from roles where name = 'approver'"))
        return {
            "module": "cms",
            "record_id": "1",
            "user_id": str(self.people["reader"].id),
            "token_id": "1",
            "role_id": str(role),
            "modification_id": str(session.scalar(text(modification), values)),
            "switch_id": "1",
            "run_id": "1",
            "space": "1",
            "corpus": "user",
            "locale": "en",
            "source": "none.md",
            "filename": "css/tokens.css",
        }

    def rows(self) -> list[Row]:
        """The whole table, by address and method."""
        found = [
            (rule.rule, method, rule.endpoint)
            for rule in self.app.url_map.iter_rules()
            for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        ]
        return [
            {"method": method, "route": route, **{who: self.asked(who, method, route, endpoint) for who in CALLERS}}
            for route, method, endpoint in sorted(found)
        ]

    def asked(self, who: str, method: str, route: str, endpoint: str) -> str:
        """The status; ``sign-in`` for a page that sends its caller there."""
        sent = REQUESTS.get(endpoint, Sent()) if method != "GET" or endpoint in ASKED else Sent()
        options: dict[str, Any] = {"query_string": sent.query, "headers": {}}
        is_api = route.startswith("/api/v1/")
        browser = Browser(self.app)
        if who in self.people:
            browser.login_as(self.people[who])
        token = self.tokens.get(who)
        if token is not None:
            options["headers"]["Authorization"] = f"Bearer {token}"
        elif method != "GET":
            options["headers"]["X-CSRFToken"] = browser.form_token()
        if method != "GET" and is_api:
            options["json"] = dict(sent.body)
        elif method != "GET":
            options["data"] = dict(sent.body)
        with nothing_kept():
            answer = browser.client.open(self.address(route, is_api), method=method, **options)
            answer.get_data()
        if answer.status_code == 303 and answer.headers["Location"].startswith("/sign-in"):
            return "sign-in"
        return str(answer.status_code)

    def address(self, route: str, is_api: bool) -> str:
        names = {"name": "contents" if "<module>" in route else "search.page_size" if is_api else "cms.contents"}
        return re.sub(r"<(?:\w+:)?(\w+)>", lambda found: {**self.arguments, **names}[found[1]], route)


@contextmanager
def nothing_kept() -> Iterator[None]:
    """Each unit ends as if it had been committed, and leaves nothing behind."""
    with patch.object(Session, "commit", Session.rollback):
        yield


def written() -> list[Row]:
    """The table as it is checked in."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(rows: list[Row]) -> None:
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, ["method", "route", *CALLERS], lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


if __name__ == "__main__":
    os.environ[WRITE] = "1"
    sys.exit(pytest.main(["-q", "-n0", "-p", "no:randomly", str(TABLE.with_name("test_access_matrix.py"))]))
