"""Settings → Search indexes, as a person uses it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

import pytest
from apiflask import APIFlask
from werkzeug.test import TestResponse

from app.container import Container
from app.core.config import Config
from app.core.contracts.documents import Document
from app.core.settings.schema import PAGE_SIZE, SEARCH_ENGINE
from app.factory import create_app
from tests.fakes.clock import FakeClock
from tests.fakes.queue import RecordingQueue
from tests.fixtures.clients import Browser, People
from tests.fixtures.elasticsearch import elasticsearch_container

PAGE = "/settings/search"


def words(answer: TestResponse) -> str:
    """The text of a page without its marks."""
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.text)))


def put(parts: Container, number: int) -> None:
    with parts.units() as unit:
        document = Document("cms.contents", number, "en", "Printer", "x", 1)
        parts.outbox.put(unit, "cms.contents", number, [document])


def test_postgresql_alone(admin_client: Browser, container: Container) -> None:
    put(container, 1)
    answer = admin_client.get(PAGE)
    assert answer.status_code == 200
    said = words(answer)
    assert "PostgreSQL" in said
    assert "In use" in said
    assert "Healthy" in said
    assert "search_documents_words_idx" in said
    assert "Elasticsearch is not set up" in said


def test_the_settings_of_search_stand_there_with_their_values(admin_client: Browser, container: Container) -> None:
    with container.units() as unit:
        container.settings.write_system(unit, PAGE_SIZE, 30)
    page = admin_client.get(PAGE).text
    assert "/settings?q=search.page_size#search.page_size" in page
    assert re.search(r"Results per page</a></dt><dd>30 <span[^>]*>changed", page)


def test_who_may_not_read_the_settings_may_not_look(app: APIFlask, people: People) -> None:
    with people.container.units() as unit:
        people.container.access.ensure_roles(unit)
    assert Browser(app).login_as(people.user("anna", "reader")).get(PAGE).status_code == 403


@pytest.fixture
def both(config: Config) -> Iterator[Container]:
    with elasticsearch_container(config, FakeClock(), RecordingQueue()) as parts:
        yield parts


def test_both_engines(both: Container) -> None:
    for number in (1, 2):
        put(both, number)
    app = create_app(both.config, both)
    app.testing = True
    client = Browser(app).login_as(People(both).user("admin", "administrator"))
    said = words(client.get(PAGE))
    assert "An index is missing" in said
    assert "flask search reindex --engine elasticsearch" in said
    assert both.elasticsearch is not None
    both.elasticsearch.reindex(lambda entity, done, total: None)
    with both.units() as unit:
        both.settings.write_system(unit, SEARCH_ENGINE, "elasticsearch")
    said = words(client.get(PAGE))
    assert "An index is missing" not in said
    assert said.count("Healthy") == 2
    assert re.search(r"Not in use.*Elasticsearch [\d.]+ In use", said)
