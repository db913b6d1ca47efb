"""Every page for everybody, in both languages, light and dark, narrow and wide: axe-core finds nothing, nor do we."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from app.core.access.actor import actor_of
from app.core.contracts.actor import SYSTEM
from tests.browser.conftest import MakeDesk
from tests.browser.desk import Desk
from tests.browser.rows import Shown, Stage, shown_at
from tests.fixtures.runs import keep

pytestmark = [pytest.mark.browser, pytest.mark.slow]

AUDIT = (Path(__file__).parent / "audit.js").read_text(encoding="utf-8")
"""What axe does not look at: headings that skip a level, contrast in numbers, a page wider than its window."""
AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
RUN = """async (only) => {
  const options = { resultTypes: ["violations"], elementRef: false, preload: false };
  if (only) options.runOnly = { type: "rule", values: only };
  const { violations } = await axe.run(document, options);
  const where = (one) => one.nodes.map((node) => node.html.slice(0, 140)).join(" | ");
  return violations.map((one) => `${one.id}: ${one.help}: ${where(one)}`);
}"""
THIN = """(repeats) => {
  document.querySelectorAll(repeats).forEach((one) => one.remove());
  document.querySelectorAll("main details").forEach((one) => { one.open = true; });
}"""
OF_COLOURS = ["color-contrast", "link-in-text-block"]
"""The rules whose outcome light or dark can change; the others are asked once."""
LOCALES = ("en", "it")
ROLE = {
    "permissions": ["cms.contents.select", "cms.contents.update"],
    "row_rules": [
        {
            "permission": "cms.contents.select",
            "condition": {"property": "status", "operator": "=", "value": "published"},
            "note": "What everybody may see",
        }
    ],
    "field_rules": [{"entity": "cms.contents", "ability": "read", "fields": ["title", "body", "status"]}],
}


def _wrong(desk: Desk, locale: str, pages: Iterable[Shown], **values: object) -> list[str]:
    """Everything that is wrong with the pages; each must answer with its status first."""
    found: list[str] = []
    for shown in pages:
        address = shown.address.format(**values)
        answer = desk.page.goto(address)
        assert answer is not None
        assert answer.status == shown.status, address
        expect(desk.page.locator("html")).to_have_attribute("lang", locale)
        if shown.repeats and locale != LOCALES[0]:
            desk.page.evaluate(THIN, shown.repeats)
        found += _wrong_here(desk, f"{address} in {locale}", shown.repeats)
    return found


def _wrong_here(desk: Desk, what: str, repeats: str = "") -> list[str]:
    """Light first, dark last; narrow in between, for a change of the width takes longer than one of the colours."""
    page = desk.page
    page.evaluate(AXE)
    _light_up(page, "light")
    found = [f"{what}, light: {one}" for one in page.evaluate(RUN, None)]
    page.set_viewport_size({"width": 360, "height": 900})
    found += [f"{what} at 360 px, light: {one}" for one in page.evaluate(AUDIT)]
    if repeats:
        page.evaluate(THIN, repeats)
    _light_up(page, "dark")
    found += [f"{what} at 360 px, dark: {one}" for one in page.evaluate(AUDIT)]
    page.set_viewport_size({"width": 1280, "height": 900})
    return found + [f"{what}, dark: {one}" for one in page.evaluate(RUN, OF_COLOURS)]


def _light_up(page: Page, scheme: Literal["light", "dark"]) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")


def _pages(stage: Stage, locale: str) -> list[Shown]:
    """Other states of a page have the same frame and words of the same kind: they are looked at in English."""
    return shown_at(stage, briefly=locale != LOCALES[0])


def _in_both_languages(desk: Desk, stage: Stage, **values: object) -> list[str]:
    found: list[str] = []
    for locale in LOCALES:
        _speak(desk, locale)
        found += _wrong(desk, locale, _pages(stage, locale), **values)
    _speak(desk, desk.locale)
    return found


def _speak(desk: Desk, locale: str) -> None:
    """The language of who is signed in, and of the browser."""
    desk.page.context.add_cookies([{"name": "locale", "value": locale, "url": desk.console.url}])
    container = desk.container
    with container.units() as unit:
        user = container.access.user(unit, "admin")
        container.access.set_locale(unit, actor_of(user, registry=container.registry), locale)


def _fill(desk: Desk) -> dict[str, int]:
    """What pages show only when there is some: a change that waits, a deleted record, a token, rules of a role, runs
    of an evaluation.

    The ids of the role and of the later run.
    """
    container = desk.container
    with container.units() as unit:
        role = container.access.roles.create(unit, SYSTEM, "narrow", ROLE).id
        user = container.access.create_user(unit, "edith", None, ["editor"], "Edith Editor", needs_approval=True)
        container.tokens.create(unit, user, "A script", ("read",), 30)
        container.tokens.create(unit, container.access.user(unit, "admin"), "Export", ("all",), 30)
    with container.units() as unit:
        author = container.access.user(unit, "edith")
        texts = {"en": {"title": "A title that waits for votes"}}
        edith = actor_of(author, registry=container.registry)
        container.records.update(unit, edith, "cms.contents", 5, {"translations": texts, "category": "waiting"}, 1)
        container.records.delete(unit, SYSTEM, "cms.contents", 7, 1)
        container.settings.update(unit, SYSTEM, "search.page_size", 30)
    assert container.documentation is not None
    container.documentation.index(container.units)
    keep(container, ("first", True, ["right.md"]), ("second", True, ["right.md"]))
    run = keep(container, ("first", True, ["right.md"]), ("second", False, ["wrong.md"]), mrr=0.5, floors={"mrr": 0.8})
    return {"role": role, "run": run}


def _in_conflict(desk: Desk) -> list[str]:
    """The editor after somebody else has saved, and the preview of many after one of them has changed."""
    page, records = desk.page, desk.container.records
    page.goto("/records/cms.contents/6/edit")
    page.locator("[id='title.en']").fill("Mine")
    with desk.container.units() as unit:
        records.update(unit, SYSTEM, "cms.contents", 6, {"translations": {"en": {"title": "Theirs"}}}, 1)
    page.get_by_role("button", name="Save changes").click()
    expect(page.get_by_role("heading", name="Their version and yours")).to_be_visible()
    found = _wrong_here(desk, "a stale edit")
    page.goto("/records/cms.contents/bulk?operation=delete&ids=6&ids=10")
    with desk.container.units() as unit:
        records.update(unit, SYSTEM, "cms.contents", 6, {"category": "other"}, 2)
    page.get_by_role("button", name="Delete 2 contents").click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was changed")
    return found + _wrong_here(desk, "a conflict of many")


@pytest.mark.parametrize(("locale", "share"), [("en", 0), ("en", 1), ("it", 0), ("it", 1)])
def test_pages_can_be_used_by_everybody(make_desk: MakeDesk, locale: str, share: int) -> None:
    """Every page of a console at rest; in two shares, so that none takes long."""
    desk = make_desk()
    made = _fill(desk)
    desk.sign_in()
    _speak(desk, locale)
    wrong = _wrong(desk, locale, _pages("idle", locale)[share::2], **made)
    assert not wrong, "\n".join(dict.fromkeys(wrong))


def test_pages_amid_something_can_be_used_by_everybody(make_desk: MakeDesk) -> None:
    """Before the sign-in, in conflict with somebody, amid a switch and after it."""
    desk = make_desk()
    _fill(desk)
    wrong = _in_both_languages(desk, "signed out")
    desk.sign_in()
    wrong += _in_conflict(desk)
    desk.console.kill("worker-embeddings")
    desk.go_to_models()
    desk.review("wordllama-256", desk.words.in_place)
    desk.confirm("wordllama-256")
    wrong += _in_both_languages(desk, "switching")
    desk.ai.switching.abandon(SYSTEM)
    switch = desk.ai.switching.history(1)[0].id
    wrong += _in_both_languages(desk, "afterwards", switch=switch)
    assert not wrong, "\n".join(dict.fromkeys(wrong))
