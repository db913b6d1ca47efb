"""What is searchable. Record services write it in their own unit of work; search and embeddings read it.

Absence: a record without a document is not searchable at all, and its vectors are gone with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Document:
    """The searchable text of one record in one locale (cleaned and capped by `core/documents/text.py` when stored).

    ``parts`` says where passages must begin, when the author of the text knows: offsets in the cleaned ``body``, in
    order, each with the headings that it stands under. None: the embedder cuts as it sees fit.
    """

    entity: str
    record_id: int
    locale: str
    title: str
    body: str
    revision: int
    parts: tuple[tuple[int, str], ...] = ()


class WordColumns(Protocol):
    """Answered by the engine in use: the values of its own columns of `search_documents` for one document."""

    def values(self, document: Document) -> Mapping[str, Any]:
        """Column name to value or SQL expression, written with the row itself."""
        ...


class DocumentIndex(Protocol):
    """Called by record services inside their unit; leaves an index event in the same transaction."""

    def put(self, unit: Any, entity: str, record_id: int, documents: Sequence[Document]) -> None:
        """Make ``documents`` all that is searchable of the record; locales that are not among them go away."""
        ...

    def put_many(self, unit: Any, entity: str, items: Mapping[int, Sequence[Document]]) -> None:
        """`put` for many records in a few statements; a record without documents is removed."""
        ...

    def remove(self, unit: Any, entity: str, record_id: int) -> None:
        """The record is deleted, hidden or no longer valid: nothing of it is findable once the unit commits."""
        ...
