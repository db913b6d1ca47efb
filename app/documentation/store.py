"""Queries of documentation pages. Every function runs in the caller's session."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, cast, delete, func, literal, or_, select, text, true, tuple_
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session

from app.documentation.audience import CLASSIFICATION, CLASSIFICATION_VERSION, USER_AUDIENCES, Reach
from app.documentation.models import (
    DocumentationCollection,
    DocumentationFault,
    DocumentationPage,
    DocumentationPassage,
    DocumentationText,
)


def one_indexer(session: Session, corpus: str) -> None:
    """Wait until no other unit indexes this corpus; held until the unit ends."""
    session.execute(text("select pg_advisory_xact_lock(hashtextextended(:name, 0))"), {"name": f"documents {corpus}"})


def pages_of(session: Session, corpus: str, sources: Sequence[str]) -> dict[str, DocumentationPage]:
    """Pages by source, of those asked for."""
    statement = select(DocumentationPage).where(
        DocumentationPage.corpus == corpus, DocumentationPage.source.in_(sources)
    )
    return {page.source: page for page in session.scalars(statement.order_by(DocumentationPage.id).with_for_update())}


def all_pages(session: Session, corpus: str, visible: ColumnElement[bool]) -> list[DocumentationPage]:
    """The visible pages of the corpus in the order of their sources."""
    statement = select(DocumentationPage).where(DocumentationPage.corpus == corpus, visible)
    return list(session.scalars(statement.order_by(DocumentationPage.source)))


def find(session: Session, corpus: str, source: str, visible: ColumnElement[bool]) -> DocumentationPage | None:
    """One page, when it is visible."""
    statement = select(DocumentationPage).where(
        DocumentationPage.corpus == corpus, DocumentationPage.source == source, visible
    )
    return session.scalars(statement).one_or_none()


@dataclass(frozen=True)
class TextLine:
    """What an overview tells of a stored text, without its words."""

    collection: str
    source: str
    locale: str
    title: str
    front_matter: Mapping[str, Any]
    content_hash: bytes
    splitter: str
    file: str
    updated_at: datetime
    passages: int


def text_lines(session: Session, collection: str) -> list[TextLine]:
    """Every stored text of a collection, by source and locale."""
    statement = (
        select(
            DocumentationPage.collection,
            DocumentationPage.source,
            DocumentationText.locale,
            DocumentationText.title,
            DocumentationText.front_matter,
            DocumentationText.content_hash,
            DocumentationText.splitter,
            DocumentationText.file,
            DocumentationPage.updated_at,
            select(func.count())
            .where(
                DocumentationPassage.page_id == DocumentationText.page_id,
                DocumentationPassage.locale == DocumentationText.locale,
            )
            .scalar_subquery(),
        )
        .join(DocumentationText, DocumentationText.page_id == DocumentationPage.id)
        .where(DocumentationPage.collection == collection)
        .order_by(DocumentationPage.source, DocumentationText.locale)
    )
    return [TextLine(*row) for row in session.execute(statement)]


def texts_within(
    session: Session, reach: Reach, visible: ColumnElement[bool], ids: Sequence[int]
) -> list[tuple[DocumentationPage, DocumentationText]]:
    """The texts, among those of the pages ``ids``, that the caller's rows and the policy of documents reach."""
    statement = (
        select(DocumentationPage, DocumentationText)
        .join(DocumentationText, DocumentationText.page_id == DocumentationPage.id)
        .where(DocumentationPage.id.in_(ids), DocumentationPage.collection == reach.corpus, visible, _within(reach))
        .order_by(DocumentationPage.id, DocumentationText.locale)
    )
    return [(page, found) for page, found in session.execute(statement)]


def _within(reach: Reach) -> ColumnElement[bool]:
    """The policy as a condition on a text's metadata (`seed-facts.md` 17.3); what is not declared does not pass."""
    metadata = DocumentationText.front_matter
    parts: list[ColumnElement[bool]] = [true()]
    if reach.module is not None:
        cross_cutting = metadata["cross_cutting_user"] == cast(literal(True, JSONB), JSONB)
        parts.append(or_(metadata["module"].astext == reach.module, cross_cutting))
    if reach.strict:
        parts += [
            DocumentationText.locale == reach.locale,
            metadata["locale"].astext == reach.locale,
            metadata["audience"].astext.in_(USER_AUDIENCES),
            metadata["policy_classification"].astext == CLASSIFICATION,
            metadata["policy_classification_version"].astext == CLASSIFICATION_VERSION,
            metadata["permissions_metadata_validated"] == cast(literal(True, JSONB), JSONB),
            _permitted(metadata, reach),
            _of_tenant(metadata, reach),
        ]
    return and_(*parts)


def _permitted(metadata: Any, reach: Reach) -> ColumnElement[bool]:
    if reach.permissions is None:
        return true()
    held = cast(literal(sorted(reach.permissions), JSONB), JSONB)
    return or_(
        metadata["required_permissions_count"].astext == "0", metadata["required_permissions"].contained_by(held)
    )


