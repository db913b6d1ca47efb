"""The :class:`~app.core.contracts.passages.PassageSearch` of the product: single passages, and mixed corpora."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import structlog
from sqlalchemy.orm import Session

from app.core.contracts.conditions import Filter
from app.core.contracts.passages import Mixture
from app.core.contracts.vectors import PassageHit, QueryVector
from app.core.elasticsearch.reading import Reader
from app.core.errors import Unavailable
from app.core.registry import Registry
from app.embeddings import mixture_store, store
from app.embeddings.indexes import pgvector_query
from app.embeddings.indexes.elasticsearch import ElasticsearchPassages, Short
from app.embeddings.indexes.elasticsearch_single import ElasticsearchSingle
from app.embeddings.indexes.pgvector_nearest import hit_of
from app.embeddings.indexes.ports import Lookup, Rows
from app.embeddings.query import CompileFilter, target_of

log = structlog.get_logger(__name__)


class PassageQueries:
    """Safe for threads."""

    def __init__(self, compile_filter: CompileFilter) -> None:
        self._compile = compile_filter
        self._elasticsearch: ElasticsearchSingle | None = None
        self._is_chosen: Callable[[Session], bool] = lambda session: False

    def also_from(self, reader: Reader, registry: Registry, is_chosen: Callable[[Session], bool]) -> None:
        """Ask Elasticsearch while it is the chosen engine; PostgreSQL's vectors answer whenever it can't."""
        self._elasticsearch = ElasticsearchSingle(ElasticsearchPassages(reader, registry))
        self._is_chosen = is_chosen

    def passages(
        self, session: Session, query: QueryVector, scope: Mapping[str, Filter | None], locale: str | None, limit: int
    ) -> list[PassageHit]:
        """From the index, and read whole where it comes back short of the limit (`search-measured.md` 4)."""
        target = target_of(session, query)
        rows = {entity: self._compile(entity, tree) for entity, tree in scope.items()}
        if self._elasticsearch is not None and self._is_chosen(session):
            filters = {entity: Rows(scope[entity], condition) for entity, condition in rows.items()}
            try:
                return self._elasticsearch.passages(session, Lookup(target, query.vector, filters, locale, limit))
            except Short:
                pass
            except Unavailable as error:
                log.warning("documentation_passages_from_postgres", code=error.code, space=target.space_id)
        pgvector_query.prepare(session, min(limit, pgvector_query.SCAN_LIMIT))
        found = pgvector_query.passages(
            session, target, query.vector, rows, locale, limit, exact=limit > pgvector_query.SCAN_LIMIT
        )
        if len(found) < limit:
            found = pgvector_query.passages(session, target, query.vector, rows, locale, limit, exact=True)
        return [hit_of(target, row) for row in found[:limit]]

    def mixture(self, session: Session, entities: Sequence[str]) -> Mixture | None:
        """See the contract; next to free while every space is known to serve, to be a target, or to be kept."""
        serving = store.serving(session)
        if serving is None:
            return None
        other = mixture_store.other_model(session, serving.space_id, entities)
        return None if other is None else Mixture(serving.model_key, other)


def serving_window(session: Session) -> int | None:
    """The tokens that a passage of the serving model may have; None before the first serves."""
    serving = store.serving(session)
    return None if serving is None else store.space(session, serving.space_id).profile.window
