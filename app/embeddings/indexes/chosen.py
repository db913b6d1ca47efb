"""The index that the setting ``search.engine`` names; PostgreSQL's vectors answer whenever Elasticsearch can't."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import structlog
from sqlalchemy.orm import Session

from app.core.clock import Clock
from app.core.contracts.vectors import Leave, PassageHit
from app.core.elasticsearch.client import LEG_SHARE, SLOW
from app.core.errors import Unavailable
from app.embeddings.indexes.elasticsearch import ElasticsearchPassages, Short
from app.embeddings.indexes.ports import Lookup, PassageIndex

LEAST = 0.001
"""Seconds; no request may take 0 for endless."""
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

    def settings(self, space_id: int, window: int) -> str:
        """See :meth:`app.embeddings.indexes.ports.PassageIndex.settings`; PostgreSQL may have to stand in."""
        return self._postgres.settings(space_id, window)

    def nearest(self, session: Session, lookup: Lookup) -> list[PassageHit]:
        """See :meth:`app.embeddings.indexes.ports.PassageIndex.nearest`; whoever stood in is noted in its ``leave``."""
        if not self._is_chosen(session):
            return self._postgres.nearest(session, lookup)
        space = lookup.target.space_id
        degraded: str | None = "engine_unavailable"
        if self._clock.monotonic() >= self._skipped.get(space, 0.0):
            try:
                return self._elasticsearch.nearest(session, self._shared(lookup))
            except Short:
                degraded = None  # asked and answered: PostgreSQL reads what no index could
            except Unavailable as error:
                log.warning("search.passages_from_postgres", code=error.code, space=space)
                if error.values.get("kind") == SLOW:
                    degraded = "engine_timeout"
                if error.code == "engine.refused":
                    self._skipped[space] = self._clock.monotonic() + SKIPPED_SECONDS
        if lookup.leave is not None:
            lookup.leave.degraded = degraded
        return self._postgres.nearest(session, lookup)

    def _shared(self, lookup: Lookup) -> Lookup:
        """With the share of the time that Elasticsearch may take, over all its requests."""
        seconds = lookup.seconds()
        if seconds is None:
            return lookup
        until = self._clock.monotonic() + seconds * LEG_SHARE
        return replace(lookup, leave=Leave(lambda: max(LEAST, until - self._clock.monotonic())))
