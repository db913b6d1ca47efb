"""The nearest records from Elasticsearch: passages are nested in the record's document, so that kNN gives distinct
records; PostgreSQL looks at every hit.

The index proposes records; which of their passages still stand, may be seen, and how near they really are is read in
the search's own snapshot. So a stale index shows nothing that the list would not, and similarities are PostgreSQL's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Integer,
    Select,
    Text,
    and_,
    bindparam,
    cast,
    column,
    func,
    literal_column,
    or_,
    select,
    true,
)
from sqlalchemy.orm import Session

from app.core.access import policy
from app.core.contracts.vectors import PassageHit
from app.core.documents.models import SearchDocument
from app.core.elasticsearch.fields import filter_fields
from app.core.elasticsearch.filters import NONE, Compiler, Query, both, either
from app.core.elasticsearch.names import PASSAGES, vector_field
from app.core.elasticsearch.reading import Reader
from app.core.locale import LOCALES
from app.core.registry import Registry
from app.embeddings.indexes.pgvector_nearest import hit_of
from app.embeddings.indexes.pgvector_query import distance_to, has_locale, written
from app.embeddings.indexes.ports import Lookup, Rows, Target
from app.embeddings.models import Embedding

WIDENED = (1, 4, 16)
"""So many times the window is asked for while PostgreSQL lets less than a window pass."""
ASKED = 2
"""So many times as many records are asked for as wanted: quantized vectors order the last of them roughly. Of the 200
records that are exactly nearest 198.1 come with 1, 199.5 with 2 (5,000 vectors of 384 numbers)."""
CANDIDATES = 10
"""Of each record wanted (`search-measured.md` 4)."""
LIMIT = 10_000
"""Elasticsearch's own, for candidates and for results."""

Record = tuple[str, int]
"""(entity, record id)."""


class Short(Exception):
    """The index can't show that there are no more records in scope: read them all."""


class ElasticsearchPassages:
    """The :class:`~app.embeddings.indexes.ports.PassageIndex` on Elasticsearch; may raise :class:`Short`, too."""

    def __init__(self, reader: Reader, registry: Registry) -> None:
        self._reader = reader
        self._registry = registry

    def nearest(self, session: Session, lookup: Lookup) -> list[PassageHit]:
        """See :meth:`app.embeddings.indexes.ports.PassageIndex.nearest`."""
        for times in WIDENED:
            proposed, more = self.proposed(session, lookup, lookup.window * times)
            hits = ordered(lookup.target, checked(session, lookup, proposed))
            if len(hits) >= lookup.window or not more:
                return hits[: lookup.window]
        raise Short

    def proposed(self, session: Session, lookup: Lookup, wanted: int) -> tuple[list[Record], bool]:
        """The nearest records as the index has them, more than ``wanted``; and whether there may be more of them."""
        k = min(wanted * ASKED, LIMIT)
        candidates = min(max(wanted * CANDIDATES, k), LIMIT)
        found: set[Record] = set()
        more = False
        for one in self._filters(lookup.scope, lookup.locale):
            body = knn_body(lookup.target, lookup.vector, one, k, candidates)
            answer = self._reader.search(session, tuple(lookup.scope), body, lookup.seconds())
            records = [_read(hit) for hit in answer["hits"]["hits"]]
            found |= set(records)
            more = more or len(records) == k
        return sorted(found), more

    def _filters(self, scope: Mapping[str, Rows], locale: str | None) -> list[Query]:
        """One filter, or one for the passages of each locale where the rows differ by it.

        They stand flat inside the kNN, those on passages too: wrapped in ``nested`` they let the wrong passages through
        (`search-measured.md` 9), and mixed with those on records inside one group they would mean neither.
        """
        by_locale = {code: self._rows(scope, code) for code in LOCALES}
        translated: Query | None = None if locale is None else {"term": {"locales": locale}}
        different = any(rows != next(iter(by_locale.values())) for rows in by_locale.values())
        found: list[Query] = []
        for code, rows in by_locale.items():
            own: Query | None = {"term": {f"{PASSAGES}.locale": code}} if different else None
            parts = [part for part in (rows, translated, own) if part is not None]
            if NONE not in parts and (different or not found):
                found.append({"filter": parts})
        return found

    def _rows(self, scope: Mapping[str, Rows], code: str) -> Query:
        parts = []
        for name, rows in scope.items():
            entity = self._registry.get(name)
            compiler = Compiler(name, code, filter_fields(entity), policy.condition_columns(entity))
            parts.append(both([{"term": {"entity": name}}, compiler(rows.tree)]))
        return either(parts)


