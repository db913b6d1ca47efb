"""The pages that answer from the documentation, and those that show what is indexed."""

from __future__ import annotations

from pathlib import Path

import pytest
from apiflask import APIFlask

from app.container import Container
from app.documentation.service import Documentation
from tests.fakes.chat_model import FakeChatModel
from tests.fixtures.clients import Browser, People
from tests.integration.documentation.test_indexing import PAGE, write


@pytest.fixture
def documentation(container: Container, tmp_path: Path) -> Documentation:
    """A handbook of two pages, indexed."""
    write(tmp_path, "user/en/searching.md", PAGE.format(locale="en", title="Searching") + "\n## Keys\n\nPress slash.")
    write(tmp_path, "developer/en/layers.md", "# Layers\n\nA star.")
    service = container.documentation
    assert service is not None
    service.root = tmp_path
    service.overview.root = tmp_path
    service.index(container.units)
    return service


@pytest.fixture
def reader(app: APIFlask, people: People) -> Browser:
    return Browser(app).login_as(people.user("rita", "reader"))


def asked(client: Browser, question: str, **more: str) -> str:
    answer = client.get("/documentation/ask", query_string={"q": question, **more})
    assert answer.status_code == 200
    return answer.get_data(as_text=True)


def test_passages_stand_beside_their_sources(documentation: Documentation, reader: Browser) -> None:
    page = asked(reader, "press slash")
    assert 'id="passage-1"' in page
    assert "<p>Press slash.</p>" in page
    assert "[1] User guide / Keys" in page
    assert 'href="/documentation/user/searching?locale=en"' in page
    assert "No language model is connected yet" in page


def test_an_answer_links_its_citations(documentation: Documentation, reader: Browser, container: Container) -> None:
    assert container.answering is not None
    container.answering.chat = FakeChatModel("Press it [1]. <b>Never</b> wait [5].")
    page = asked(reader, "press slash")
    assert 'Press it.</span> <a href="#passage-1">[1]</a>' in page
    assert "&lt;b&gt;Never&lt;/b&gt; wait." in page
    assert "no source" in page
    assert "One citation named no passage and was left out." in page


def test_what_is_not_documented_is_said(documentation: Documentation, reader: Browser) -> None:
    page = asked(reader, "how do I cook words with mushrooms and rice")
    assert "The documentation does not say" in page
    assert "passage-1" not in page
    assert 'href="/documentation/user/searching?locale=en"' in page


def test_a_corpus_that_may_not_be_read_is_not_asked(documentation: Documentation, reader: Browser) -> None:
    assert "A star" not in asked(reader, "star", corpus="developer")


def test_who_may_read_nothing_is_told(documentation: Documentation, app: APIFlask, people: People) -> None:
    nobody = Browser(app).login_as(people.user("nina"))
    assert "There is no documentation that you may read" in asked(nobody, "press slash")


def test_a_question_that_is_too_long_is_refused_at_the_field(documentation: Documentation, reader: Browser) -> None:
    answer = reader.get("/documentation/ask", query_string={"q": "x" * 2001})
    assert answer.status_code == 422
    assert 'id="question-error"' in answer.get_data(as_text=True)


def test_the_sources_show_what_is_out_of_date(
    documentation: Documentation, admin_client: Browser, reader: Browser
) -> None:
    root = documentation.root
    write(root, "user/en/searching.md", PAGE.format(locale="en", title="Searching"))
    write(root, "user/en/broken.md", "---\ntitle: a: b\n---\n# T")
    write(root, "developer/en/new.md", "# New\n\nText.")
    (root / "developer/en/layers.md").unlink()
    page = admin_client.get("/documentation/sources").get_data(as_text=True)
    states = {"Changed since: 1", "Not indexed yet: 1", "File is gone: 1", "Left out: 1"}
    assert {state for state in states if state in page} == states
    assert "Up to date" not in page
    assert "The front matter can&#39;t be read as YAML." in page
    assert reader.get("/documentation/sources").status_code == 403


def test_a_source_shows_its_passages(documentation: Documentation, admin_client: Browser, reader: Browser) -> None:
    path = "/documentation/sources/user/en/searching"
    page = admin_client.get(path).get_data(as_text=True)
    assert "2. Keys" in page
    assert "<p>Press slash.</p>" in page
    assert reader.get(path).status_code == 403
    for missing in ("user/it/searching", "user/en/nothing", "all/en/searching"):
        assert admin_client.get(f"/documentation/sources/{missing}").status_code == 404


def test_the_list_of_pages_leads_there(documentation: Documentation, admin_client: Browser, reader: Browser) -> None:
    assert 'href="/documentation/ask"' in reader.get("/documentation").get_data(as_text=True)
    assert 'href="/documentation/sources"' in admin_client.get("/documentation").get_data(as_text=True)
    assert 'href="/documentation/sources"' not in reader.get("/documentation").get_data(as_text=True)
