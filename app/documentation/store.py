"""Queries of documentation pages. Every function runs in the caller's session."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, select, text
from sqlalchemy.orm import Session

from app.documentation.models import DocumentationPage


def one_indexer(session: Session, corpus: str) -> None:
    """Wait until no other unit indexes this corpus; held until the unit ends."""
    session.execute(text("select pg_advisory_xact_lock(hashtextextended(:name, 0))"), {"name": f"documents {corpus}"})


def pages_of(session: Session, corpus: str, sources: Sequence[str]) -> dict[str, DocumentationPage]:
    """Pages by source, of those asked for."""
    statement = select(DocumentationPage).where(
        DocumentationPage.corpus == corpus, DocumentationPage.source.in_(sources)
    )
    return {page.source: page for page in session.scalars(statement.order_by(DocumentationPage.id).with_for_update())}


def sources_of(session: Session, corpus: str) -> set[str]:
    """Every stored source of the corpus."""
    return set(session.scalars(select(DocumentationPage.source).where(DocumentationPage.corpus == corpus)))


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
