"""The handbook in the database: incremental, removed sources go, and nothing is written when an audience is unknown."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import text

from app.container import Container
from app.core.contracts.actor import SYSTEM, Actor
from app.core.errors import Forbidden, Invalid, NotFound
from app.documentation.indexer import IndexReport
from app.documentation.service import Documentation

PAGE = """---
audience: user
module: search
locale: {locale}
canonical_source: handbook/user
safe_source_label: User guide
version: "1.0"
policy_classification: user_safe
policy_classification_version: in-app-docs-v1
required_permissions: []
heading_breadcrumb: []
tenant_scope: global
---
# {title}

Some **words**. See [layers](../../developer/en/layers.md).
"""
USER = Actor(1, "u", "U", locale="it", permissions=frozenset({"documentation.user.select"}))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for locale, title in (("en", "Searching"), ("it", "Cercare")):
        write(tmp_path, f"user/{locale}/searching.md", PAGE.format(locale=locale, title=title))
    write(tmp_path, "developer/en/layers.md", "# Layers\n\nA star.")
    return tmp_path


def write(root: Path, file: str, content: str) -> None:
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")


def service(container: Container) -> Documentation:
    assert container.documentation is not None
    return container.documentation


def index(container: Container, root: Path) -> tuple[int, int, int, int]:
    report: IndexReport = service(container).index(container.units, root)
    return report.created, report.updated, report.unchanged, report.removed


def documents(container: Container) -> list[tuple[str, str, str, str, int]]:
    with container.units() as unit:
        rows = unit.session.execute(
            text("select entity, locale, title, body, revision from search_documents order by 1, 2")
        )
        return [tuple(row) for row in rows]


def test_pages_are_searchable_as_plain_text_and_only_changes_are_written(container: Container, root: Path) -> None:
    assert index(container, root) == (2, 0, 0, 0)
    assert documents(container) == [
        ("documentation.developer", "en", "Layers", "A star.", 1),
        ("documentation.user", "en", "Searching", "Some words. See layers.", 1),
        ("documentation.user", "it", "Cercare", "Some words. See layers.", 1),
    ]
    assert index(container, root) == (0, 0, 2, 0)
    write(root, "developer/en/layers.md", "# Layers\n\nA galaxy.")
    (root / "user/it/searching.md").unlink()
    assert index(container, root) == (0, 2, 0, 0)
    assert [(row[1], row[3], row[4]) for row in documents(container)] == [
        ("en", "A galaxy.", 2),
        ("en", "Some words. See layers.", 2),
    ]


def test_removed_sources_disappear(container: Container, root: Path) -> None:
    index(container, root)
    (root / "developer/en/layers.md").unlink()
    assert index(container, root) == (0, 0, 1, 1)
    assert {row[0] for row in documents(container)} == {"documentation.user"}


def test_a_page_that_is_no_longer_for_users_leaves_their_corpus(container: Container, root: Path) -> None:
    index(container, root)
    for locale in ("en", "it"):
        page = PAGE.format(locale=locale, title="T").replace("audience: user", "audience: developer")
        write(root, f"user/{locale}/searching.md", page)
    assert index(container, root) == (0, 0, 1, 1)


def test_an_unknown_audience_leaves_everything_as_it_was(container: Container, root: Path) -> None:
    index(container, root)
    before = documents(container)
    write(root, "developer/en/layers.md", "# Other")
    write(root, "developer/en/zzz.md", "---\naudience: everybody\n---\n# Bad")
    with pytest.raises(Invalid):
        index(container, root)
    assert documents(container) == before


def test_pages_are_read_in_the_person_s_language_by_those_who_may(container: Container, root: Path) -> None:
    index(container, root)
    docs = service(container)
    assert docs.corpora(USER) == ["user"]
    with container.units() as unit:
        page = docs.page(unit, USER, "user", "searching")
        assert (page.title, page.locale, page.locales) == ("Cercare", "it", ("en", "it"))
        assert "<strong>words</strong>" in page.html
        assert 'href="/documentation/developer/layers"' in page.html
        assert docs.page(unit, SYSTEM, "developer", "layers").title == "Layers"
        for corpus, source in (("developer", "layers"), ("user", "absent"), ("x", "y")):
            with pytest.raises(NotFound):
                docs.page(unit, USER, corpus, source)


def test_pages_are_records_that_nobody_edits(container: Container, root: Path) -> None:
    index(container, root)
    with container.units() as unit:
        found = container.records.page(unit, SYSTEM, "documentation.user", {"q": "cerc"})
        assert [record.title for record in found.records] == ["Searching"]
        with pytest.raises(NotFound):
            container.records.get(unit, SYSTEM, "documentation.developer", found.records[0].id)
        with pytest.raises(Forbidden):
            container.records.delete(unit, SYSTEM, "documentation.user", found.records[0].id)
