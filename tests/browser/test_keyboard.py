"""The console without a mouse."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import MakeDesk

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_search_with_the_slash_and_come_back_from_dialogs(make_desk: MakeDesk) -> None:
    desk = make_desk()
    page = desk.page
    desk.sign_in()
    desk.go_to_models()
    page.keyboard.press("/")
    expect(page.locator("#top-q")).to_be_focused()
    page.keyboard.type("badge")
    page.keyboard.press("Enter")
    expect(page.locator("#results .result").first).to_be_visible()
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(page.locator("#results .result.is-current a").first).to_be_focused()

    desk.go_to_models()
    review = page.get_by_role("button", name="Review the change")
    page.get_by_role("radio", name="wordllama-256", exact=True).focus()
    page.keyboard.press("Space")
    review.focus()
    page.keyboard.press("Enter")
    dialog = page.locator("#confirm-dialog")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(review).to_be_focused()
    assert desk.ai.switching.status().status == "idle"

    page.keyboard.press("?")
    expect(page.locator("#shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(review).to_be_focused()
