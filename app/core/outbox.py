"""Index events and their wake-ups, written in the same transaction as the change (`product.md`, decision 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.core.contracts.documents import Document, WordColumns
from app.core.documents import store
from app.core.documents.text import clean_text
from app.core.queue import DEFAULT
from app.core.unit import Unit

APPLY_SERVING = "jobs.index_events.apply_serving"


class NoWords:
    """The :class:`WordColumns` of an engine that keeps its words elsewhere: nothing to write with the row."""

    def values(self, document: Document) -> Mapping[str, Any]:
        return {}


class Outbox:
    """The :class:`~app.core.contracts.documents.DocumentIndex` of the product: one table that every engine follows."""

    def __init__(self, words: WordColumns) -> None:
        self.words = words

    def put(self, unit: Unit, entity: str, record_id: int, documents: Sequence[Document]) -> None:
        """Make ``documents`` all that is searchable of the record, and leave one event."""
        kept = _searchable(documents)
        for document in kept:
            store.upsert(unit.session, document, self.words.values(document))
        gone = store.locales(unit.session, entity, record_id) - {document.locale for document in kept}
        if gone:
            store.delete_locales(unit.session, entity, record_id, gone)
        self._event(unit, entity, record_id, max((document.revision for document in documents), default=0))

    def put_many(self, unit: Unit, entity: str, items: Mapping[int, Sequence[Document]]) -> None:
        """`put` for many records, in the order of their ids so that two writers never wait for each other in a ring."""
        kept = {record_id: _searchable(items[record_id]) for record_id in sorted(items)}
        present = store.present(unit.session, entity, list(kept))
        rows = [(document, self.words.values(document)) for documents in kept.values() for document in documents]
        store.upsert_many(unit.session, rows)
        written = {(document.record_id, document.locale) for document, _ in rows}
        store.delete_documents(unit.session, entity, present - written)
        changed = {record_id for record_id, _ in present | written}
        store.add_events(
            unit.session,
            entity,
            {key: max((document.revision for document in kept[key]), default=0) for key in sorted(changed)},
        )
        if changed:
            unit.wake(APPLY_SERVING, DEFAULT)

    def remove(self, unit: Unit, entity: str, record_id: int) -> None:
        """Nothing of the record is findable once the unit commits; deletes never wait for an embedder."""
        present = store.locales(unit.session, entity, record_id)
        if present:
            store.delete_locales(unit.session, entity, record_id, present)
            self._event(unit, entity, record_id, 0)

    def _event(self, unit: Unit, entity: str, record_id: int, revision: int) -> None:
        store.add_event(unit.session, entity, record_id, revision)
        unit.wake(APPLY_SERVING, DEFAULT)


def _searchable(documents: Sequence[Document]) -> list[Document]:
    """Those with anything left after cleaning, in the order in which their rows are locked."""
    kept = [document for document in documents if clean_text(document.title + document.body, 1000)]
    return sorted(kept, key=lambda document: document.locale)
