"""The audit: there exactly when the change is, seen by who may see what it is about, exported as it is shown."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from apiflask import APIFlask
from sqlalchemy import text

from app.container import Container
from app.core.access.models import FieldRule, Role, RowRule, User, UserRole
from app.core.contracts.actor import SYSTEM
from app.core.crud.serialise import Record
from app.core.errors import Conflict
from app.core.settings.schema import AUDIT_DAYS, PAGE_SIZE
from jobs import runtime, upkeep
from tests.fakes.clock import FakeClock
from tests.fixtures.clients import Api, Browser, People

CONTENTS = "cms.contents"
AUDITOR = ["audit.select", "cms.contents.select"]


@pytest.fixture
def auditor(container: Container, people: People) -> User:
    """Somebody who reads the audit, and contents."""
    user = people.user("auditor")
    with container.units() as unit:
        role = Role(name="auditor", permissions=AUDITOR)
        unit.session.add(role)
        unit.session.flush()
        unit.session.add(UserRole(user_id=user.id, role_id=role.id))
    return user


def content(container: Container, category: str = "news") -> Record:
    values = {"translations": {"en": {"title": "Holiday"}}, "category": category}
    with container.units() as unit:
        made = container.records.create(unit, SYSTEM, CONTENTS, values)
    assert isinstance(made, Record)
    return made


def entries(api: Api | Browser, query: str = "") -> list[dict[str, Any]]:
    answer = api.get(f"/api/v1/audit{query}")
    assert answer.status_code == 200
    found: list[dict[str, Any]] = answer.get_json()["items"]
    return found


def count(container: Container) -> int:
    with container.units() as unit:
        return int(unit.session.scalar(text("select count(*) from audit_entries")) or 0)


def test_a_change_that_is_rolled_back_leaves_no_entry(container: Container) -> None:
    before = count(container)
    with pytest.raises(ZeroDivisionError):
        _write_and_fail(container)
    assert count(container) == before
    with container.units() as unit:
        container.settings.update(unit, SYSTEM, PAGE_SIZE, 50)
        container.settings.update(unit, SYSTEM, PAGE_SIZE, 50)
    assert count(container) == before + 1


def _write_and_fail(container: Container) -> None:
    with container.units() as unit:
        container.records.create(unit, SYSTEM, CONTENTS, {"translations": {"en": {"title": "x"}}, "category": "a"})
        container.settings.update(unit, SYSTEM, PAGE_SIZE, 50)
        unit.session.flush()
        assert 1 / 0


def test_an_entry_says_who_what_and_from_where(api: Api, container: Container) -> None:
    answer = api.patch(f"/api/v1/settings/{PAGE_SIZE}", json={"value": 50}, environ_base={"REMOTE_ADDR": "127.0.0.9"})
    assert answer.status_code == 200
    entry = entries(api, "?entity=settings")[0]
    assert entry["changes"] == {PAGE_SIZE: [20, 50]}
    assert (entry["actor"]["login"], entry["action"], entry["channel"]) == ("admin", "update", "api")
    assert entry["address"] == "127.0.0.9"
    assert entry["token_id"] is not None
    assert entry["request_id"]


def test_the_value_of_a_secret_setting_is_left_out(api: Api, container: Container) -> None:
    definition = container.settings.definition(PAGE_SIZE)
    container.settings.definitions[PAGE_SIZE] = replace(definition, secret=True)
    api.patch(f"/api/v1/settings/{PAGE_SIZE}", json={"value": 55})
    assert entries(api, "?entity=settings")[0]["changes"] == {PAGE_SIZE: None}


def test_it_is_filtered_and_continued(
    app: APIFlask, container: Container, clock: FakeClock, people: People, admin: User
) -> None:
    api = Api(app, people.token(admin, "all", days=5))
    first = content(container)
    clock.advance(timedelta(days=2).total_seconds())
    second = content(container)
    api.patch(f"/api/v1/settings/{PAGE_SIZE}", json={"value": 50})
    day = clock.now().date().isoformat()
    about = "?entity=cms.contents"
    assert [entry["record_id"] for entry in entries(api, about)] == [second.id, first.id]
    assert [entry["record_id"] for entry in entries(api, f"{about}&from={day}&to={day}")] == [second.id]
    assert [entry["record_id"] for entry in entries(api, f"{about}&record={first.id}")] == [first.id]
    assert entries(api, f"{about}&action=delete") == []
    assert {entry["entity"] for entry in entries(api, "?person=admin&channel=api")} == {"settings"}
    page = api.get(f"/api/v1/audit{about}&size=1").get_json()
    assert [entry["record_id"] for entry in entries(api, f"{about}&size=1&cursor={page['next_cursor']}")] == [first.id]


def test_a_wrong_filter_is_refused_by_its_name(api: Api) -> None:
    answer = api.get("/api/v1/audit?from=yesterday&channel=post&record=-1&size=9999&colour=red&cursor=x")
    assert answer.status_code == 422
    paths = {problem["path"] for problem in answer.get_json()["errors"]}
    assert paths == {"from", "channel", "record", "size", "colour", "cursor"}


def test_without_the_permission_there_is_none_of_it(app: APIFlask, people: People) -> None:
    reader = Browser(app).login_as(people.user("reader", "reader"))
    for path in ("/audit", "/api/v1/audit", "/api/v1/audit/export"):
        assert reader.get(path).status_code == 403


def test_entries_about_records_out_of_reach_are_not_shown(app: APIFlask, container: Container, auditor: User) -> None:
    seen, hidden = content(container), content(container, "secret")
    with container.units() as unit:
        container.settings.update(unit, SYSTEM, PAGE_SIZE, 50)
        role = unit.session.query(Role).filter_by(name="auditor").one()
        condition = {"property": "category", "operator": "=", "value": "news"}
        unit.session.add(RowRule(role_id=role.id, permission="cms.contents.select", condition=condition))
    browser = Browser(app).login_as(auditor)
    assert [(entry["entity"], entry["record_id"]) for entry in entries(browser)] == [(CONTENTS, seen.id)]
    assert str(hidden.id) not in browser.get("/api/v1/audit/export").text.split("\n")[1].split(",")[10]


def test_values_of_fields_that_the_reader_may_not_read_go(app: APIFlask, container: Container, auditor: User) -> None:
    content(container)
    with container.units() as unit:
        role = unit.session.query(Role).filter_by(name="auditor").one()
        unit.session.add(FieldRule(role_id=role.id, entity=CONTENTS, ability="read", fields=["title"]))
    changes = entries(Browser(app).login_as(auditor))[0]["changes"]
    assert changes["translations.en.title"] == [None, "Holiday"]
    assert changes["category"] is None


def test_the_export_is_exactly_what_is_filtered(app: APIFlask, api: Api, container: Container, admin: User) -> None:
    for number in range(7):
        content(container, f"=cmd{number}")
    query = "?entity=cms.contents&action=insert"
    answer = api.get(f"/api/v1/audit/export{query}")
    assert (answer.status_code, answer.mimetype) == (200, "text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    shown = entries(api, query)
    assert [int(row["id"]) for row in rows] == [entry["id"] for entry in shown]
    assert [json.loads(row["changes"]) for row in rows] == [entry["changes"] for entry in shown]
    page = Browser(app).login_as(admin).get(f"/audit{query}&from=2020-01-01")
    assert page.text.count('<tr id="entry-') == 7
    assert "/api/v1/audit/export?" in page.text


def test_a_cell_that_a_spreadsheet_would_run_is_text(api: Api, container: Container) -> None:
    with container.units() as unit:
        container.audit.write(unit, SYSTEM, "=1+1", CONTENTS)
    row = next(csv.DictReader(io.StringIO(api.get("/api/v1/audit/export?action=%3D1%2B1").text)))
    assert row["action"] == "'=1+1"


def test_the_page_shows_filters_and_what_is_wrong_with_them(app: APIFlask, container: Container, admin: User) -> None:
    record = content(container)
    browser = Browser(app).login_as(admin)
    page = browser.get(f"/audit?entity=cms.contents&record={record.id}")
    assert page.status_code == 200
    assert f'href="/records/cms.contents/{record.id}"' in page.text
    assert "Remove the filter" in page.text
    wrong = browser.get("/audit?record=abc")
    assert wrong.status_code == 422
    assert 'id="f-record-error"' in wrong.text
    assert '<tr id="entry-' not in wrong.text


def test_a_record_has_its_history_on_its_page(app: APIFlask, container: Container, people: People) -> None:
    record = content(container)
    with container.units() as unit:
        container.records.update(unit, SYSTEM, CONTENTS, record.id, {"category": "rules"}, 1)
    page = Browser(app).login_as(people.user("reader", "reader")).get(f"/records/cms.contents/{record.id}")
    assert page.status_code == 200
    assert "<del>news</del>" in page.text
    assert "<ins>rules</ins>" in page.text


def test_what_an_administrator_does_to_a_switch_is_noted(container: Container) -> None:
    """Start, resume, abandon and decisions have the switch as their record; here the refusal that is kept."""
    assert container.ai is not None
    profile = container.ai.profiles.get(next(iter(container.ai.profiles.keys())))
    container.ai.switching._store_refusal(SYSTEM, profile, "side_by_side", Conflict("switch.nothing_running"))
    container.ai.switching.abandon(SYSTEM)
    with container.units() as unit:
        about = "select action, changes from audit_entries where entity = 'switches' order by id"
        rows = unit.session.execute(text(about)).all()
    assert [row[0] for row in rows] == ["start", "abandon"]
    assert rows[0][1]["refused"] == [None, "switch.nothing_running"]


@pytest.fixture
def in_a_worker(container: Container, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "container", lambda: container)


def test_what_is_older_than_the_setting_says_is_deleted_by_the_upkeep(
    container: Container, clock: FakeClock, in_a_worker: None
) -> None:
    content(container)
    with container.units() as unit:
        container.settings.update(unit, SYSTEM, AUDIT_DAYS, 30)
    clock.advance(timedelta(days=29).total_seconds())
    upkeep.tidy_core()
    assert count(container) == 2
    content(container)
    clock.advance(timedelta(days=2).total_seconds())
    upkeep.tidy_core()
    assert count(container) == 1
