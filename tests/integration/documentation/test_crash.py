"""A process that dies while it indexes leaves the old or the new version of each source, and the next run completes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from app.container import Container
from app.documentation import indexer
from app.documentation.checkpoints import NAMES
from app.documentation.memory_store import MemoryPassages
from app.documentation.places import handbook_places
from tests.integration.documentation.test_indexing import PAGE, service, write

ROOT = Path(__file__).resolve().parents[3]
SOURCES, BATCH = 20, 8
"""More than two batches of the developer corpus."""


def fill(root: Path, version: str, without: int) -> None:
    """A handbook of one version: every page has two passages, some have two locales; page ``without`` is not there."""
    for number in range(SOURCES):
        locales = ("en", "it") if number % 10 == 0 else ("en",)
        for locale in locales:
            file = root / f"developer/{locale}/page{number:03}.md"
            if number == without:
                file.unlink(missing_ok=True)
            else:
                text_ = f"# Page {number} {version}\n\n{version} lead.\n\n## Part {version}\n\n{version} tail."
                write(root, f"developer/{locale}/page{number:03}.md", text_)
    for locale in ("en", "it"):
        page = PAGE.format(locale=locale, title=f"Guide {version}").replace("Some **words**", f"{version} words")
        write(root, f"user/{locale}/guide.md", page)


def seen(container: Container) -> dict[tuple[str, str], set[str]]:
    """Every word that tells a version, by source and locale: of the text, of its passages and of what is searched."""
    with container.units() as unit:
        rows = unit.session.execute(
            text(
                "select p.source, t.locale, t.title || ' ' || t.body || ' ' || d.title || ' ' || d.body || ' ' ||"
                " d.parts::text || ' ' || (select string_agg(body || array_to_string(breadcrumb, ' '), ' ')"
                " from documentation_passages a where a.page_id = p.id and a.locale = t.locale)"
                " from documentation_pages p join documentation_texts t on t.page_id = p.id"
                " left join search_documents d on d.record_id = p.id and d.locale = t.locale"
                " and d.entity = 'documentation.' || p.corpus"
            )
        )
        return {(source, locale): {word for word in ("Old", "New") if word in said} for source, locale, said in rows}


def orphans(container: Container) -> int:
    with container.units() as unit:
        return int(
            unit.session.scalar(
                text(
                    "select count(*) from search_documents d left join documentation_texts t on t.page_id = d.record_id"
                    " and t.locale = d.locale where d.entity like 'documentation.%' and t.page_id is null"
                )
            )
            or 0
        )


def die(container: Container, root: Path, at: str, times: int = 1, full: bool = False) -> None:
    """Index in a process of its own that is killed at the n-th passing of a checkpoint."""
    wish = {
        "database": container.config.database_url, "root": str(root), "at": at, "times": times, "full": full,
        "batch": BATCH,
    }  # fmt: skip
    command = [sys.executable, "-m", "tests.integration.documentation.crashing", json.dumps(wish)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == -9, done.stderr


PLACES = [(name, 1, False) for name in NAMES] + [
    ("docs.batch_before_commit", 2, False),
    ("docs.passages_written", 2, True),
    ("docs.removed_before_commit", 1, True),
]


@pytest.mark.parametrize(("at", "times", "full"), PLACES)
def test_a_killed_run_mixes_nothing_and_the_next_one_completes(
    container: Container, tmp_path: Path, at: str, times: int, full: bool
) -> None:
    fill(tmp_path, "Old", without=7)
    service(container).index(container.units, tmp_path)
    before = seen(container)
    assert set(map(frozenset, before.values())) == {frozenset({"Old"})}
    fill(tmp_path, "New", without=3)
    die(container, tmp_path, at, times, full)
    after = seen(container)
    assert {key: words for key, words in after.items() if len(words) != 1} == {}
    assert orphans(container) == 0
    by_source: dict[str, set[str]] = {}
    for (source, _), words in after.items():
        by_source.setdefault(source, set()).update(words)
    assert {source for source, words in by_source.items() if len(words) != 1} == set()
    early = NAMES.index(at) < NAMES.index("docs.batch_committed") and times == 1
    assert any(words == {"New"} for words in after.values()) != early
    report = service(container).index(container.units, tmp_path)
    assert list(report.faults) == []
    finished = seen(container)
    assert set(map(frozenset, finished.values())) == {frozenset({"New"})}
    assert ("page007", "en") in finished
    assert ("page003", "en") not in finished
    assert orphans(container) == 0
    again = service(container).index(container.units, tmp_path)
    assert (again.created, again.updated, again.removed) == (0, 0, 0)


def test_a_first_run_that_is_killed_leaves_whole_sources(container: Container, tmp_path: Path) -> None:
    fill(tmp_path, "New", without=3)
    die(container, tmp_path, "docs.batch_before_commit", times=2)
    assert {source for source, _ in seen(container)} == {f"page{number:03}" for number in range(BATCH + 1)} - {
        "page003"
    }
    report = service(container).index(container.units, tmp_path)
    assert (report.created, report.unchanged) == (SOURCES - 1 - BATCH + 1, BATCH)
    assert orphans(container) == 0


class _Died(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("at", ["docs.read", "docs.locked", "docs.batch_before_commit", "docs.batch_committed"])
def test_the_memory_store_swaps_whole_sources_too(container: Container, tmp_path: Path, at: str) -> None:
    """It lives and dies with the process; an error half-way leaves whole sources all the same."""

    def embed(texts: Any) -> list[list[float]]:
        return [[1.0, float(len(one))] for one in texts]

    store = MemoryPassages(embed)
    runs = indexer.Indexer(store)
    fill(tmp_path, "Old", without=7)
    runs.run(container.units, handbook_places(tmp_path))
    fill(tmp_path, "New", without=3)

    def checkpoint(name: str) -> None:
        if name == at:
            raise _Died

    with pytest.raises(_Died):
        indexer.Indexer(store, checkpoint=checkpoint).run(container.units, handbook_places(tmp_path))
    for texts in store._texts["developer"].values():
        words = {word for text_, _ in texts for word in ("Old", "New") if word in text_.title + text_.plain}
        assert len(words) == 1
    runs.run(container.units, handbook_places(tmp_path))
    titles = [text_.title for texts in store._texts["developer"].values() for text_, _ in texts]
    assert all(title.endswith("New") for title in titles)
    assert len(store._texts["developer"]) == SOURCES - 1
