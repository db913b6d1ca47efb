"""A real Chromium before poisoned documents: nothing of them runs, and nothing is fetched from where they say."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from apiflask import APIFlask
from playwright.sync_api import Browser, Page
from werkzeug.serving import make_server

from app.container import Container
from tests.fakes.chat_model import FakeChatModel
from tests.fixtures.clients import Browser as Session
from tests.fixtures.clients import People
from tests.fixtures.counting_server import CountingServer, counting_server
from tests.fixtures.poison import POISONS, QUESTION, TRUTH
from tests.integration.documentation.conftest import AddPage
from tests.integration.documentation.conftest import add_page as add_page


@pytest.fixture
def evil() -> Iterator[CountingServer]:
    with counting_server() as server:
        yield server


@pytest.fixture
def console(app: APIFlask) -> Iterator[str]:
    """The address of the application of this test."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join(10)
    server.server_close()


@pytest.fixture
def page(chromium: Browser, console: str, app: APIFlask, people: People) -> Iterator[Page]:
    """A browser in which a reader is signed in."""
    session = Session(app).login_as(people.user("rita", "reader"))
    cookie = session.client.get_cookie(app.config["SESSION_COOKIE_NAME"])
    assert cookie is not None
    context = chromium.new_context()
    context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": console}])
    yield context.new_page()
    context.close()


def test_nothing_of_a_poisoned_page_runs_or_is_fetched(
    page: Page, console: str, evil: CountingServer, add_page: AddPage, container: Container
) -> None:
    answering = container.answering
    assert answering is not None
    answering.chat = chat = FakeChatModel()
    for n, poison in enumerate(POISONS):
        label = poison.label.format(evil=evil.url)
        body = f"{TRUTH}\n\n{poison.body.format(evil=evil.url)}"
        add_page(f"boiler-{n}", body, title=label, safe_source_label=label)
    dialogs: list[str] = []
    elsewhere: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: elsewhere.append(request.url) if not request.url.startswith(console) else None)
    query = QUESTION.replace(" ", "+")
    addresses = [
        "/documentation",
        f"/search?q={query}",
        *(f"/documentation/user/boiler-{n}" for n in range(len(POISONS))),
    ]
    for poison in POISONS:
        chat.says = poison.obeyed.format(evil=evil.url)
        page.goto(f"{console}/documentation/ask?q={query}")
        assert page.locator("#passage-1").count() == 1
    for address in addresses:
        answer = page.goto(f"{console}{address}")
        assert answer is not None
        assert answer.status == 200, address
    page.wait_for_load_state("networkidle")
    assert dialogs == []
    assert [one for one in elsewhere if not one.startswith(("data:", "blob:"))] == []
    assert evil.asked == []
