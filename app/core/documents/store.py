"""Queries of the searchable texts and of the index events. Every function runs in the caller's session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import BindParameter, ClauseElement, bindparam, delete, func, select, tuple_
from sqlalchemy import insert as plain_insert
from sqlalchemy.dialects.postgresql import Insert, insert
from sqlalchemy.orm import Session
from sqlalchemy.sql import visitors

from app.core.contracts.documents import Document
from app.core.documents.models import IndexEvent, SearchDocument
from app.core.documents.text import clean_text, is_embeddable, text_hash

KEY = ("entity", "record_id", "locale")


def upsert(session: Session, document: Document, words: Mapping[str, Any]) -> None:
    """Write one document, cleaned and capped; ``words`` are the engine's own columns."""
    values = _columns(document, words)
    statement = insert(SearchDocument).values(
        entity=document.entity, record_id=document.record_id, locale=document.locale, **values
    )
    session.execute(
        statement.on_conflict_do_update(index_elements=KEY, set_={**values, "updated_at": func.clock_timestamp()})
    )


def upsert_many(session: Session, rows: Sequence[tuple[Document, Mapping[str, Any]]]) -> None:
    """`upsert` for many documents, as one statement per shape of the engine's expressions, executed for all of them.

    One statement with the values of all rows would be compiled anew each time, at three times the cost (measured on
    1,500 documents).
    """
    shapes: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for item, words in rows:
        values = {"entity": item.entity, "record_id": item.record_id, "locale": item.locale, **_columns(item, words)}
        shapes.setdefault(_shape(values), []).append(values)
    for alike in shapes.values():
        session.connection().execute(_upsert_like(alike[0]), [_parameters(values) for values in alike])


def _shape(values: Mapping[str, Any]) -> tuple[Any, ...]:
    """Equal for rows that differ in values only: column names, and what their expressions are made of."""
    return tuple((name, *map(_kind, _parts(value))) for name, value in values.items())


def _parts(value: Any) -> list[Any]:
    return list(visitors.iterate(value)) if isinstance(value, ClauseElement) else []


def _kind(part: Any) -> tuple[Any, ...]:
    """What one part of an expression is; a value is any value (the names of values are random)."""
    if isinstance(part, BindParameter):
        return ("value",)
    return part.__visit_name__, getattr(part, "name", ""), getattr(part, "text", "")


def _values_in(expression: ClauseElement) -> list[BindParameter[Any]]:
    return [part for part in _parts(expression) if isinstance(part, BindParameter)]


def _upsert_like(values: Mapping[str, Any]) -> Insert:
    """The statement of rows shaped like ``values``, with a named parameter in place of each value."""
    columns: dict[str, Any] = {}
    for name, value in values.items():
        if not isinstance(value, ClauseElement):
            columns[name] = bindparam(f"{name}_", type_=SearchDocument.__table__.c[name].type)
            continue
        named = {id(part): bindparam(f"{name}_{n}", type_=part.type) for n, part in enumerate(_values_in(value))}
        columns[name] = _replaced(value, named)
    statement = insert(SearchDocument).values(columns)
    changed: dict[str, Any] = {name: statement.excluded[name] for name in values if name not in KEY}
    changed["updated_at"] = func.clock_timestamp()
    return statement.on_conflict_do_update(index_elements=KEY, set_=changed)


def _replaced(expression: Any, named: Mapping[int, BindParameter[Any]]) -> Any:
    """``expression`` with each value exchanged for its named parameter."""
    exchange: Any = lambda part, **kw: named.get(id(part))  # noqa: E731 - the library's protocol takes no plain def
    return visitors.replacement_traverse(expression, {}, exchange)


def _parameters(values: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, ClauseElement):
            found |= {f"{name}_{n}": part.effective_value for n, part in enumerate(_values_in(value))}
        else:
            found[f"{name}_"] = value
    return found


def _columns(document: Document, words: Mapping[str, Any]) -> dict[str, Any]:
    title, body = clean_text(document.title, 1000), clean_text(document.body)
    return {
        "title": title,
        "body": body,
        "text_hash": text_hash(title, body, document.parts),
        "parts": [list(part) for part in document.parts],
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
