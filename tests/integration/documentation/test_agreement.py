"""The store in PostgreSQL and an exact scan in memory give the same run of the same suite (seed 002, "Testing")."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from app.container import Container
from app.core.config import Config
from app.documentation.indexer import Indexer
from app.documentation.memory_store import MemoryPassages
from app.documentation.suite_runs import PassageRetriever, SuiteAsk, SuiteReport, run_suite
from app.documentation.suites import read_suite
from tests.fakes.embedding_server import FakeEmbeddingServer
from tests.fixtures.rag import CORPUS, MODEL, SUITE, words_config, words_server


@pytest.fixture(scope="module")
def server() -> Iterator[FakeEmbeddingServer]:
    with words_server() as running:
        yield running


@pytest.fixture
def config(database: str, tmp_path: Path, server: FakeEmbeddingServer) -> Config:
    server.reset()
    return words_config(database, tmp_path, server)


@pytest.fixture
def memory(server: FakeEmbeddingServer) -> MemoryPassages:
    return MemoryPassages(lambda texts: [list(map(float, server.vector(one))) for one in texts])


def fill(container: Container, memory: MemoryPassages, max_words: int) -> None:
    """The fixture corpus in both stores, cut alike; the vectors of one of them behind an index."""
    assert container.ingest is not None
    assert container.ai is not None
    container.ai.upkeep.set_up()
    plan = container.ingest.plan("default", CORPUS, "*.md", max_words=max_words)
    container.ingest.run(plan)
    assert container.documentation is not None
    Indexer(memory, container.documentation.indexer._window).apply(container.units, plan.planned)
    container.ai.catch_up.entity("documentation.named")
    container.ai.upkeep.build_missing_indexes()


@pytest.mark.parametrize("max_words", [250, 25])
@pytest.mark.parametrize("k", [4, 10])
def test_the_stores_agree_on_the_suite(container: Container, memory: MemoryPassages, max_words: int, k: int) -> None:
    fill(container, memory, max_words)
    assert container.documentation is not None
    suite = read_suite("suite", SUITE.read_text(encoding="utf-8"))

    def report(store: object) -> SuiteReport:
        retriever = PassageRetriever(container.units, store, container.vectors)  # type: ignore[arg-type]
        return run_suite(suite, SuiteAsk("default", k), retriever, MODEL)

    stored, scanned = report(container.documentation.indexer.passages), report(memory)
    for name, value in stored.metrics.items():
        assert value == pytest.approx(scanned.metrics[name], abs=5e-5), name
    for ours, exact in zip(stored.results, scanned.results, strict=True):
        assert [chunk.source for chunk in ours.chunks] == [chunk.source for chunk in exact.chunks], ours.case.id
        assert [chunk.text for chunk in ours.chunks] == [chunk.text for chunk in exact.chunks], ours.case.id
        assert [chunk.score for chunk in ours.chunks] == pytest.approx([c.score for c in exact.chunks], abs=1e-5)
        assert len(ours.chunks) == k


def test_a_corpus_of_two_models_is_not_evaluated(container: Container, memory: MemoryPassages) -> None:
    from app.core.errors import Unavailable

    fill(container, memory, 250)
    with container.units() as unit:
        unit.session.execute(
            text(
                """insert into vector_spaces (model_key, fingerprint, dimensions, similarity, declaration,
                    server_identity)
                select 'openai_compatible:other', 'other', dimensions, similarity, declaration, server_identity
                from vector_spaces"""
            )
        )
        unit.session.execute(
            text(
                """update embeddings set space_id = (select id from vector_spaces where fingerprint = 'other')
                where record_id = (select min(record_id) from embeddings)"""
            )
        )
    assert container.documentation is not None
    suite = read_suite("suite", SUITE.read_text(encoding="utf-8"))
    retriever = PassageRetriever(container.units, container.documentation.indexer.passages, container.vectors)
    with pytest.raises(Unavailable) as caught:
        run_suite(suite, SuiteAsk("default"), retriever, MODEL)
    assert caught.value.code == "documentation.mixed_models"
    assert {MODEL, "openai_compatible:other"} <= set(caught.value.values.values())
