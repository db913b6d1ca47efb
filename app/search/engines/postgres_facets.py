"""What the matching records are, counted: the same set that the total counts, and so the same cap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import CTE, func, inspect, select
from sqlalchemy.orm import Session, aliased

from app.core.documents.models import SearchDocument
from app.core.registry import Registry
from app.search.engines.ports import Facet

VALUES = 20
"""So many values of a field, the most frequent first."""


def facets(session: Session, found: CTE, registry: Registry, fields: Mapping[str, Sequence[str]]) -> list[Facet]:
    """Counts of the records of ``found`` (entity, record_id) by entity, by locale that they have, by declared field."""
    by_entity = session.execute(
        select(found.c.entity, func.count()).group_by(found.c.entity).order_by(func.count().desc(), found.c.entity)
    ).all()
    counted = [Facet("entity", None, tuple((name, count) for name, count in by_entity)), _locales(session, found)]
    for name, _ in by_entity:
        counted += [_field(session, found, registry, name, field) for field in fields.get(name, ())]
    return [one for one in counted if one.values]


def _locales(session: Session, found: CTE) -> Facet:
    document = aliased(SearchDocument)
    rows = session.execute(
        select(document.locale, func.count())
        .join(found, (document.entity == found.c.entity) & (document.record_id == found.c.record_id))
        .group_by(document.locale)
        .order_by(func.count().desc(), document.locale)
    )
    return Facet("locale", None, tuple((locale, count) for locale, count in rows))


def _field(session: Session, found: CTE, registry: Registry, entity: str, field: str) -> Facet:
    columns = inspect(registry.get(entity).model).columns
    value = columns[field]
    rows = session.execute(
        select(value, func.count())
        .join(found, (columns["id"] == found.c.record_id) & (found.c.entity == entity))
        .where(value.is_not(None), value != "")
        .group_by(value)
        .order_by(func.count().desc(), value)
        .limit(VALUES)
    )
    return Facet(field, entity, tuple((str(one), count) for one, count in rows))
