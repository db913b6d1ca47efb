"""Queries of contents that the generic record queries can't say."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import and_, exists, or_, select
from sqlalchemy.orm import Session

from app.cms.models import Content, ContentTranslation
from app.core.documents.models import SearchDocument


def whose_validity_crossed(session: Session, entity: str, now: datetime, limit: int) -> list[Content]:
    """At most ``limit`` contents that are searchable and have no document, or have one and are no longer valid.

    The rows are locked; those that somebody edits right now are left to the next time, since the edit applies the
    same rule.
    """
    indexed = exists().where(SearchDocument.entity == entity, SearchDocument.record_id == Content.id)
    filled = exists().where(
        ContentTranslation.content_id == Content.id,
        or_(ContentTranslation.title != "", ContentTranslation.body != ""),
    )
    begun = or_(Content.valid_from.is_(None), Content.valid_from <= now)
    goes_on = or_(Content.valid_to.is_(None), Content.valid_to > now)
    searchable = and_(Content.status == "published", Content.deleted_at.is_(None), begun, goes_on)
    statement = (
        select(Content)
        .where(or_(and_(searchable, filled, ~indexed), and_(~searchable, indexed)))
        .order_by(Content.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
        .execution_options(populate_existing=True)
    )
    return list(session.scalars(statement))
