"""AI & models → Vector health, as a person uses it."""

from __future__ import annotations

import re
from html import unescape

import pytest
from werkzeug.test import TestResponse

from app.factory import create_app
from tests.fakes.embedding_server import Behaviour
from tests.fixtures.bench import A, B, Bench
from tests.fixtures.clients import Browser, People

HEALTH = "/settings/ai/health"


@pytest.fixture
def bench(bench: Bench) -> Bench:
    bench.pass_events()
    return bench


@pytest.fixture
def people(bench: Bench) -> People:
    with bench.container.units() as unit:
        bench.container.access.ensure_roles(unit)
    return People(bench.container)


def browser(bench: Bench, people: People, role: str = "administrator", locale: str = "en") -> Browser:
    app = create_app(bench.config, bench.container)
    app.testing = True
    return Browser(app).login_as(people.user(f"{role}-{locale}", role, locale=locale))


@pytest.fixture
def person(bench: Bench, people: People) -> Browser:
    return browser(bench, people)


def words(answer: TestResponse) -> str:
    """The text of a page without its marks."""
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.text)))


def repair(bench: Bench, person: Browser, kind: str, key: str = A) -> TestResponse:
    answer = person.post(f"{HEALTH}/{bench.space(key)}/repair", {"kind": kind})
    assert answer.status_code == 303
    assert answer.headers["Location"] == f"{HEALTH}#space-{bench.space(key)}"
    return person.get(HEALTH)


def test_a_sound_model_is_healthy_and_no_server_is_asked(bench: Bench, person: Browser) -> None:
    before = bench.servers["alpha"].counters.calls
    page = person.get(HEALTH)
    assert page.status_code == 200
    assert bench.servers["alpha"].counters.calls == before
    said = words(page)
    for part in ("alpha", "Serving", "Healthy", "8 of 8 documents have their vectors", "Ready", "Not checked yet"):
        assert part in said
    assert 'name="kind" value="missing"' not in page.text


def test_the_page_is_one_click_from_the_models_and_in_the_rail(person: Browser) -> None:
    page = person.get("/settings/ai").text
    assert page.count(f'href="{HEALTH}"') >= 2


@pytest.mark.parametrize("locale", ["en", "it"])
def test_it_is_served_in_both_languages(bench: Bench, people: People, locale: str) -> None:
    page = browser(bench, people, locale=locale).get(HEALTH)
    assert page.status_code == 200
    assert f'<html lang="{locale}"' in page.text


def test_each_finding_has_its_button_and_the_button_says_what_it_did(bench: Bench, person: Browser) -> None:
    bench.execute("delete from embeddings where record_id = 3")
    page = person.get(HEALTH)
    assert "One thing to see to" in words(page)
    assert "Embed 1 document" in words(page)
    assert "1 record was handed to the workers" in words(repair(bench, person, "missing"))
    assert "There was nothing left to do" in words(repair(bench, person, "missing"))
    bench.settle()
    assert bench.violations(A) == []
    assert "Healthy" in words(person.get(HEALTH))


def test_wrong_vectors_are_deleted_and_come_back(bench: Bench, person: Browser) -> None:
    bench.execute("update embeddings set embedding = embedding + embedding where record_id in (3, 4)")
    page = words(person.get(HEALTH))
    assert "Embed 2 passages anew" in page
    assert "length 1, give or take 0.01" in page
    assert "2 vectors were deleted" in words(repair(bench, person, "norm_off"))
    bench.settle()
    assert bench.violations(A) == []


def test_an_invalid_index_is_shown_and_rebuilt(bench: Bench, person: Browser) -> None:
    (name,) = bench.indexes()
    bench.execute("update pg_index set indisvalid = false where indexrelid = cast(:name as regclass)", name=name)
    assert "Invalid" in words(person.get(HEALTH))
    assert "1 index is being rebuilt" in words(repair(bench, person, "index"))
    assert bench.ai.health.rebuild_indexes(bench.space(A)) == 1
    assert "Healthy" in words(person.get(HEALTH))


def test_the_fixed_text_is_checked_now(bench: Bench, person: Browser) -> None:
    assert "answers as the model that these vectors were made with" in words(repair(bench, person, "probe"))
    bench.servers["alpha"].behaviour = Behaviour(model="gamma")
    said = words(repair(bench, person, "probe"))
    assert "does not answer as it should: Another model answers" in said
    assert "answers from another model than the one its vectors were made with" in said


def test_a_sample_is_compared_on_demand(bench: Bench, person: Browser) -> None:
    assert person.post(f"{HEALTH}/{bench.space(A)}/sample").status_code == 303
    said = words(person.get(HEALTH))
    assert "Compared 8 stored vectors with fresh ones. The same model." in said
    assert "cosine at least 1.0000, median 1.0000; the same model keeps above 0.999" in said
    bench.servers["alpha"].behaviour = Behaviour(status=503)
    person.post(f"{HEALTH}/{bench.space(A)}/sample")
    assert "busy or away" in words(person.get(HEALTH))


def test_what_a_switch_fills_is_left_to_it_and_the_page_says_so(bench: Bench, person: Browser) -> None:
    bench.start()
    bench.run_to("verify")
    bench.execute(f"update embeddings set embedding = embedding + embedding where space_id = {bench.space(B)}")
    page = words(person.get(HEALTH))
    assert "Being filled by a switch" in page
    assert "it fills and checks these vectors itself" in page
    assert "it fills and checks these vectors itself" in words(repair(bench, person, "norm_off", B))
    assert bench.value(f"select count(*) from embeddings where space_id = {bench.space(B)}") == 8


def test_kept_vectors_are_shown_with_their_end(bench: Bench, person: Browser) -> None:
    bench.start()
    bench.settle()
    assert "Kept for the way back" in words(person.get(HEALTH))
    assert "kept until" in words(person.get(HEALTH))


def test_without_a_form_token_nothing_happens(bench: Bench, person: Browser) -> None:
    bench.execute("update embeddings set embedding = embedding + embedding")
    for verb in ("repair", "sample"):
        answer = person.post(f"{HEALTH}/{bench.space(A)}/{verb}", {"kind": "norm_off"}, csrf=False)
        assert answer.status_code in (400, 403)
    assert bench.value("select count(*) from embeddings") == 8


def test_who_may_only_look_is_offered_no_button(bench: Bench, people: People) -> None:
    reader = browser(bench, people, "reader")
    assert reader.get(HEALTH).status_code == 403
    bench.execute("update roles set permissions = '{settings.select}' where name = 'reader'")
    bench.execute("delete from embeddings where record_id = 3")
    page = reader.get(HEALTH)
    assert page.status_code == 200
    assert "Repairing needs the permission embeddings.switch" in words(page)
    assert "/repair" not in page.text
    assert "/sample" not in page.text
    for verb in ("repair", "sample"):
        answer = reader.post(f"{HEALTH}/{bench.space(A)}/{verb}", {"kind": "missing"})
        assert answer.status_code == 403


def test_what_is_not_counted_in_time_says_so(bench: Bench, person: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.web.vector_health.PATIENCE_SECONDS", 0.2)
    with bench.container.engine.connect() as held, held.begin():
        held.exec_driver_sql("lock table search_documents in access exclusive mode")
        page = person.get(HEALTH)
    assert page.status_code == 200
    assert "Not counted in time" in words(page)
    assert f"{HEALTH}?wait=30" in page.text
    assert "8 of 8 documents" in words(person.get(f"{HEALTH}?wait=30"))
