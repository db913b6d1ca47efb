"""The engines differ where docs/reference/search-engines.md says so, and as it says."""

from __future__ import annotations

import pytest

from app.core.config import Config
from tests.contracts.engine_differences import DIFFERENCES, PAGE, page
from tests.contracts.test_search_engine import Elasticsearch, Engine
from tests.fakes.clock import FakeClock
from tests.fakes.queue import RecordingQueue
from tests.fixtures.elasticsearch import elasticsearch_container


def asked(engine: Engine) -> dict[str, str]:
    return {one.what: one.ask(engine, 10 * place) for place, one in enumerate(DIFFERENCES, 1)}


def test_what_postgresql_says(request: pytest.FixtureRequest) -> None:
    found = asked(Engine(request.getfixturevalue("container")))
    assert found == {one.what: one.postgres for one in DIFFERENCES}


def test_what_elasticsearch_says(config: Config, clock: FakeClock, queue: RecordingQueue) -> None:
    with elasticsearch_container(config, clock, queue) as container:
        assert asked(Elasticsearch(container)) == {one.what: one.elasticsearch for one in DIFFERENCES}


def test_every_line_is_a_difference() -> None:
    assert [one.what for one in DIFFERENCES if one.postgres == one.elasticsearch] == []


def test_the_page_is_what_the_suites_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()
