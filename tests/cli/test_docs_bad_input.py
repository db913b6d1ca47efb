"""Bad files at the front door: each is named, nothing of it is half indexed, its old version stays, the exit is 1."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from apiflask import APIFlask
from sqlalchemy import text

from app.container import Container
from app.documentation import reader
from tests.cli.test_docs import run
from tests.integration.documentation.test_indexing import PAGE, write

GOOD = "# Layers\n\nA star of packages."
FILE = "developer/en/layers.md"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, FILE, GOOD)
    write(tmp_path, "developer/en/other.md", "# Other\n\nIt stands.")
    return tmp_path


def stored(container: Container) -> dict[str, tuple[str, ...]]:
    """Every stored text by source: its title, its body and its passages."""
    with container.units() as unit:
        rows = unit.session.execute(
            text(
                "select p.source, t.title, d.body, array(select body from documentation_passages a"
                " where a.page_id = p.id and a.locale = t.locale order by n) from documentation_pages p"
                " join documentation_texts t on t.page_id = p.id join search_documents d on d.record_id = p.id"
                " and d.locale = t.locale and d.entity = 'documentation.' || p.corpus"
            )
        )
        return {source: (title, body, *passages) for source, title, body, passages in rows}


def broken(content: bytes) -> Callable[[Path], None]:
    def breaks(root: Path) -> None:
        (root / FILE).write_bytes(content)

    return breaks


def loop_of_links(root: Path) -> None:
    (root / FILE).unlink()
    (root / FILE).symlink_to(root / "developer/en/second.md")
    (root / "developer/en/second.md").symlink_to(root / FILE)


def link_to_nothing(root: Path) -> None:
    (root / FILE).unlink()
    (root / FILE).symlink_to(root / "developer/en/gone.md")


BAD: dict[str, tuple[Callable[[Path], None], str]] = {
    "a colon in a title": (broken(b"---\ntitle: a: b\n---\n# T\n\nNew."), "The front matter can't be read as YAML"),
    "a list as front matter": (broken(b"---\n- a\n---\n# T\n\nNew."), "The front matter can't be read as YAML"),
    "a fence that never closes": (broken(b"# T\n\nNew.\n\n```sh\nrun\n"), "The code block that begins in line 5"),
    "a line of 5 MB": (broken(b"# T\n\n" + b"x" * 5_000_000), "The file is longer than 2097152 bytes"),
    "a line of 1 MB": (broken(b"# T\n\n" + b"word " * 200_000), "The file holds more than 200000 characters"),
    "an image that calls itself Markdown": (broken(b"\x89PNG\r\n\x1a\n\x00\x00"), "The file is not valid UTF-8"),
    "a program that calls itself Markdown": (broken(b"# T\n\x7fELF\x02\x01\x00"), "The file holds control characters"),
    "no title": (broken(b"Only text."), "The page has neither a title nor a first heading"),
    "a loop of links": (loop_of_links, "The link leads back to itself"),
    "a link to nothing": (link_to_nothing, "The file can't be opened"),
}


@pytest.mark.parametrize("kind", list(BAD))
def test_a_bad_file_is_named_and_its_old_version_stays(
    app: APIFlask, container: Container, root: Path, kind: str
) -> None:
    path = ("index", "--path", str(root))
    assert run(app, *path).exit_code == 0
    before = stored(container)
    breaks, sentence = BAD[kind]
    breaks(root)
    write(root, "developer/en/other.md", "# Other\n\nIt has moved.")
    for more in ((), ("--full",)):
        done = run(app, *path, *more)
        assert done.exit_code == 1
        assert f"left out {FILE}: {sentence}" in done.output
        assert "the version before stays" in done.output
        now = stored(container)
        assert now.pop("layers") == before["layers"] == ("Layers", "A star of packages.", "A star of packages.")
        assert now == {"other": ("Other", "It has moved.", "It has moved.")}


@pytest.mark.parametrize("kind", list(BAD))
def test_a_bad_file_that_was_never_indexed_leaves_nothing(
    app: APIFlask, container: Container, root: Path, kind: str
) -> None:
    breaks, sentence = BAD[kind]
    breaks(root)
    done = run(app, "index", "--path", str(root))
    assert (done.exit_code, f"left out {FILE}: {sentence}" in done.output) == (1, True)
    assert set(stored(container)) == {"other"}


@pytest.mark.parametrize("audience", ["everybody", "User", "[user]", "users"])
def test_an_unknown_audience_stops_everything(app: APIFlask, container: Container, root: Path, audience: str) -> None:
    path = ("index", "--path", str(root))
    run(app, *path)
    before = stored(container)
    write(root, "developer/en/other.md", "# Other\n\nIt has moved.")
    write(root, "developer/it/last.md", f"---\naudience: {audience}\n---\n# Bad")
    for more in ((), ("--full",), ("--profile", "user")):
        done = run(app, *path, *more)
        assert done.exit_code == 1
        assert "developer/it/last.md" in done.output
        assert stored(container) == before


def test_a_file_that_vanishes_while_it_is_read(
    app: APIFlask, container: Container, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ("index", "--path", str(root))
    run(app, *path)
    before = stored(container)
    walk = reader.walk

    def vanishing(folder: Path):  # type: ignore[no-untyped-def]
        for entry in list(walk(folder)):
            if entry.path.name == "layers.md":
                entry.path.unlink()
            yield entry

    monkeypatch.setattr(reader, "walk", vanishing)
    done = run(app, *path)
    assert (done.exit_code, f"left out {FILE}: The file can't be opened" in done.output) == (1, True)
    assert stored(container) == before
    monkeypatch.undo()
    assert "1 removed" in run(app, *path).output


def test_a_folder_that_can_not_be_read_keeps_what_is_below_it(
    app: APIFlask, container: Container, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, "developer/en/deep/inner.md", "# Inner\n\nBelow.")
    path = ("index", "--path", str(root))
    run(app, *path)
    before = stored(container)
    scandir = reader.walk.__globals__["os"].scandir

    def refused(folder: Path):  # type: ignore[no-untyped-def]
        if Path(folder).name == "deep":
            raise PermissionError(13, "denied")
        return scandir(folder)

    monkeypatch.setattr(reader.walk.__globals__["os"], "scandir", refused)
    done = run(app, *path)
    assert (done.exit_code, "left out developer/en/deep: The file can't be opened" in done.output) == (1, True)
    assert stored(container) == before


def test_a_page_that_may_not_be_shown_any_more_goes_and_one_with_a_slip_stays(
    app: APIFlask, container: Container, tmp_path: Path
) -> None:
    page = PAGE.format(locale="en", title="Searching")
    path = ("index", "--path", str(tmp_path))
    write(tmp_path, "user/en/searching.md", page)
    write(tmp_path, "user/en/editing.md", page)
    run(app, *path)
    write(tmp_path, "user/en/searching.md", page.replace("audience: user", "audience: developer"))
    write(tmp_path, "user/en/editing.md", page.replace('version: "1.0"', "version: 1.0"))
    done = run(app, *path)
    assert done.exit_code == 1
    assert "left out user/en/searching.md: The front matter needs audience" in done.output
    assert "left out user/en/editing.md: The front matter needs version" in done.output
    assert set(stored(container)) == {"editing"}


def test_faults_are_remembered_until_they_are_mended(app: APIFlask, container: Container, root: Path) -> None:
    def faults() -> list[tuple[str, str]]:
        with container.units() as unit:
            rows = unit.session.execute(text("select file, code from documentation_faults order by file"))
            return [(file, code) for file, code in rows]

    write(root, FILE, "Only text.")
    run(app, "index", "--path", str(root))
    assert faults() == [(FILE, "documentation.no_title")]
    run(app, "index", "--path", str(root), "--profile", "user")
    assert faults() == [(FILE, "documentation.no_title")]
    write(root, FILE, GOOD)
    assert run(app, "index", "--path", str(root)).exit_code == 0
    assert faults() == []
