"""What a person does at the console, step by step, in the words of their language; and what the database says of it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Locator, Page, expect
from sqlalchemy import text

from app.container import Container
from app.embeddings.parts import EmbeddingParts
from tests.fixtures.console import WORKERS, Console

PASSWORD = "a long password of the tests"
LIMIT_SECONDS = 180
PHASES = ("preflight", "embeddings", "indexes", "verify", "activate")


@dataclass(frozen=True)
class Words:
    """What the console says, as the handbook names it; ``{}`` is a model."""

    sign_in: str
    user_name: str
    password: str
    models: str
    review: str
    switch_to: str
    keep: str
    side_by_side: str
    in_place: str
    stop: str
    activated: str


WORDS = {
    "en": Words(
        sign_in="Sign in",
        user_name="User name",
        password="Password",
        models="AI & models",
        review="Review the change",
        switch_to="Switch to {}",
        keep="Keep {}",
        side_by_side="Side by side",
        in_place="In place",
        stop="Stop the switch",
        activated="Activated",
    ),
    "it": Words(
        sign_in="Accedi",
        user_name="Nome utente",
        password="Password",
        models="IA e modelli",
        review="Rivedi la modifica",
        switch_to="Passa a {}",
        keep="Mantieni {}",
        side_by_side="Affiancato",
        in_place="Sul posto",
        stop="Ferma il cambio",
        activated="Attivato",
    ),
}


class Desk:
    """A person before a browser: ``page`` is what they see, ``words`` is what they read there."""

    def __init__(self, console: Console, container: Container, page: Page, locale: str) -> None:
        self.console = console
        self.container = container
        self.page = page
        self.locale = locale
        self.words = WORDS[locale]

    # --- what the person does --------------------------------------------------------------------------------------

    def sign_in(self) -> None:
        """From the start page, by the form; then the person's language by the switch in the top bar."""
        self.page.goto("/")
        expect(self.page.locator("html")).to_have_attribute("lang", self.locale)
        self.page.get_by_label(self.words.user_name).fill("admin")
        self.page.get_by_label(self.words.password).fill(PASSWORD)
        self.page.get_by_role("button", name=self.words.sign_in).click()
        expect(self.page.locator("#top-q, #q").first).to_be_visible()
        if self.page.locator("html").get_attribute("lang") != self.locale:
            self.page.locator(f".topbar button[name=locale][value={self.locale}]").click()
        expect(self.page.locator("html")).to_have_attribute("lang", self.locale)

    def go_to_models(self) -> None:
        """By the link in the rail."""
        self.page.locator(".rail").get_by_role("link", name=self.words.models, exact=True).click()
        expect(self.page.get_by_role("heading", level=1)).to_have_text(self.words.models)

    def review(self, model: str, mode: str) -> Locator:
        """Choose a model and a way, ask for the review; the part of the page that holds its numbers."""
        for choice in (model, mode):
            self.page.locator(".choice label").get_by_text(choice, exact=True).click()
            expect(self.page.get_by_role("radio", name=choice, exact=True)).to_be_checked()
        self.page.get_by_role("button", name=self.words.review).click()
        body = self.page.locator("#confirm-body")
        expect(body).to_be_visible()
        return body

    def confirm(self, model: str) -> None:
        """Press the button that names the verb and the model."""
        self.page.get_by_role("button", name=self.words.switch_to.format(model), exact=True).click()
        expect(self.page).to_have_url(re.compile("/settings/ai/progress$"))

    def search(self, query: str, entity: str = "cms.contents") -> list[str]:
        """The titles that the first page of a search shows."""
        self.page.goto("/search")
        self.page.locator("#q").fill(query)
        self.page.locator("select[name=entity]").select_option(entity)
        self.page.locator("#search-form button").click()
        expect(self.page).to_have_url(re.compile(r"\bq="))
        expect(self.page.locator("#results .result, #results .empty").first).to_be_visible()
        return [title.strip() for title in self.page.locator("#results .result h2").all_inner_texts()]

    # --- what they see ---------------------------------------------------------------------------------------------

    def expect_phase(self, key: str, state: str) -> None:
        """Wait until a phase is ``done``, ``current``, ``failed`` or ``waiting``; a real model takes its time."""
        expect(self.page.locator(f"#phase-{key}")).to_have_class(
            re.compile(rf"\bis-{state}\b"), timeout=LIMIT_SECONDS * 1000
        )

    # --- what the database says ------------------------------------------------------------------------------------

    @property
    def ai(self) -> EmbeddingParts:
        assert self.container.ai is not None
        return self.container.ai

    @property
    def serving(self) -> str:
        """The serving model's name."""
        found = self.ai.switching.serving()
        return "" if found is None else found[0].model_key.partition(":")[2]

    def count(self, sql: str) -> int:
        with self.container.units() as unit:
            return int(unit.session.scalar(text(sql)) or 0)

    def documents(self) -> int:
        """How many documents have a text to embed."""
        return self.count("select count(*) from search_documents where embeddable")

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        until = time.monotonic() + LIMIT_SECONDS
        while not condition():
            if time.monotonic() > until:
                raise AssertionError(f"{what}\n{self.state()}\n{self.console.tails()}")
            time.sleep(0.1)

    def state(self) -> str:
        """What the database says of everything that moves, for a failure's message."""
        tables = ("serving", "index_cursors", "processes", "switches", "switch_chunks")
        parts = [f"coverage {self.ai.switching.coverage()}"]
        with self.container.units() as unit:
            for table in tables:
                found = unit.session.execute(text(f"select left(row_to_json(t)::text, 400) from {table} t limit 9"))
                parts += [f"{table}: {row}" for row in found.scalars()]
        return "\n".join(parts)

    def wait_until_all_is_there(self) -> None:
        """Wait until every process has told of itself; the first model serves with all of its vectors and indexes."""
        kinds = "select count(distinct coalesce(queue, kind)) from processes"
        self.wait(lambda: self.count(kinds) == len(WORKERS) + 1, "a process never came")
        done, total = self.ai.switching.coverage()
        assert self.serving
        assert done == total > 0
        assert self.count("select count(*) from pg_indexes where indexname like 'emb\\_%'") > 0