def knn_body(target: Target, vector: Sequence[float], filters: Query, k: int, candidates: int) -> dict[str, Any]:
    """The ``k`` nearest records. Their best passages are not asked for: inner hits take four times as long as all else,
    and of few visible records they named the wrong passage for 7 in 100."""
    return {
        "knn": {
            "field": vector_field(target.space_id),
            "query_vector": list(vector),
            "k": k,
            "num_candidates": candidates,
            **filters,
        },
        "size": k,
        "_source": False,
        "docvalue_fields": ["entity", "record_id"],
        "track_total_hits": False,
    }


def _read(hit: Mapping[str, Any]) -> Record:
    record = hit["fields"]
    return str(record["entity"][0]), int(record["record_id"][0])


class _Looked(NamedTuple):
    """The best passage of a proposed record, as PostgreSQL has it."""

    entity: str
    record_id: int
    locale: str
    start: int
    end: int
    current: bool
    distance: float


def checked(session: Session, lookup: Lookup, proposed: Sequence[Record], each: int = 1) -> list[_Looked]:
    """Of each proposed record the nearest ``each`` passages that may be seen in the snapshot."""
    if not proposed:
        return []
    bound = {
        "each": each,
        "asked": written(lookup.vector),
        "entities": [one[0] for one in proposed],
        "ids": [one[1] for one in proposed],
        **({} if lookup.locale is None else {"place": lookup.locale}),
    }
    rows = session.execute(_statement(lookup.target, lookup.scope, lookup.locale is not None), bound)
    return [_Looked(*row) for row in rows]


def _statement(target: Target, scope: Mapping[str, Rows], localised: bool) -> Select[Any]:
    arrays = func.unnest(cast(bindparam("entities"), ARRAY(Text)), cast(bindparam("ids"), ARRAY(BigInteger)))
    columns = column("entity", Text), column("record_id", BigInteger)
    key = arrays.table_valued(*columns).render_derived(name="k")
    distance = distance_to(target)
    document = SearchDocument
    here = and_(
        document.entity == Embedding.entity,
        document.record_id == Embedding.record_id,
        document.locale == Embedding.locale,
    )
    visible = or_(*(and_(document.entity == entity, rows.condition) for entity, rows in scope.items()))
    current = document.text_hash == Embedding.text_hash
    passage = (
        select(Embedding.locale, Embedding.start, Embedding.end, current.label("current"), distance.label("distance"))
        .join(document, here)
        .where(
            Embedding.entity == key.c.entity,
            Embedding.record_id == key.c.record_id,
            Embedding.space_id == literal_column(str(int(target.space_id)), Integer),
            visible,
            has_locale() if localised else true(),
        )
        .order_by(distance, Embedding.locale, Embedding.n)
        .limit(bindparam("each", type_=Integer))
        .lateral("passage")
    )
    c = passage.c
    return select(key.c.entity, key.c.record_id, c.locale, c.start, c.end, c.current, c.distance).select_from(
        key.join(passage, true())
    )


def ordered(target: Target, rows: Sequence[_Looked]) -> list[PassageHit]:
    """Best first, ties by entity, id, locale and place."""
    return [
        hit_of(target, row)
        for row in sorted(rows, key=lambda row: (row.distance, row.entity, row.record_id, row.locale, row.start))
    ]