def _of_tenant(metadata: Any, reach: Reach) -> ColumnElement[bool]:
    everybody: ColumnElement[bool] = metadata["tenant_scope"].astext == "global"
    if reach.tenant is None:
        return everybody
    own = and_(metadata["tenant_scope"].astext == "tenant", metadata["tenant_id"].astext == reach.tenant)
    return or_(everybody, own)


# --- what an indexer reads and writes ----------------------------------------------------------------------------


def versions(session: Session, collection: str, sources: Sequence[str] | None) -> list[tuple[str, str, bytes, str]]:
    """(source, locale, content hash, splitter) of what is stored of a collection, or of these sources of it."""
    statement = (
        select(
            DocumentationPage.source,
            DocumentationText.locale,
            DocumentationText.content_hash,
            DocumentationText.splitter,
        )
        .join(DocumentationText, DocumentationText.page_id == DocumentationPage.id)
        .where(DocumentationPage.collection == collection)
    )
    if sources is not None:
        statement = statement.where(DocumentationPage.source.in_(sources))
    return [(source, locale, digest, splitter) for source, locale, digest, splitter in session.execute(statement)]


_ROWS = text(
    """
    insert into documentation_passages (page_id, locale, n, breadcrumb, body, start, "end", page)
    select page_id, locale, n, breadcrumb, body, start, "end", page from json_to_recordset(cast(:rows as json)) as r
        (page_id bigint, locale text, n int, breadcrumb text[], body text, start int, "end" int, page int)
    """
)
"""All in one statement: as many as there are rows took longer than all else of a batch but its words."""


def replace_passages(session: Session, texts: Sequence[tuple[int, str]], rows: Sequence[dict[str, Any]]) -> None:
    """Make ``rows`` all the passages of these texts (page and locale)."""
    key = tuple_(DocumentationPassage.page_id, DocumentationPassage.locale)
    session.execute(delete(DocumentationPassage).where(key.in_(texts)))
    if rows:
        session.execute(_ROWS, {"rows": json.dumps(rows, ensure_ascii=False)})


def passages_of(
    session: Session, texts: Sequence[tuple[int, str]]
) -> dict[tuple[int, str], list[DocumentationPassage]]:
    """The passages of texts, by page and locale, in order."""
    key = tuple_(DocumentationPassage.page_id, DocumentationPassage.locale)
    statement = select(DocumentationPassage).where(key.in_(texts)).order_by(DocumentationPassage.n)
    found: dict[tuple[int, str], list[DocumentationPassage]] = {}
    for passage in session.scalars(statement):
        found.setdefault((passage.page_id, passage.locale), []).append(passage)
    return found


def replace_faults(
    session: Session, collection: str, rows: Sequence[dict[str, Any]], answerable: Callable[[str], bool]
) -> None:
    """Make ``rows`` all the faults of ``answerable`` sources of a collection; one that was known keeps its time."""
    known: dict[tuple[str, str], datetime] = {}
    for fault in faults(session, collection):
        if answerable(fault.source):
            known[fault.file, fault.code] = fault.since
            session.delete(fault)
    session.flush()
    for row in rows:
        since = known.get((row["file"], row["code"]))
        session.add(DocumentationFault(collection=collection, **row, **({"since": since} if since else {})))


def faults(session: Session, collection: str | None = None) -> list[DocumentationFault]:
    """Files that were left out, of one collection or of all."""
    statement = select(DocumentationFault).order_by(DocumentationFault.collection, DocumentationFault.file)
    if collection is not None:
        statement = statement.where(DocumentationFault.collection == collection)
    return list(session.scalars(statement))


# --- named collections -------------------------------------------------------------------------------------------


def named_collections(session: Session) -> list[DocumentationCollection]:
    """All of them by name."""
    return list(session.scalars(select(DocumentationCollection).order_by(DocumentationCollection.name)))


def named_collection(session: Session, name: str, *, lock: bool = False) -> DocumentationCollection | None:
    """One of them; ``lock`` holds off others who would change it."""
    return session.get(DocumentationCollection, name, with_for_update={} if lock else None, populate_existing=True)


def counts(session: Session) -> dict[str, tuple[int, int, int]]:
    """(pages, texts, passages) by collection."""
    passages = (
        select(DocumentationPassage.page_id, DocumentationPassage.locale, func.count().label("passages"))
        .group_by(DocumentationPassage.page_id, DocumentationPassage.locale)
        .subquery()
    )
    statement = (
        select(
            DocumentationPage.collection,
            func.count(func.distinct(DocumentationPage.id)),
            func.count(DocumentationText.locale),
            func.coalesce(func.sum(passages.c.passages), 0),
        )
        .join(DocumentationText, DocumentationText.page_id == DocumentationPage.id)
        .outerjoin(
            passages,
            and_(passages.c.page_id == DocumentationText.page_id, passages.c.locale == DocumentationText.locale),
        )
        .group_by(DocumentationPage.collection)
    )
    return {name: (int(pages), int(texts), int(cut)) for name, pages, texts, cut in session.execute(statement)}
