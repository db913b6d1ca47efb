"""A repeat of a request gets the first outcome: by key in the API, by the hidden field of a form."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from apiflask import APIFlask
from sqlalchemy import text
from werkzeug.test import TestResponse

from app.container import Container
from app.core.access.models import User
from app.core.errors import Busy, Invalid
from app.core.idempotency.service import RETENTION, Claim, Outcome
from tests.fakes.clock import FakeClock
from tests.fixtures.clients import Api, Browser, People

INSERT = "/api/v1/insert/sao/tickets"
TICKET = {"subject": "The printer is on fire", "priority": "high"}
FORM = {"subject": "The printer is on fire", "description": "", "locale": "en", "status": "open", "priority": "high"}


def tickets(container: Container) -> int:
    with container.units() as unit:
        return int(unit.session.scalar(text("select count(*) from sao_tickets")) or 0)


def send(api: Api, key: str, body: Any = TICKET) -> TestResponse:
    return api.post(INSERT, json=body, headers={"Idempotency-Key": key})


def test_the_same_key_makes_one_record_and_answers_the_same(api: Api, container: Container) -> None:
    first = send(api, "one")
    again = send(api, "one", {"priority": "high", "subject": "The printer is on fire"})
    assert first.status_code == again.status_code == 201
    assert (again.json or {})["id"] == (first.json or {})["id"]
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.headers["ETag"] == first.headers["ETag"]
    assert tickets(container) == 1


def test_another_body_under_the_same_key_is_refused(api: Api, container: Container) -> None:
    assert send(api, "one").status_code == 201
    other = send(api, "one", {**TICKET, "priority": "low"})
    assert other.status_code == 422
    assert (other.json or {})["code"] == "idempotency.other_body"
    assert tickets(container) == 1


def test_another_address_under_the_same_key_is_another_request(api: Api) -> None:
    assert send(api, "one").status_code == 201
    body = {"title": "News", "category": "news"}
    other = api.post("/api/v1/insert/cms/contents", json=body, headers={"Idempotency-Key": "one"})
    assert other.status_code == 422
    assert (other.json or {})["code"] == "idempotency.other_body"


def test_keys_are_each_persons_own(app: APIFlask, api: Api, people: People, container: Container) -> None:
    other = Api(app, people.token(people.user("edith", "editor")))
    assert send(api, "one").status_code == send(other, "one").status_code == 201
    assert tickets(container) == 2


def test_what_failed_is_not_remembered(api: Api, container: Container) -> None:
    assert send(api, "one", {"priority": "high"}).status_code == 422
    assert send(api, "one").status_code == 201
    assert tickets(container) == 1


@pytest.mark.parametrize("key", ["", "x" * 256, "tab\there", "è"])
def test_a_key_has_1_to_255_printable_characters(api: Api, container: Container, key: str) -> None:
    answer = api.post(INSERT, json=TICKET, headers={"Idempotency-Key": key})
    assert answer.status_code == 422
    assert [error["path"] for error in (answer.json or {})["errors"]] == ["Idempotency-Key"]
    assert tickets(container) == 0


def test_the_longest_key_is_taken(api: Api) -> None:
    assert send(api, "~" * 255).status_code == 201


def test_a_replay_asks_for_the_permission_again(app: APIFlask, people: People, container: Container) -> None:
    user = people.user("edith", "editor")
    script = Api(app, people.token(user))
    assert send(script, "one").status_code == 201
    with container.units() as unit:
        unit.session.execute(text("delete from user_roles where user_id = :id"), {"id": user.id})
    assert send(script, "one").status_code in (403, 404)


def test_after_a_day_the_key_is_free_again(api: Api, clock: FakeClock, container: Container) -> None:
    first = send(api, "one")
    clock.advance(RETENTION.total_seconds() - 3600)
    assert (send(api, "one").json or {})["id"] == (first.json or {})["id"]
    with container.units() as unit:
        unit.session.execute(text("update api_tokens set expires_at = expires_at + interval '3 days'"))
    clock.advance(3601)
    assert (send(api, "one").json or {})["id"] != (first.json or {})["id"]


def test_upkeep_forgets_what_is_older_than_a_day(container: Container, clock: FakeClock) -> None:
    with container.units() as unit:
        for key, age in (("old", RETENTION), ("young", RETENTION - timedelta(seconds=1))):
            unit.session.execute(
                text(
                    "insert into idempotency_keys (actor_id, route, key, body_hash, created_at)"
                    " values (1, 'POST /x', :key, '', :at)"
                ),
                {"key": key, "at": clock.now() - age},
            )
    with container.units() as unit:
        container.idempotency.prune(unit)
    with container.units() as unit:
        assert unit.session.scalars(text("select key from idempotency_keys")).all() == ["young"]


def test_while_the_first_one_runs_its_twin_is_told_to_come_back(api: Api, admin: User, container: Container) -> None:
    claim = Claim(admin.id, "POST /api/v1/insert/<module>/<name>", "one", b"")
    with container.units() as unit:
        assert container.idempotency.outcome(unit, claim) is None
        answer = send(api, "one")
    assert answer.status_code == 409
    assert (answer.json or {})["code"] == "idempotency.running"
    assert int(answer.headers["Retry-After"]) >= 1
    assert send(api, "one").status_code == 201


def test_neither_effect_nor_key_is_left_of_a_unit_that_fails(container: Container) -> None:
    claim = Claim(1, "POST /x", "one", b"")

    def fail() -> None:
        with container.units() as unit:
            container.idempotency.outcome(unit, claim)
            container.idempotency.remember(unit, claim, Outcome(201, {"id": 1}))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with container.units() as unit:
        assert container.idempotency.outcome(unit, claim) is None


def test_sixteen_twins_make_one_record(app: APIFlask, api: Api, container: Container) -> None:
    together = threading.Barrier(16)

    def one(_: int) -> int:
        together.wait()
        script = Api(app, api.headers["Authorization"].removeprefix("Bearer "))
        return send(script, "one").status_code

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(one, range(16)))
    assert set(found) <= {201, 409}
    assert 201 in found
    assert tickets(container) == 1


def test_only_a_keyed_hash_of_the_body_is_stored(api: Api, container: Container) -> None:
    assert send(api, "one").status_code == 201
    with container.units() as unit:
        row = unit.session.execute(text("select * from idempotency_keys")).mappings().one()
    assert "printer" not in str(dict(row))
    assert len(row["body_hash"]) == 32


def test_a_form_sent_twice_counts_once(admin_client: Browser, container: Container) -> None:
    page = admin_client.get("/records/sao.tickets/new")
    assert page.status_code == 200
    found = re.search(r'name="submission" value="([\w-]{20,})"', page.text)
    assert found is not None
    sent = {**FORM, "submission": found[1]}
    first, again = (admin_client.post("/records/sao.tickets/new", sent) for _ in range(2))
    assert first.status_code == again.status_code == 303
    assert first.headers["Location"] == again.headers["Location"]
    assert tickets(container) == 1
    assert admin_client.post("/records/sao.tickets/new", {**sent, "priority": "low"}).status_code == 422
    assert tickets(container) == 1


def test_a_form_that_was_refused_can_be_sent_again(admin_client: Browser, container: Container) -> None:
    assert admin_client.post("/records/sao.tickets/new", {**FORM, "subject": "", "submission": "x"}).status_code == 422
    assert admin_client.post("/records/sao.tickets/new", {**FORM, "submission": "x"}).status_code == 303
    assert tickets(container) == 1


def test_on_a_page_the_second_click_waits_for_the_first(container: Container) -> None:
    claim = Claim(1, "POST /x", "one", b"", wait=5_000)
    holds, waited = threading.Event(), []

    def second() -> None:
        holds.wait()
        with container.units() as unit:
            waited.append(container.idempotency.outcome(unit, claim))

    other = threading.Thread(target=second)
    other.start()
    with container.units() as unit:
        assert container.idempotency.outcome(unit, claim) is None
        holds.set()
        container.idempotency.remember(unit, claim, Outcome(303, {"id": 7}))
    other.join()
    assert waited == [Outcome(303, {"id": 7})]


def test_a_wait_ends(container: Container) -> None:
    claim = Claim(1, "POST /x", "one", b"", wait=20)
    with container.units() as unit:
        assert container.idempotency.outcome(unit, claim) is None
        with pytest.raises(Busy), container.units() as other:
            container.idempotency.outcome(other, claim)


def test_the_hash_depends_on_the_body(container: Container) -> None:
    claim = Claim(1, "POST /x", "one", b"a")
    with container.units() as unit:
        container.idempotency.remember(unit, claim, Outcome(201, {"id": 1}))
    with container.units() as unit, pytest.raises(Invalid):
        container.idempotency.outcome(unit, Claim(1, "POST /x", "one", b"b"))
