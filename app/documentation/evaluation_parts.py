"""Builds what evaluates and ingests from what the container hands in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from app.core.contracts.actor import SYSTEM
from app.core.contracts.vectors import VectorSearch
from app.core.unit import Units
from app.documentation.answering import Answering
from app.documentation.evaluations import Evaluations
from app.documentation.indexer import Indexer
from app.documentation.ingest import Ingest
from app.documentation.runs.service import Runs
from app.documentation.suite_runs import AnswerRetriever, PassageRetriever, RetrievalName, Retriever


class Embedded(Protocol):
    """How far the vectors are. Absence: there is no embedding package."""

    def serving(self, session: Any) -> str | None:
        """The model that answers now; None before the first."""
        ...

    def waiting(self, session: Any, entity: str) -> int:
        """Texts of an entity without vectors of that model."""
        ...


class NothingEmbedded:
    """The :class:`Embedded` of an installation without models."""

    def serving(self, session: Any) -> str | None:
        return None

    def waiting(self, session: Any, entity: str) -> int:
        return 0


def build(
    units: Units,
    indexer: Indexer,
    answering: Answering,
    vectors: VectorSearch | None,
    embedded: Embedded | None,
    commits: Sequence[str | None],
) -> tuple[Evaluations, Ingest]:
    """``commits`` are what the environment says of the commit that runs."""
    how_far = embedded or NothingEmbedded()
    retrievers: dict[RetrievalName, Retriever] = {
        "passages": PassageRetriever(units, indexer.passages, vectors),
        "answers": AnswerRetriever(answering.retrieval, SYSTEM, vectors),
    }
    runs = Runs(Path.cwd(), commits)
    evaluations = Evaluations(units, runs, retrievers, how_far.serving, how_far.waiting)
    return evaluations, Ingest(units, indexer, how_far.serving)
