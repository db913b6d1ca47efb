import pytest
from apiflask import APIFlask

from app.container import Container
from app.core.processes import store
from tests.fakes.queue import RecordingQueue
from tests.fixtures.clients import Browser, People


def test_the_start_page_is_search(admin_client: Browser) -> None:
    answer = admin_client.get("/")
    assert answer.status_code == 303
    assert answer.headers["Location"] == "/search"


def test_the_rail_shows_what_the_person_may_do(app: APIFlask, admin_client: Browser, people: People) -> None:
    page = admin_client.get("/people")
    assert page.status_code == 200
    for path in ("/people", "/settings", "/queues"):
        assert f'href="{path}"' in page.text
    assert page.text.count('aria-current="page"') == 2, "the rail and its drawer"
    reader = Browser(app).login_as(people.user("rita", "reader"))
    page = reader.get("/no-such-page")
    assert page.status_code == 404
    assert 'href="/settings"' not in page.text


def test_people_are_listed_with_roles_and_state(admin_client: Browser, people: People, container: Container) -> None:
    people.user("bob", "editor", "reader", display_name="<Bob>", needs_approval=True)
    people.user("eve", "reader")
    with container.units() as unit:
        container.access.disable(unit, "eve")
    page = admin_client.get("/people")
    assert page.status_code == 200
    assert "&lt;Bob&gt;" in page.text
    assert "needs approval" in page.text
    assert "Disabled" in page.text


def test_settings_show_values_defaults_and_what_is_written_by_the_program(admin_client: Browser) -> None:
    page = admin_client.get("/settings")
    assert page.status_code == 200
    assert 'name="search.page_size"' in page.text
    assert 'name="search.vector.model"' not in page.text
    assert 'name="features.embeddings.model"' not in page.text


def test_a_filter_finds_settings_by_their_words(admin_client: Browser) -> None:
    page = admin_client.get("/settings?q=per+page")
    assert page.status_code == 200
    assert "search.page_size" in page.text
    assert "search.vector.enabled" not in page.text
    assert admin_client.get("/settings?q=zzz").status_code == 200


def test_a_group_is_saved_and_the_unchecked_box_is_off(admin_client: Browser, container: Container) -> None:
    answer = admin_client.post("/settings", {"search.page_size": "50", "present": "search.vector.enabled"})
    assert answer.status_code == 303
    with container.units() as unit:
        values = container.settings.values(unit, ("search.page_size", "search.vector.enabled"))
    assert values == {"search.page_size": 50, "search.vector.enabled": False}
    page = admin_client.get("/settings")
    assert page.status_code == 200
    assert "Saved." in page.text


def test_a_refusal_stands_at_its_field_keeps_what_was_typed_and_saves_nothing(
    admin_client: Browser, container: Container
) -> None:
    fields = {"search.page_size": "5", "search.vector.enabled": "1", "features.embeddings.retain_previous_days": "3"}
    answer = admin_client.post("/settings", fields)
    assert answer.status_code == 422
    assert "A whole number from 10 to 100 is expected." in answer.text
    assert 'value="5"' in answer.text
    with container.units() as unit:
        assert container.settings.value(unit, "features.embeddings.retain_previous_days") == 7


def test_the_model_is_not_changed_by_this_form(admin_client: Browser, container: Container) -> None:
    answer = admin_client.post("/settings", {"features.embeddings.model": "a:b"})
    assert answer.status_code == 422
    with container.units() as unit:
        assert container.settings.value(unit, "features.embeddings.model") is None


@pytest.mark.parametrize("path", ["/queues", "/queues/body"])
def test_queues_show_workers_and_waiting_jobs(
    admin_client: Browser, container: Container, queue: RecordingQueue, path: str
) -> None:
    page = admin_client.get(path)
    assert page.status_code == 200
    assert "every 4s" in page.text
    assert "0 of 1" in page.text
    with container.units() as unit:
        store.seen(unit.session, "w1", store.WORKER, "default", 1, "host", store.Work("jobs.x.run"))
        store.seen(unit.session, "s", store.SCHEDULER, None, 2, "host")
        unit.wake("jobs.x.run", "default")
    page = admin_client.get(path)
    assert page.status_code == 200
    assert "every 2s" in page.text
    assert "1 of 1" in page.text
    queue.away = True
    page = admin_client.get(path)
    assert page.status_code == 200
    assert "The queue server does not answer" in page.text
