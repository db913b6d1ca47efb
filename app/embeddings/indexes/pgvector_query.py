"""The SQL of nearest neighbours, on the partial indexes of `pgvector.py`.

Space, entity and length stand in the statement as literals: as parameters of a generic plan the partial index is not
used (`postgres.md`: 20 ms instead of 0.5). One arm per entity, for the same reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from pgvector.sqlalchemy import Vector
from sqlalchemy import (
    ColumnElement,
    Float,
    Integer,
    Select,
    String,
    and_,
    bindparam,
    cast,
    exists,
    literal_column,
    select,
    true,
    union_all,
)
from sqlalchemy.orm import Session, aliased

from app.core.documents.models import SearchDocument
from app.core.prepared_store import Prepared, prepared
from app.core.recent import Recent
from app.core.unit import BEGUN
from app.embeddings.indexes.pgvector import operator
from app.embeddings.indexes.ports import Target
from app.embeddings.models import Embedding

SCAN_LIMIT = 1000
"""The largest `hnsw.ef_search`."""


def settings(window: int) -> str:
    """Of a transaction for scans of a window (`known-bugs.md` 28)."""
    effort = min(max(int(window), 40), SCAN_LIMIT)
    return f"set local hnsw.ef_search = {effort}; set local hnsw.iterative_scan = 'strict_order'"


def prepare(session: Session, window: int) -> None:
    """Send :func:`settings`, unless the transaction began with them."""
    wanted = settings(window)
    if wanted not in session.info.get(BEGUN, ""):
        session.connection().exec_driver_sql(wanted)


def passages(
    session: Session,
    target: Target,
    vector: Sequence[float],
    scope: Mapping[str, ColumnElement[bool]],
    locale: str | None,
    limit: int,
    *,
    exact: bool = False,
) -> Sequence[Any]:
    """The ``limit`` nearest passages of each entity of ``scope`` (its row filter on `search_documents`).

    Rows have entity, record_id, locale, start, end, current and distance, nearest first, ties by entity, id, locale
    and passage. ``exact`` reads every vector in scope instead of the index.
    """
    statement = _kept(session, target, scope, locale is not None, exact)
    bound = {"asked": written(vector), "place": locale, "most": limit}
    return statement.tuples(session, {name: value for name, value in bound.items() if value is not None})


def written(vector: Sequence[float]) -> str:
    """As pgvector reads it: a list of numbers would become an array first, number by number.

    Nine digits tell all numbers of single precision apart, and no others are stored. A search asks more than once, and
    so does who turns a page.
    """
    return _written(tuple(vector))


@lru_cache(maxsize=256)
def _written(vector: tuple[float, ...]) -> str:
    return f"[{','.join([f'{number:.9g}' for number in vector])}]"


_STATEMENTS: Recent[object, tuple[Prepared, Mapping[str, ColumnElement[bool]]]] = Recent(256)
"""Statements by where they look. To put one together takes longer than to run it; the vector, the locale and the limit
are bound to it. Its conditions are held with it, so that no other can have the same ``id`` meanwhile."""


def _kept(
    session: Session, target: Target, scope: Mapping[str, ColumnElement[bool]], localised: bool, exact: bool
) -> Prepared:
    def make() -> tuple[Prepared, Mapping[str, ColumnElement[bool]]]:
        return prepared(session.connection(), _statement(target, scope, localised, exact)), dict(scope)

    key = (target, localised, exact, tuple((entity, id(condition)) for entity, condition in scope.items()))
    return _STATEMENTS.of(key, make)[0]


def _statement(target: Target, scope: Mapping[str, ColumnElement[bool]], localised: bool, exact: bool) -> Select[Any]:
    arms = [select(_arm(target, entity, condition, localised, exact).subquery()) for entity, condition in scope.items()]
    near = union_all(*arms).subquery("near")
    document = aliased(SearchDocument)
    c = near.c
    return (
        select(
            c.entity,
            c.record_id,
            c.locale,
            c.start,
            c.end,
            (document.text_hash == c.text_hash).label("current"),
            c.distance,
        )
        .join(
            document,
            and_(document.entity == c.entity, document.record_id == c.record_id, document.locale == c.locale),
        )
        .order_by(c.distance, c.entity, c.record_id, c.locale, c.n)
    )


def _arm(target: Target, entity: str, condition: ColumnElement[bool], localised: bool, exact: bool) -> Select[Any]:
    distance = distance_to(target)
    order = distance + literal_column("0", Float) if exact else distance
    return (
        select(
            Embedding.entity,
            Embedding.record_id,
            Embedding.locale,
            Embedding.n,
            Embedding.start,
            Embedding.end,
            Embedding.text_hash,
            distance.label("distance"),
        )
        .where(
            Embedding.space_id == literal_column(str(int(target.space_id)), Integer),
            Embedding.entity == bindparam(None, entity, String, literal_execute=True),
            _visible(condition),
            has_locale() if localised else true(),
        )
        .order_by(order)
        .limit(bindparam("most", None, Integer))
    )


def distance_to(target: Target) -> ColumnElement[Any]:
    """From a stored vector to the one that is bound to ``asked``, in the operator's own measure."""
    length = int(target.dimensions)
    distance: ColumnElement[Any] = literal_column(f"(embeddings.embedding::vector({length}))").op(
        operator(target.similarity), return_type=Float()
    )(cast(bindparam("asked", None, String), Vector(length)))
    return distance


def _visible(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    if condition.compare(true()):
        return true()
    return (
        exists()
        .where(
            SearchDocument.entity == Embedding.entity,
            SearchDocument.record_id == Embedding.record_id,
            SearchDocument.locale == Embedding.locale,
            condition,
        )
        .correlate(Embedding)
    )


def has_locale() -> ColumnElement[bool]:
    """That the record of a passage has a text in the locale that is bound to ``place``."""
    other = aliased(SearchDocument)
    return (
        exists()
        .where(
            other.entity == Embedding.entity,
            other.record_id == Embedding.record_id,
            other.locale == bindparam("place", None, String),
        )
        .correlate(Embedding)
    )
