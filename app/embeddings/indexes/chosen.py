"""The index that the setting ``search.engine`` names; PostgreSQL's vectors answer whenever Elasticsearch can't."""

from __future__ import annotations

from collections.abc import Callable

import structlog
from sqlalchemy.orm import Session

from app.core.clock import Clock
from app.core.contracts.vectors import PassageHit
from app.core.errors import Unavailable
from app.embeddings.indexes.elasticsearch import ElasticsearchPassages, Short
from app.embeddings.indexes.ports import Lookup, PassageIndex

SKIPPED_SECONDS = 60.0
"""An index that has no vectors of the space refuses; it is not asked for them again for so long."""

log = structlog.get_logger(__name__)


class ChosenIndex:
    """The :class:`~app.embeddings.indexes.ports.PassageIndex` of the product. The same answers, whoever gives them."""

    def __init__(
        self,
        postgres: PassageIndex,
        elasticsearch: ElasticsearchPassages,
        is_chosen: Callable[[Session], bool],
        clock: Clock,
    ) -> None:
        self._postgres = postgres
        self._elasticsearch = elasticsearch
        self._is_chosen = is_chosen
        self._clock = clock
        self._skipped: dict[int, float] = {}

    def nearest(self, session: Session, lookup: Lookup) -> list[PassageHit]:
        """See :meth:`app.embeddings.indexes.ports.PassageIndex.nearest`."""
        space = lookup.target.space_id
        skipped = self._clock.monotonic() < self._skipped.get(space, 0.0)
        if not skipped and self._is_chosen(session):
            try:
                return self._elasticsearch.nearest(session, lookup)
            except Short:
                pass
            except Unavailable as error:
                log.warning("search.passages_from_postgres", code=error.code, space=space)
                if error.code == "engine.refused":
                    self._skipped[space] = self._clock.monotonic() + SKIPPED_SECONDS
        return self._postgres.nearest(session, lookup)
