"""Named collections, further roots, what counts as a change, and passages found by their vectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text

from app.container import Container
from app.core.contracts.actor import SYSTEM, Actor
from app.core.contracts.vectors import QueryVector
from app.core.errors import ConfigurationError, Invalid, NotFound, Unavailable
from app.documentation import collections
from app.documentation.audience import Reach
from app.documentation.indexer import Indexer, IndexReport
from app.documentation.memory_store import MemoryPassages
from app.documentation.places import Collection, collection_places, prefix_for
from app.documentation.ports import NearPassage, Passages
from app.documentation.retrieval import Asked
from app.documentation.service import Documentation
from app.embeddings.identity import PROBE_TEXT
from tests.fixtures.bench import A, B, Bench
from tests.integration.documentation.test_indexing import PAGE, service, write
from tests.unit.documentation.test_extracting import docx, paragraph, pdf


def told(report: IndexReport) -> tuple[int, int, int, int]:
    return report.created, report.updated, report.unchanged, report.removed


def ingest(container: Container, name: str, path: Path, pattern: str = "", full: bool = False) -> IndexReport:
    with container.units() as unit:
        found = collections.with_folder(unit, name, path, pattern)
    return service(container).indexer.run(container.units, collection_places(found), full)


def sources(container: Container, name: str) -> list[str]:
    with container.units() as unit:
        rows = unit.session.execute(
            text("select source from documentation_pages where collection = :name order by 1"), {"name": name}
        )
        return [source for (source,) in rows]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "refunds.md", "Money comes back within 30 days.\n\n## Limits\n\nGift cards stay sold.")
    write(tmp_path, "it/spedizione.md", "# Spedizione\n\nTre giorni.")
    write(tmp_path, "notes.txt", "# no heading\n\nPlain words.")
    (tmp_path / "manual.pdf").write_bytes(pdf("The boiler stops.", "The fan runs.", title="Manual"))
    (tmp_path / "letter.docx").write_bytes(docx(paragraph("Heating", "Heading1") + paragraph("It is warm.")))
    write(tmp_path, "page.html", "<html><title>Web</title><body><h2>Keys</h2><p>Press slash.</p></body></html>")
    write(tmp_path, "data.bin", "not read")
    return tmp_path


def test_a_collection_is_made_on_its_first_use(container: Container, folder: Path) -> None:
    assert told(ingest(container, "shop", folder)) == (6, 0, 0, 0)
    assert sources(container, "shop") == [
        "shop/it/spedizione.md", "shop/letter.docx", "shop/manual.pdf", "shop/notes.txt", "shop/page.html",
        "shop/refunds.md",
    ]  # fmt: skip
    with container.units() as unit:
        rows = unit.session.execute(
            text(
                "select p.source, t.locale, t.title, array_to_string(a.breadcrumb, ' / '), a.body, a.page"
                " from documentation_pages p join documentation_texts t on t.page_id = p.id"
                " join documentation_passages a on a.page_id = p.id and a.locale = t.locale order by 1, a.n"
            )
        )
        assert [tuple(row) for row in rows] == [
            ("shop/it/spedizione.md", "it", "Spedizione", "", "Tre giorni.", None),
            ("shop/letter.docx", "en", "Heating", "", "It is warm.", None),
            ("shop/manual.pdf", "en", "Manual", "", "The boiler stops.", 1),
            ("shop/manual.pdf", "en", "Manual", "", "The fan runs.", 2),
            ("shop/notes.txt", "en", "notes", "", "\\# no heading\n\nPlain words.", None),
            ("shop/page.html", "en", "Web", "Keys", "Press slash.", None),
            ("shop/refunds.md", "en", "refunds", "", "Money comes back within 30 days.", None),
            ("shop/refunds.md", "en", "refunds", "Limits", "Gift cards stay sold.", None),
        ]
    assert told(ingest(container, "shop", folder)) == (0, 0, 6, 0)


def test_only_what_changed_is_written_and_only_what_is_gone_goes(container: Container, folder: Path) -> None:
    ingest(container, "shop", folder)
    write(folder, "refunds.md", "# Refunds\n\nWithin 14 days.")
    (folder / "notes.txt").unlink()
    assert told(ingest(container, "shop", folder)) == (0, 1, 4, 1)
    (folder / "manual.pdf").write_bytes(b"%PDF broken")
    report = ingest(container, "shop", folder)
    assert told(report) == (0, 0, 5, 0)
    assert [(fault.file, fault.error.code, fault.kept) for fault in report.faults] == [
        ("shop/manual.pdf", "documentation.not_extracted", True)
    ]
    assert "shop/manual.pdf" in sources(container, "shop")


def test_unchanged_files_are_not_extracted_again(
    container: Container, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(container, "shop", folder)

    def never(*given: Any) -> None:
        raise AssertionError("extracted")

    monkeypatch.setattr("app.documentation.reader.extracted", never)
    assert told(ingest(container, "shop", folder)) == (0, 0, 6, 0)
    with pytest.raises(AssertionError, match="extracted"):
        ingest(container, "shop", folder, full=True)


def test_a_changed_splitter_or_window_is_a_change(container: Container, folder: Path) -> None:
    ingest(container, "shop", folder)
    with container.units() as unit:
        service(container).save_collection(unit, "shop", {"driver": "sentence", "max_words": 50})
    assert told(ingest(container, "shop", folder)) == (0, 6, 0, 0)
    assert told(ingest(container, "shop", folder)) == (0, 0, 6, 0)
    indexer = service(container).indexer
    with container.units() as unit:
        places = collection_places(collections.find(unit, "shop"))
    other = Indexer(indexer.passages, lambda unit: 64)
    assert told(other.run(container.units, places)) == (0, 6, 0, 0)


def test_two_folders_never_give_the_same_source(container: Container, tmp_path: Path) -> None:
    first, second, third = tmp_path / "a" / "docs", tmp_path / "b" / "docs", tmp_path / "c" / "docs"
    for number, folder in enumerate((first, second, third)):
        write(folder, "page.md", f"# Page\n\nText {number}.")
    write(first, "docs/page.md", "# Page\n\nInside.")
    for folder in (first, second, third):
        ingest(container, "all", folder)
    assert sources(container, "all") == ["all/docs-2/page.md", "all/docs-3/page.md", "all/docs/page.md", "all/page.md"]
    with container.units() as unit:
        whole = collections.find(unit, "all")
    assert told(service(container).index_collection(container.units, "all")) == (0, 0, 4, 0)
    (second / "page.md").unlink()
    assert told(service(container).index_collection(container.units, "all")) == (0, 0, 3, 1)
    third.rename(tmp_path / "elsewhere")
    report = service(container).index_collection(container.units, "all")
    assert (told(report)[3], [fault.error.code for fault in report.faults]) == (0, ["documentation.unreadable"])
    assert len(whole.folders) == 3


def test_further_roots_of_the_handbook_have_their_prefix(container: Container, tmp_path: Path) -> None:
    main, more = tmp_path / "handbook", tmp_path / "plugin"
    write(main, "developer/en/layers.md", "# Layers\n\nA star.")
    write(more, "developer/en/layers.md", "# Other layers\n\nA ring.")
    docs = service(container)
    docs.root, docs.further = main, (more,)
    assert told(docs.index(container.units)) == (2, 0, 0, 0)
    assert sources(container, "developer") == ["layers", "plugin/layers"]
    assert told(docs.index(container.units, main)) == (0, 0, 1, 0)
    assert sources(container, "developer") == ["layers", "plugin/layers"]
    docs.further = ()
    assert told(docs.index(container.units)) == (0, 0, 1, 1)
    docs.further = (tmp_path / "absent",)
    with pytest.raises(ConfigurationError, match="CHANGEOVER_DOCS_EXTRA_ROOTS"):
        docs.index(container.units)
    assert prefix_for(more, {"plugin", "plugin-2"}) == "plugin-3"


@pytest.mark.parametrize("name", ["user", "developer", "named", "A", "", "a b", "../x", "x" * 61])
def test_names_that_no_collection_may_have(container: Container, name: str) -> None:
    with container.units() as unit, pytest.raises(Invalid):
        collections.save(unit, Collection(name))


def test_a_collection_for_users_admits_what_the_policy_admits(container: Container, tmp_path: Path) -> None:
    write(tmp_path, "good.md", PAGE.format(locale="en", title="Good"))
    write(tmp_path, "bare.md", "# Bare\n\nNo front matter.")
    (tmp_path / "manual.pdf").write_bytes(pdf("The boiler stops."))
    (tmp_path / "manual.pdf.yaml").write_text(PAGE.format(locale="en", title="x").split("---\n")[1], encoding="utf-8")
    with container.units() as unit:
        collections.save(unit, Collection("help", audience="user"))
    report = ingest(container, "help", tmp_path)
    assert sources(container, "help") == ["help/good.md", "help/manual.pdf"]
    assert [(fault.file, fault.error.path) for fault in report.faults] == [("help/bare.md", "audience")]
    write(tmp_path, "worse.md", "---\naudience: all\n---\n# X")
    with pytest.raises(Invalid):
        ingest(container, "help", tmp_path)


def test_who_may_not_read_collections_is_not_told_which_there_are(container: Container, folder: Path) -> None:
    ingest(container, "shop", folder)
    assert container.answering is not None
    retrieve = container.answering.retrieve
    stranger = Actor(1, "u", "U", permissions=frozenset({"documentation.user.select"}))
    allowed = Actor(2, "v", "V", permissions=frozenset({"documentation.named.select"}))
    for name in ("shop", "nothing"):
        with pytest.raises(Invalid):
            retrieve(stranger, Asked("gift cards", name))
    found = retrieve(allowed, Asked("boiler stops", "shop"))
    assert [(one.source, one.breadcrumb) for one in found.passages][:1] == [("shop/manual.pdf", ("p. 1",))]
    assert retrieve(allowed, Asked("tre giorni", "shop")).passages[0].source == "shop/it/spedizione.md"
    write(folder, "other.md", "# Boiler\n\nThe boiler stops elsewhere.")
    ingest(container, "second", folder / "other.md")
    assert {one.source for one in retrieve(allowed, Asked("boiler stops", "second")).passages} == {"second/other.md"}
    with container.units() as unit, pytest.raises(NotFound):
        collections.find(unit, "nothing")


# --- by vectors --------------------------------------------------------------------------------------------------


@pytest.fixture
def shop(bench: Bench, folder: Path) -> Documentation:
    """The collection on a console whose models run, embedded."""
    ingest(bench.container, "shop", folder)
    bench.settle()
    return service(bench.container)


def embedder(bench: Bench, name: str = "alpha") -> MemoryPassages:
    def embed(texts: Sequence[str]) -> list[list[float]]:
        return [list(map(float, bench.servers[name].vector(one, model=name))) for one in texts]

    return MemoryPassages(embed)


def nearest(bench: Bench, store: Passages, query: QueryVector, name: str = "shop", limit: int = 4) -> list[NearPassage]:
    with bench.container.units("REPEATABLE READ") as unit:
        return store.nearest(unit, query, Reach(name, "en", permissions=None), None, limit)


def test_both_stores_find_the_same_passages(bench: Bench, shop: Documentation, folder: Path) -> None:
    memory = embedder(bench)
    with bench.container.units() as unit:
        places = collection_places(collections.find(unit, "shop"))
    Indexer(memory, lambda unit: 512).run(bench.container.units, places)
    assert bench.container.vectors is not None
    for question in ("gift cards", "boiler", "Press slash.", "tre giorni"):
        query = bench.container.vectors.query_vector(question, 5)
        found, exact = nearest(bench, shop.indexer.passages, query), nearest(bench, memory, query)
        assert [(one.key, one.passage) for one in found] == [(one.key, one.passage) for one in exact]
        assert np.allclose([one.similarity for one in found], [one.similarity for one in exact], atol=1e-5)
        assert len(found) == 4


def test_an_unchanged_run_embeds_nothing_and_one_changed_file_its_own_passages(
    bench: Bench, shop: Documentation, folder: Path
) -> None:
    server = bench.servers["alpha"]
    server.reset()
    ingest(bench.container, "shop", folder)
    ingest(bench.container, "shop", folder, full=True)
    bench.settle()
    assert set(server.counters.per_text) <= {PROBE_TEXT}
    write(folder, "refunds.md", "# Refunds\n\nWithin 14 days.\n\n## Limits\n\nNo gift cards.")
    server.reset()
    ingest(bench.container, "shop", folder)
    bench.settle()
    embedded = {one for one in server.counters.per_text if one.startswith(("Refunds", "passage: Refunds"))}
    assert len(embedded) == 2


def test_a_text_that_has_changed_is_not_found_by_its_old_vector(
    bench: Bench, shop: Documentation, folder: Path
) -> None:
    assert bench.container.vectors is not None
    query = bench.container.vectors.query_vector("gift cards", 5)
    write(folder, "refunds.md", "# Refunds\n\nWithin 14 days.")
    ingest(bench.container, "shop", folder)
    found = nearest(bench, shop.indexer.passages, query, limit=50)
    assert "shop/refunds.md" not in {one.key.source for one in found}
    bench.settle()
    found = nearest(bench, shop.indexer.passages, query, limit=50)
    assert [one.passage.text for one in found if one.key.source == "shop/refunds.md"] == ["Within 14 days."]


def test_the_switch_carries_collections(bench: Bench, shop: Documentation) -> None:
    before = bench.value("select count(*) from embeddings where entity = 'documentation.named'")
    bench.start(B)
    bench.settle(12)
    assert bench.serving == B
    rows = bench.value(
        "select count(*) from embeddings where entity = 'documentation.named' and space_id = :space",
        space=bench.space(B),
    )
    assert rows == before == 8
    assert bench.violations(B) == []
    assert bench.container.vectors is not None
    query = bench.container.vectors.query_vector("gift cards", 5)
    assert len(nearest(bench, shop.indexer.passages, query, limit=50)) == 8


# --- corpora of two models ---------------------------------------------------------------------------------------


def asked(bench: Bench, shop: Documentation) -> list[str]:
    """The ways in which passages are retrieved: people's and the evaluation's."""
    assert bench.container.answering is not None
    assert bench.container.vectors is not None
    query = bench.container.vectors.query_vector("gift cards", 5)
    refused = []
    for retrieve in (
        lambda: bench.container.answering.retrieve(SYSTEM, Asked("gift cards", "shop")),  # type: ignore[union-attr]
        lambda: bench.container.answering.retrieve(SYSTEM, Asked("gift cards", "shop", by_words=True)),  # type: ignore[union-attr]
        lambda: nearest(bench, shop.indexer.passages, query),
    ):
        try:
            retrieve()
        except Unavailable as error:
            refused.append(f"{error.code} {error.values['serving']} {error.values['other']}")
    return refused


def move_vectors(bench: Bench, source: str, to: str) -> None:
    """One text's vectors become another model's."""
    bench.execute(
        "insert into vector_spaces (model_key, fingerprint, dimensions, similarity, declaration, server_identity)"
        " select :to, 'of a restore', dimensions, similarity, declaration, server_identity from vector_spaces"
        " where model_key = :a",
        to=to, a=A,
    )  # fmt: skip
    bench.execute(
        "update embeddings set space_id = (select id from vector_spaces where fingerprint = 'of a restore')"
        " where entity = 'documentation.named'"
        " and record_id = (select id from documentation_pages where source = :one)",
        one=source,
    )


def test_a_corpus_of_two_models_is_refused_with_both_named(bench: Bench, shop: Documentation, folder: Path) -> None:
    assert asked(bench, shop) == []
    move_vectors(bench, "shop/refunds.md", "openai_compatible:foreign")
    assert asked(bench, shop) == [f"documentation.mixed_models {A} openai_compatible:foreign"] * 3
    assert bench.container.answering is not None
    bench.container.answering.retrieve(SYSTEM, Asked("gift cards", "user"))
    ingest(bench.container, "shop", folder, full=True)
    bench.settle()
    assert asked(bench, shop) == []


def test_rows_of_a_kept_model_or_of_a_target_are_no_mixture(bench: Bench, shop: Documentation) -> None:
    move_vectors(bench, "shop/refunds.md", "openai_compatible:foreign")
    bench.execute(
        "update vector_spaces set retained_until = clock_timestamp() + interval '1 day'"
        " where fingerprint = 'of a restore'"
    )
    assert asked(bench, shop) == []
    bench.settle()
    bench.start(B)
    bench.run_until(lambda: bool(bench.value("select 1 from embeddings where space_id = :b limit 1", b=bench.space(B))))
    bench.execute("delete from embeddings where entity = 'documentation.named' and space_id = :a", a=bench.space(A))
    assert asked(bench, shop) == []
