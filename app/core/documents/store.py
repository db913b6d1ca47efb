"""Queries of the searchable texts and of the index events. Every function runs in the caller's session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import delete, select, tuple_
from sqlalchemy import insert as plain_insert
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.core.contracts.documents import Document
from app.core.documents.models import IndexEvent, SearchDocument
from app.core.documents.text import clean_text, is_embeddable, text_hash

KEY = ("entity", "record_id", "locale")
CHUNK = 500


def upsert(session: Session, document: Document, words: Mapping[str, Any]) -> None:
    """Write one document, cleaned and capped; ``words`` are the engine's own columns."""
    values = _columns(document, words)
    statement = insert(SearchDocument).values(
        entity=document.entity, record_id=document.record_id, locale=document.locale, **values
    )
    session.execute(
        statement.on_conflict_do_update(index_elements=["entity", "record_id", "locale"], set_=values)
    )


def upsert_many(session: Session, rows: Sequence[tuple[Document, Mapping[str, Any]]]) -> None:
    """`upsert` for many documents with the same columns in one statement per 500 of them."""
    for start in range(0, len(rows), CHUNK):
        part = [
            {"entity": item.entity, "record_id": item.record_id, "locale": item.locale, **_columns(item, words)}
            for item, words in rows[start : start + CHUNK]
        ]
        statement = insert(SearchDocument).values(part)
        changed = {name: statement.excluded[name] for name in part[0] if name not in KEY}
        session.execute(statement.on_conflict_do_update(index_elements=KEY, set_=changed))


def _columns(document: Document, words: Mapping[str, Any]) -> dict[str, Any]:
    title, body = clean_text(document.title, 1000), clean_text(document.body)
    return {
        "title": title,
        "body": body,
        "text_hash": text_hash(title, body),
        "embeddable": is_embeddable(title, body),
        "cut": len(document.body) > len(body) + 1000,
        "revision": document.revision,
        **words,
    }


def present(session: Session, entity: str, record_ids: Sequence[int]) -> set[tuple[int, str]]:
    """(record id, locale) of what is searchable now of these records."""
    found = session.execute(
        select(SearchDocument.record_id, SearchDocument.locale).where(
            SearchDocument.entity == entity, SearchDocument.record_id.in_(record_ids)
        )
    )
    return {(record_id, locale) for record_id, locale in found}


def delete_documents(session: Session, entity: str, gone: set[tuple[int, str]]) -> None:
    """Remove documents by (record id, locale); their vectors go with them."""
    if gone:
        key = tuple_(SearchDocument.record_id, SearchDocument.locale)
        session.execute(delete(SearchDocument).where(SearchDocument.entity == entity, key.in_(sorted(gone))))


def locales(session: Session, entity: str, record_id: int) -> set[str]:
    """The locales in which the record is searchable now."""
    found = session.scalars(
        select(SearchDocument.locale).where(SearchDocument.entity == entity, SearchDocument.record_id == record_id)
    )
    return set(found)


def delete_locales(session: Session, entity: str, record_id: int, gone: set[str]) -> None:
    """Remove documents; their vectors under every model go with them (foreign key, cascade)."""
    session.execute(
        delete(SearchDocument).where(
            SearchDocument.entity == entity, SearchDocument.record_id == record_id, SearchDocument.locale.in_(gone)
        )
    )


def add_event(session: Session, entity: str, record_id: int, revision: int) -> None:
    """Leave an index event; its ``xid`` is this transaction's."""
    session.add(IndexEvent(entity=entity, record_id=record_id, revision=revision))


def add_events(session: Session, entity: str, revisions: Mapping[int, int]) -> None:
    """Leave one index event per record id with its revision."""
    if revisions:
        rows = [{"entity": entity, "record_id": key, "revision": revision} for key, revision in revisions.items()]
        session.execute(plain_insert(IndexEvent), rows)
