"""Every page for everybody: names, labels, order of headings, contrast, and nothing lost on a narrow screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.conftest import MakeDesk
from tests.browser.desk import Desk

pytestmark = [pytest.mark.browser, pytest.mark.slow]

AUDIT = (Path(__file__).parent / "audit.js").read_text(encoding="utf-8")
PAGES = (
    *("/search", "/search?q=badge", "/search?q=zzqqxx&mode=basic"),
    *("/records/cms.contents", "/records/cms.contents/5", "/records/cms.contents/5/edit"),
    *("/records/sao.tickets?status=closed&priority=high", "/records/sao.tickets/5", "/records/sao.tickets/new"),
    *("/documentation", "/settings", "/people", "/queues", "/nowhere"),
    *("/settings/ai", "/settings/ai/switch?target=openai_compatible:wordllama-256", "/settings/ai/switches"),
)
DURING = ("/settings/ai", "/search?q=badge", "/settings/ai/progress")


def _wrong(desk: Desk, pages: tuple[str, ...]) -> list[str]:
    found = []
    for width in (360, 1280):
        desk.page.set_viewport_size({"width": width, "height": 900})
        for page in pages:
            desk.page.goto(page)
            for scheme in ("light", "dark"):
                desk.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
                found += [f"{page} at {width} px, {scheme}: {what}" for what in desk.page.evaluate(AUDIT)]
    return found


def test_every_page_can_be_used_by_everybody(make_desk: MakeDesk) -> None:
    desk = make_desk()
    assert _wrong(desk, ("/sign-in",)) == []
    desk.sign_in()
    assert _wrong(desk, PAGES) == []
    desk.console.kill("worker-embeddings")
    desk.go_to_models()
    desk.review("wordllama-256", desk.words.in_place)
    desk.confirm("wordllama-256")
    assert _wrong(desk, DURING) == []
    desk.page.locator("#abandon-form button").click()
    desk.page.locator("#abandon-dialog button[value=confirm]").click()
    desk.page.locator("#switch .note a").first.click()
    desk.page.wait_for_url("**/settings/ai/switches/*")
    assert _wrong(desk, (desk.page.url,)) == []
