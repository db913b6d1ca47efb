"""Single passages from Elasticsearch, where `elasticsearch.py` finds records: of each near record, its near passages.

PostgreSQL looks at every passage here, too.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.core.contracts.vectors import PassageHit
from app.embeddings.indexes.elasticsearch import ElasticsearchPassages, Short, checked, ordered
from app.embeddings.indexes.ports import Lookup


class ElasticsearchSingle:
    """The best ``n`` passages are among the best ``n`` passages of each of the best ``n`` records."""

    def __init__(self, records: ElasticsearchPassages) -> None:
        self._records = records

    def passages(self, session: Session, lookup: Lookup) -> list[PassageHit]:
        """Best first, ties by entity, id, locale and place.

        Raises :class:`Short` when the index can't show that there are no more, and
        :class:`app.core.errors.Unavailable` when it can't answer.
        """
        proposed, more = self._records.proposed(session, lookup, lookup.window)
        found = ordered(lookup.target, checked(session, lookup, proposed, lookup.window))
        if len(found) < lookup.window and more:
            raise Short
        return found[: lookup.window]
