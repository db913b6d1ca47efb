"""The main job in a browser: change the model, watch it, and find with the new one what the old one did not."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import MakeDesk
from tests.browser.desk import PHASES, Desk

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SMALL, LARGE, E5 = "wordllama-64", "wordllama-256", "multilingual-e5-small-q4"
PARENT = ("nursing a sick parent", "Taking care of an ill relative: paid days and reduced hours")
STORM = ("uragano, la gente è rimasta al buio", "Storm Dara: how the night of 12 December went")
SIZE = re.compile(r"\d\s*[kKMGT]?i?B")


def _digits(part: Locator) -> str:
    return re.sub(r"[^\d]", "", part.inner_text().splitlines()[0])


def _read_the_numbers(desk: Desk, body: Locator, to: str, dimensions: int) -> None:
    """The confirmation names both models with their lengths, what there is to do, and the room each way needs."""
    documents = desk.documents()
    ends = body.locator(".route-end")
    expect(ends.nth(0)).to_contain_text(SMALL)
    expect(ends.nth(0)).to_contain_text("64")
    expect(ends.nth(1)).to_contain_text(to)
    expect(ends.nth(1)).to_contain_text(str(dimensions))
    figures = body.locator(".figures dd")
    assert _digits(figures.nth(0)) == str(documents)
    assert int(_digits(figures.nth(1))) >= documents
    rows = body.locator("tbody tr")
    expect(rows).to_have_count(2)
    for row, mode in zip((rows.nth(0), rows.nth(1)), (desk.words.side_by_side, desk.words.in_place), strict=True):
        expect(row.locator("th")).to_have_text(mode)
        expect(row.locator("td").nth(0)).to_have_text(SIZE)
        expect(row.locator("td").nth(1)).to_have_text(SIZE)
    expect(body.get_by_role("link", name=desk.words.keep.format(SMALL))).to_be_visible()


def _watch_all_phases(desk: Desk) -> None:
    """The page follows by itself. A worker that comes late makes each stage last long enough to be seen."""
    desk.expect_phase("embeddings", "current")
    desk.expect_phase("preflight", "done")
    desk.console.restart("worker-embeddings")
    desk.expect_phase("indexes", "current")
    desk.expect_phase("embeddings", "done")
    desk.console.restart("worker-embeddings-index")
    for phase in PHASES:
        desk.expect_phase(phase, "done")
    expect(desk.page.locator("#switch .note-success")).to_contain_text(desk.words.activated)
    expect(desk.page.locator("#switch")).not_to_have_attribute("hx-trigger", re.compile("."))


def _read_the_summary(desk: Desk, to: str) -> None:
    desk.page.locator("#switch .note-success .btn-plain").click()
    expect(desk.page).to_have_url(re.compile(r"/settings/ai/switches/\d+$"))
    expect(desk.page.get_by_role("heading", level=1)).to_contain_text(to)
    embedded = desk.page.locator(".table-x").first.locator("tbody tr").nth(1)
    expect(embedded.locator("td").nth(0)).to_have_text(str(desk.documents()))
    expect(embedded.locator("td").nth(1)).to_have_text(str(desk.documents()))


@pytest.mark.parametrize(
    ("locale", "to", "dimensions", "query", "title"),
    [
        pytest.param("en", LARGE, 256, *PARENT, id="English"),
        pytest.param("it", E5, 384, *STORM, id="Italian", marks=pytest.mark.real_model),
    ],
)
def test_change_the_model_and_find_more(
    make_desk: MakeDesk, locale: str, to: str, dimensions: int, query: str, title: str
) -> None:
    desk = make_desk(locale, e5=to == E5)
    desk.sign_in()
    assert title not in desk.search(query)
    desk.go_to_models()
    body = desk.review(to, desk.words.side_by_side)
    expect(desk.page.locator("#confirm-dialog")).to_be_visible()
    _read_the_numbers(desk, body, to, dimensions)

    desk.console.kill("worker-embeddings")
    desk.console.kill("worker-embeddings-index")
    desk.confirm(to)
    desk.page.evaluate("window.stayed = true")
    _watch_all_phases(desk)
    assert desk.page.evaluate("window.stayed") is True
    assert desk.serving == to

    _read_the_summary(desk, to)
    assert title in desk.search(query)[:3]


def test_change_the_model_without_a_script(make_desk: MakeDesk) -> None:
    """Pages instead of the dialog and of the polling; in place, so the search says that it answers by words."""
    desk = make_desk(javascript=False)
    desk.sign_in()
    assert PARENT[1] not in desk.search(PARENT[0])
    desk.go_to_models()
    body = desk.review(LARGE, desk.words.in_place)
    expect(desk.page).to_have_url(re.compile("/settings/ai/switch[?]"))
    expect(desk.page.locator("#confirm-dialog")).to_have_count(0)
    _read_the_numbers(desk, body, LARGE, 256)

    desk.console.kill("worker-embeddings")
    desk.confirm(LARGE)
    refresh = desk.page.get_by_role("link", name="Refresh")
    desk.wait(lambda: desk.ai.switching.status().phase == "embeddings", "the phase embeddings never came")
    refresh.click()
    desk.expect_phase("embeddings", "current")
    titles = desk.search("fraudulent messages")
    assert "Recognising fraudulent messages" in titles
    expect(desk.page.locator("#results .quiet-line")).to_contain_text("Answered by words only")

    desk.console.restart("worker-embeddings")
    desk.wait(lambda: desk.ai.switching.status().status == "idle", "the switch never ended")
    desk.page.goto("/settings/ai/progress")
    for phase in PHASES:
        desk.expect_phase(phase, "done")
    _read_the_summary(desk, LARGE)
    assert PARENT[1] in desk.search(PARENT[0])[:3]


@pytest.mark.parametrize("javascript", [True, False], ids=["script", "no script"])
def test_stop_the_switch_from_its_page(make_desk: MakeDesk, javascript: bool) -> None:
    desk = make_desk(javascript=javascript)
    desk.sign_in()
    desk.console.kill("worker-embeddings")
    desk.go_to_models()
    desk.review(LARGE, desk.words.side_by_side)
    desk.confirm(LARGE)
    expect(desk.page.locator("#abandon-form p")).to_contain_text(SMALL)
    desk.page.locator("#abandon-form button").click()
    if javascript:
        dialog = desk.page.locator("#abandon-dialog")
        expect(dialog).to_be_visible()
        dialog.locator("button[value=keep]").click()
        expect(dialog).to_be_hidden()
        expect(desk.page.locator("#abandon-form button")).to_be_focused()
        desk.page.locator("#abandon-form button").click()
        dialog.get_by_role("button", name=desk.words.stop).click()
    expect(desk.page.locator("#switch .note")).to_contain_text(SMALL)
    assert desk.ai.switching.history(1)[0].status == "abandoned"
    assert desk.serving == SMALL
    desk.go_to_models()
    expect(desk.page.get_by_role("button", name=desk.words.review)).to_be_enabled()
