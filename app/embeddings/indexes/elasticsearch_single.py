"""Single passages from Elasticsearch, where `elasticsearch.py` finds records: of each near record, its near passages.

PostgreSQL looks at every passage here, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from app.core.contracts.vectors import PassageHit
from app.embeddings.indexes.elasticsearch import ElasticsearchPassages, Short, checked, ordered
from app.embeddings.indexes.ports import Rows, Target


class ElasticsearchSingle:
    """The best ``limit`` passages are among the best ``limit`` passages of each of the best ``limit`` records."""

    def __init__(self, records: ElasticsearchPassages) -> None:
        self._records = records

    def passages(
        self,
        session: Session,
        target: Target,
        vector: Sequence[float],
        scope: Mapping[str, Rows],
        locale: str | None,
        limit: int,
    ) -> list[PassageHit]:
        """Best first, ties by entity, id, locale and place.

        Raises :class:`Short` when the index can't show that there are no more, and
        :class:`app.core.errors.Unavailable` when it can't answer.
        """
        proposed, more = self._records.proposed(session, target, vector, scope, locale, limit)
        found = ordered(target, checked(session, target, vector, proposed, scope, locale, limit))
        if len(found) < limit and more:
            raise Short
        return found[:limit]
