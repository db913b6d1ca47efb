"""Passages in this process, and an exact scan over them: for tests, and for the check that the stores agree.

It does not roll back: what a unit wrote stays if the unit fails. Each source is swapped in one assignment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.contracts.conditions import Filter
from app.core.contracts.vectors import QueryVector
from app.core.errors import Unavailable
from app.documentation.audience import Reach, permits
from app.documentation.ports import Change, NearPassage, SourceText, Version

Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""Texts to vectors of one model, in order, as passages."""


class MemoryPassages:
    """The :class:`~app.documentation.ports.Passages` without a database; rows have no filter here."""

    name = "memory"

    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        self._texts: dict[str, dict[str, tuple[tuple[SourceText, NDArray[np.float64]], ...]]] = {}

    def lock(self, unit: Any, collection: str) -> None:
        """One process, one indexer."""

    def versions(
        self, unit: Any, collection: str, sources: Sequence[str] | None = None
    ) -> Mapping[str, Mapping[str, Version]]:
        return {
            source: {text.locale: Version(text.content_hash, text.splitter) for text, _ in texts}
            for source, texts in self._texts.get(collection, {}).items()
            if sources is None or source in sources
        }

    def replace(self, unit: Any, collection: str, changes: Mapping[str, Change]) -> None:
        stored = self._texts.setdefault(collection, {})
        for source, change in changes.items():
            made = [(text, self._vectors(text)) for text in change.texts]
            kept = [(text, vectors) for text, vectors in stored.get(source, ()) if text.locale in change.kept]
            stored[source] = (*kept, *made)

    def remove(self, unit: Any, collection: str, sources: Sequence[str]) -> None:
        for source in sources:
            self._texts.get(collection, {}).pop(source, None)

    def nearest(
        self, unit: Any, query: QueryVector, reach: Reach, rows: Filter | None, limit: int
    ) -> list[NearPassage]:
        """See the port. Raises :class:`ValueError` for a row filter, and :class:`Unavailable` as retrieval does."""
        if rows is not None:
            raise ValueError("the memory store knows no rows")
        asked = _unit_length(np.asarray([query.vector], dtype=np.float64))[0]
        found = [
            NearPassage(text.key, text.locale, text.title, text.metadata, passage, float(vector @ asked))
            for texts in self._texts.get(reach.corpus, {}).values()
            for text, vectors in texts
            if _within(text, reach)
            for passage, vector in zip(text.passages, vectors, strict=True)
        ]
        return sorted(found, key=lambda one: (-one.similarity, one.key.source, one.locale, one.passage.n))[:limit]

    def _vectors(self, text: SourceText) -> NDArray[np.float64]:
        if not text.passages:
            return np.zeros((0, 0))
        return _unit_length(np.asarray(self._embed([text.wording(one) for one in text.passages]), dtype=np.float64))


def _within(text: SourceText, reach: Reach) -> bool:
    """The policy in plain Python; a text that the policy must never have admitted stops the whole retrieval."""
    if reach.strict and text.metadata.get("permissions_metadata_validated") is not True:
        raise Unavailable("documentation.unavailable")
    return permits(text.metadata, reach)


def _unit_length(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths == 0, 1, lengths)
