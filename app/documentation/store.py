"""Queries of documentation pages. Every function runs in the caller's session."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, cast, literal, or_, select, text, true
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session

from app.documentation.audience import CLASSIFICATION, CLASSIFICATION_VERSION, USER_AUDIENCES, Reach
from app.documentation.models import DocumentationPage, DocumentationText


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


def every_text(session: Session) -> list[tuple[str, str, datetime, DocumentationText]]:
    """Every stored text with the corpus, source and time of its page."""
    statement = (
        select(DocumentationPage.corpus, DocumentationPage.source, DocumentationPage.updated_at, DocumentationText)
        .join(DocumentationText, DocumentationText.page_id == DocumentationPage.id)
        .order_by(DocumentationPage.corpus, DocumentationPage.source, DocumentationText.locale)
    )
    return [(corpus, source, at, found) for corpus, source, at, found in session.execute(statement)]


def texts_within(
    session: Session, reach: Reach, visible: ColumnElement[bool], ids: Sequence[int]
) -> list[tuple[DocumentationPage, DocumentationText]]:
    """The texts, among those of the pages ``ids``, that the caller's rows and the policy of documents reach."""
    statement = (
        select(DocumentationPage, DocumentationText)
        .join(DocumentationText, DocumentationText.page_id == DocumentationPage.id)
        .where(DocumentationPage.id.in_(ids), DocumentationPage.corpus == reach.corpus, visible, _within(reach))
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
    if reach.corpus == "user":
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
