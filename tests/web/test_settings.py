"""The page of settings: finding one, resetting one, and what waits for approval."""

from __future__ import annotations

from apiflask import APIFlask

from app.container import Container
from app.core.contracts.actor import SYSTEM
from tests.fixtures.clients import Browser, People

SIZE = "search.page_size"


def size(container: Container) -> object:
    with container.units() as unit:
        return container.settings.value(unit, SIZE)


def test_one_setting_is_reset_and_the_page_says_who_changed_it(container: Container, admin_client: Browser) -> None:
    fresh = admin_client.get("/settings")
    assert fresh.status_code == 200
    assert f'value="{SIZE}"' not in fresh.text, "nothing to reset"
    assert admin_client.post("/settings", {SIZE: "50", "approvals.expire_days": "20"}).status_code == 303
    page = admin_client.get("/settings?q=per+page")
    assert page.status_code == 200
    assert f'name="reset" value="{SIZE}"' in page.text
    assert "Ada Admin" in page.text
    answer = admin_client.post("/settings/reset", {"reset": SIZE, "q": "per page"})
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/settings?q=per+page#{SIZE}")
    assert size(container) == 20
    with container.units() as unit:
        assert container.settings.value(unit, "approvals.expire_days") == 20


def test_only_what_may_be_changed_can_be_reset(app: APIFlask, container: Container, people: People) -> None:
    admin = Browser(app).login_as(people.user("ada", "administrator"))
    assert admin.post("/settings/reset", {"reset": "search.vector.model"}).status_code == 409
    assert admin.post("/settings/reset", {"reset": "nothing"}).status_code == 404
    reader = Browser(app).login_as(people.user("rita", "reader"))
    assert reader.post("/settings/reset", {"reset": SIZE}).status_code == 403


def test_a_change_that_needs_approval_waits_for_it(app: APIFlask, container: Container, people: People) -> None:
    with container.units() as unit:
        container.access.roles.create(unit, SYSTEM, "keeper", {"permissions": ["settings.select", "settings.update"]})
    kim = Browser(app).login_as(people.user("kim", "keeper", needs_approval=True))
    answer = kim.post("/settings", {SIZE: "50"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/approvals?show=mine")
    page = kim.get(answer.headers["Location"])
    assert page.status_code == 200
    assert "Your change waits for approval" in page.text
    assert size(container) == 20
