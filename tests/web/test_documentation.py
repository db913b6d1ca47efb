"""The pages that answer from the documentation, and those that show what is indexed."""

from __future__ import annotations

from pathlib import Path

import pytest
from apiflask import APIFlask

from app.container import Container
from app.documentation import collections
from app.documentation.places import collection_places
from app.documentation.service import Documentation
from tests.fakes.chat_model import FakeChatModel
from tests.fixtures.clients import Browser, People
from tests.integration.documentation.test_indexing import PAGE, write
from tests.unit.documentation.test_extracting import pdf


@pytest.fixture
def documentation(container: Container, tmp_path: Path) -> Documentation:
    """A handbook of two pages, indexed."""
    write(tmp_path, "user/en/searching.md", PAGE.format(locale="en", title="Searching") + "\n## Keys\n\nPress slash.")
    write(tmp_path, "developer/en/layers.md", "# Layers\n\nA star.")
    service = container.documentation
    assert service is not None
    service.root = tmp_path
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
    assert ">Never wait.</span>" in page
    assert "2 addresses, images or tags that no passage has were left out." in page
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
    assert {state for state in ("Changed since: 1", "Left out: 1") if state in page} == {
        "Changed since: 1",
        "Left out: 1",
    }
    assert "Up to date" not in page
    assert "The front matter can&#39;t be read as YAML." in page
    page = admin_client.get("/documentation/sources?collection=developer").get_data(as_text=True)
    states = {"Not indexed yet: 1", "File is gone: 1"}
    assert {state for state in states if state in page} == states
    only = admin_client.get("/documentation/sources?collection=developer&state=gone").get_data(as_text=True)
    assert ("Layers" in only, "developer/en/new.md" in only) == (True, False)
    assert admin_client.get("/documentation/sources?collection=nothing").status_code == 404
    assert reader.get("/documentation/sources").status_code == 403


def test_a_file_that_the_last_run_left_out_says_since_when(
    documentation: Documentation, admin_client: Browser, container: Container
) -> None:
    write(documentation.root, "user/en/broken.md", "No title and no front matter")
    documentation.index(container.units)
    page = admin_client.get("/documentation/sources").get_data(as_text=True)
    assert "The front matter needs audience" in page
    assert 'Since <time datetime="' in page.replace('<span class="quiet">', "")
    assert '<span class="count-x">1' in page


def test_an_unknown_audience_is_told_above_what_is_stored(documentation: Documentation, admin_client: Browser) -> None:
    write(documentation.root, "developer/en/zzz.md", "---\naudience: <i>all</i>\n---\n# Bad")
    page = admin_client.get("/documentation/sources?collection=developer").get_data(as_text=True)
    assert "Nothing can be indexed" in page
    assert "the audience &lt;i&gt;all&lt;/i&gt;" in page
    assert "Layers" in page


def test_a_named_collection_has_its_tab_and_its_passages_their_page(
    documentation: Documentation, admin_client: Browser, container: Container, tmp_path: Path
) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "manual.pdf").write_bytes(pdf("The boiler stops.", "<b>The fan</b> runs.", title="Manual"))
    with container.units() as unit:
        found = collections.with_folder(unit, "shop", folder)
    documentation.indexer.run(container.units, collection_places(found))
    page = admin_client.get("/documentation/sources?collection=shop").get_data(as_text=True)
    assert 'href="/documentation/sources?collection=shop" aria-current="page"' in page
    assert "shop/manual.pdf" in page
    assert "at most 250 words each" in page
    assert "flask docs index --collection shop" in page
    (folder / "broken.pdf").write_bytes(b"no PDF")
    documentation.index_collection(container.units, "shop")
    page = admin_client.get("/documentation/sources?collection=shop").get_data(as_text=True)
    assert "The file can&#39;t be read as pdf." in page
    passages = admin_client.get("/documentation/sources/shop/en/shop/manual.pdf").get_data(as_text=True)
    assert "page 2 of the file" in passages
    assert "&lt;b&gt;The fan&lt;/b&gt; runs." in passages
    shown = admin_client.get("/documentation/named/shop/manual.pdf")
    assert (shown.status_code, "The boiler stops." in shown.get_data(as_text=True)) == (200, True)
    assert admin_client.get("/documentation/sources/user/en/shop/manual.pdf").status_code == 404


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
