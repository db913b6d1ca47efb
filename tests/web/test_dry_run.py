"""What the pages say of a dry run: that nothing will be activated, and afterwards what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from apiflask import APIFlask

from app.core.contracts.actor import SYSTEM
from app.factory import create_app
from tests.fixtures.bench import A, B, Bench, fake_servers
from tests.fixtures.clients import Browser, People


@pytest.fixture
def bench(database: str, tmp_path: Path) -> Iterator[Bench]:
    with fake_servers() as servers:
        made = Bench(database, tmp_path, servers)
        made.fill(6)
        yield made
        made.close()


@pytest.fixture
def app(bench: Bench) -> APIFlask:
    made = create_app(bench.config, bench.container)
    made.testing = True
    return made


@pytest.fixture
def browser(app: APIFlask, bench: Bench) -> Browser:
    people = People(bench.container)
    with bench.container.units() as unit:
        bench.container.access.ensure_roles(unit)
    return Browser(app).login_as(people.user("admin", "administrator"))


def page(browser: Browser, path: str) -> str:
    answer = browser.get(path)
    assert answer.status_code == 200, path
    return answer.get_data(as_text=True)


def test_while_it_runs_every_page_of_it_says_so(bench: Bench, browser: Browser) -> None:
    bench.ai.switching.start(SYSTEM, B, dry_run=True)
    bench.run_to("indexes")
    shown = page(browser, "/settings/ai/progress")
    assert "This is a dry run: nothing will be activated" in shown
    assert "Dry run of the switch to beta" in shown
    assert "Ends the dry run and removes what it made" in shown
    assert "nothing will be activated" in page(browser, "/settings/ai")
    assert "Dry run of the switch to beta" in page(browser, "/settings/ai/strip")


def test_afterwards_progress_summary_and_history_say_that_nothing_was_activated(bench: Bench, browser: Browser) -> None:
    switch = bench.ai.switching.start(SYSTEM, B, dry_run=True)
    bench.settle()
    assert bench.serving == A
    ended = page(browser, "/settings/ai/progress")
    assert "The dry run has ended; alpha goes on serving" in ended
    assert "Activated" not in ended
    assert 'id="phase-verify" class="phase is-done"' in ended
    assert 'id="phase-activate" class="phase is-waiting"' in ended
    summary = page(browser, f"/settings/ai/switches/{switch.id}")
    assert "Nothing was activated, and what it had made was removed." in summary
    assert "Dry run ended" in page(browser, "/settings/ai/switches")


def test_the_button_stops_and_undoes_it(bench: Bench, browser: Browser) -> None:
    bench.ai.switching.start(SYSTEM, B, dry_run=True)
    bench.run_to("verify")
    assert browser.post("/settings/ai/progress/abandon").status_code in (302, 303)
    bench.settle()
    assert bench.indexes() == {f"emb_{bench.space(A)}_cms_contents"}
    assert "The dry run was stopped; alpha goes on serving" in page(browser, "/settings/ai/progress")
