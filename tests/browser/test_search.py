"""The search page while one types, without a mouse, and without a script."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from playwright.sync_api import Error, Route, expect

from tests.browser.conftest import MakeDesk

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_results_come_while_typing_and_keys_do_everything(make_desk: MakeDesk) -> None:
    desk = make_desk()
    desk.container.word_statistics.refresh(seconds=None)
    page = desk.page
    desk.sign_in()
    page.goto("/search")
    field, offers, hits = page.locator("#q"), page.locator("#q-offers"), page.locator("#results .result h2 a")

    expect(field).to_be_focused()
    page.keyboard.type("badge")
    expect(hits.first).to_be_visible()
    expect(page).to_have_url(re.compile(r"[?&]q=badge(&|$)"))
    expect(field).to_be_focused()
    expect(page.locator("#results-told")).to_have_text(page.locator("[data-count]").inner_text())

    field.fill("")
    page.keyboard.type("bad")
    expect(offers.get_by_role("option").first).to_have_text(re.compile("^bad"))
    expect(field).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowDown")
    expect(field).to_have_attribute("aria-activedescendant", "q-offer-0")
    offered = offers.get_by_role("option").first.inner_text()
    page.keyboard.press("Enter")
    expect(field).to_have_value(offered)
    expect(offers).to_be_hidden()
    expect(page).to_have_url(re.compile(rf"[?&]q={offered}(&|$)"))
    expect(page.locator("#results[aria-busy]")).to_have_count(0)

    page.keyboard.press("ArrowDown")
    expect(hits.nth(0)).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(hits.nth(1)).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(field).to_be_focused()
    page.keyboard.press("ArrowDown")
    address = hits.first.get_attribute("href")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(re.escape(str(address)) + "$"))
    page.go_back()
    expect(field).to_have_value(offered)


def test_an_older_answer_is_never_shown(make_desk: MakeDesk) -> None:
    desk = make_desk()
    page = desk.page
    desk.sign_in()
    page.goto("/search")
    held: list[Route] = []
    page.route(re.compile(r"/search\?q=printer(&|$)"), lambda route: held.append(route))
    with page.expect_request(re.compile(r"/search\?q=printer(&|$)")):
        page.locator("#q").fill("printer")
    with page.expect_event("requestfailed", lambda one: "q=printer&" in one.url):
        page.locator("#q").fill("badge")
    expect(page).to_have_url(re.compile("q=badge"))
    shown = page.locator("#results").inner_html()
    with suppress(Error):  # the browser has forgotten the request
        held[0].continue_()
    page.locator("#q").press("Escape")
    expect(page).to_have_url(re.compile("q=badge"))
    assert page.locator("#results").inner_html() == shown


def test_every_part_works_without_a_script(make_desk: MakeDesk) -> None:
    desk = make_desk(javascript=False)
    page = desk.page
    desk.sign_in()
    page.goto("/search?q=dublin+badge&cost=fast")
    expect(page.locator("#results .result").first).to_be_visible()
    facet = page.locator("#narrow a[href*='only=sao.tickets.']").first
    count = int(facet.locator(".facet-count").inner_text())
    facet.click()
    expect(page.locator("#results .chips a")).to_have_count(1)
    expect(page.locator("[data-count]")).to_have_text(re.compile(rf"^{count} result"))
    page.get_by_role("link", name="Explain this answer").click()
    expect(page.locator("#explain .leg")).to_have_count(2)
    expect(page.locator("#explain")).to_contain_text("Left out by the filters")
    page.locator("#q").fill("badge entrance")
    page.locator("#search-form button").click()
    expect(page.locator("#results .chips a")).to_have_count(1)
    page.locator("#results .chips a").click()
    expect(page.locator("#results .chips")).to_have_count(0)
    expect(page.locator("#q")).to_have_value("badge entrance")


def test_going_back_to_what_is_shown_ends_what_is_under_way(make_desk: MakeDesk) -> None:
    desk = make_desk()
    page = desk.page
    desk.sign_in()
    page.goto("/search?q=badge")
    shown = page.locator("#results").inner_html()
    page.route(re.compile(r"/search\?q=printer(&|$)"), lambda route: None)
    with page.expect_request(re.compile(r"/search\?q=printer(&|$)")):
        page.locator("#q").fill("printer")
    with page.expect_event("requestfailed", lambda one: "q=printer&" in one.url):
        page.locator("#q").fill("badge")
    expect(page.locator("#results[aria-busy]")).to_have_count(0)
    assert page.locator("#results").inner_html() == shown


@pytest.mark.parametrize("away", [True, False], ids=["away", "refusing"])
def test_a_request_that_fails_leaves_what_is_shown_and_nothing_busy(make_desk: MakeDesk, away: bool) -> None:
    desk = make_desk()
    page = desk.page
    desk.sign_in()
    page.goto("/search?q=badge")
    shown = page.locator("#results").inner_html()
    held: list[Route] = []
    page.route(re.compile(r"/search\?q=printer(&|$)"), lambda route: held.append(route))
    with page.expect_request(re.compile(r"/search\?q=printer(&|$)")):
        page.locator("#q").fill("printer")
    expect(page.locator("#results[aria-busy]")).to_have_count(1)
    if away:
        held[0].abort()
    else:
        held[0].fulfill(status=503, body="")
    expect(page.locator("#results[aria-busy]")).to_have_count(0)
    assert page.locator("#results").inner_html() == shown
    expect(page).to_have_url(re.compile("q=badge"))
    page.unroute_all()
    page.locator("#q").fill("printers")
    expect(page).to_have_url(re.compile("q=printers"))
