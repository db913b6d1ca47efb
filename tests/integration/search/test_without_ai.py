"""The deletion test of search: without the AI packages words answer as ever, and say what is missing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from app.container import Container, build_container
from app.core.config import Config
from app.core.contracts.actor import SYSTEM
from app.core.contracts.documents import Document
from app.core.settings.schema import SEARCH_ENGINE
from tests.architecture.tree import ROOT
from tests.fakes.clock import FakeClock
from tests.fakes.queue import RecordingQueue
from tests.fixtures.elasticsearch import ADDRESS_VARIABLE, elasticsearch_container, elasticsearch_url
from tests.fixtures.patience import patient

KEYWORD_SUITE = (
    "tests/contracts/test_search_engine.py",
    "tests/integration/search/test_matching_modes.py",
    "tests/integration/search/test_spelling.py",
    "tests/unit/search",
)
DEAREST = [(mode, cost) for mode in ("auto", "orchestrated") for cost in ("balanced", "deep")]


@pytest.fixture(params=["postgres", "elasticsearch"])
def parts(request: pytest.FixtureRequest, config: Config, monkeypatch: pytest.MonkeyPatch) -> Iterator[Container]:
    """A console without the packages, with three texts, on either engine."""
    for name in [name for name in sys.modules if name.startswith("app.embeddings")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "app.embeddings", None)
    if request.param == "postgres":
        made = patient(build_container(config, queue=RecordingQueue()))
        _fill(made)
        yield made
        made.engine.dispose()
        return
    with elasticsearch_container(config, FakeClock(), RecordingQueue()) as made:
        _fill(made)
        assert made.elasticsearch is not None
        made.elasticsearch.reindex(lambda entity, done, total: None)
        with made.units() as unit:
            made.settings.write_system(unit, SEARCH_ENGINE, "elasticsearch")
        yield made


def _fill(made: Container) -> None:
    for number, title in enumerate(("Printer", "A printer and a scanner", "Scanner"), 1):
        with made.units() as unit:
            document = Document("cms.contents", number, "en", title, "In the office.", 1)
            made.outbox.put(unit, "cms.contents", number, [document])


def _answer(parts: Container, **options: str) -> Any:
    asked = parts.search.request(q="scanners and printers", facets="true", **options)
    return parts.search.search(SYSTEM, asked)


def _content(found: Any) -> Any:
    return (found.hits, found.total, found.pages, found.facets, found.did_you_mean)


@pytest.mark.parametrize(("mode", "cost"), DEAREST)
def test_whatever_may_be_spent_the_answer_is_the_fast_one(parts: Container, mode: str, cost: str) -> None:
    assert parts.vectors is None
    fast = _answer(parts, cost="fast")
    assert fast.hits[0].id == 2
    assert {hit.id for hit in fast.hits} == {1, 2, 3}
    assert fast.meta.degraded_reason is None
    found = _answer(parts, mode=mode, cost=cost, retries="3")
    assert _content(found) == _content(fast)
    assert (found.meta.degraded_reason, found.meta.mode_applied) == ("mode_unavailable", "fast")
    assert found.meta.strategies == ("keyword",)


def test_words_that_were_asked_for_miss_nothing(parts: Container) -> None:
    for cost in ("fast", "balanced", "deep"):
        assert _answer(parts, mode="basic", cost=cost).meta.degraded_reason is None


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["postgres", "elasticsearch"])
def test_the_whole_keyword_suite_passes(engine: str) -> None:
    chosen = "not elasticsearch" if engine == "postgres" else "elasticsearch"
    environment = {**os.environ}
    if engine == "elasticsearch":
        environment[ADDRESS_VARIABLE] = elasticsearch_url()
    for name in [name for name in environment if name.startswith("PYTEST_")]:
        del environment[name]
    command = (sys.executable, "-m", "pytest", "-q", "-p", "tests.fixtures.without_ai", "-k", chosen, *KEYWORD_SUITE)
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) > 60
