"""Asks the generation of indexes that answers, whoever asks: for words, or for vectors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from app.core.contracts.copies import ServingGeneration
from app.core.documents import events_store as events
from app.core.elasticsearch.client import Cluster
from app.core.elasticsearch.names import index_name
from app.core.errors import Unavailable
from app.core.unit import Units

CONSUMER = "elasticsearch"
"""The cursor of who keeps the indexes up to date (`core/documents/events_store.py`)."""
T = TypeVar("T")


class Reader:
    """Searches in the indexes that the session's snapshot says answer; ``serving`` None: in those of the aliases."""

    def __init__(self, units: Units, cluster: Cluster, serving: ServingGeneration | None) -> None:
        self._units = units
        self._cluster = cluster
        self._serving = serving

    def search(
        self, session: Any, entities: Collection[str], body: Mapping[str, Any], seconds: float | None = None
    ) -> Mapping[str, Any]:
        """One search over the indexes of ``entities``. Raises :class:`Unavailable`, also while nobody keeps them up to
        date."""
        if not events.follows(session, CONSUMER):
            raise Unavailable("engine.not_built", kind="not_followed")
        return self._ask(session, entities, lambda index: self._cluster.search(index, body, seconds))

    def tokens(self, session: Any, entity: str, analyser: str, words: Collection[str]) -> list[str | None]:
        """See :meth:`app.core.elasticsearch.client.Cluster.tokens`."""
        return self._ask(session, (entity,), lambda index: self._cluster.tokens(index, analyser, list(words)))

    def _ask(self, session: Any, entities: Collection[str], ask: Callable[[str], T]) -> T:
        """A snapshot may be older than the grace of a generation: then the one of now is asked, once."""
        generation = self._of(session)
        try:
            return ask(self._indexes(entities, generation))
        except Unavailable as error:
            if error.code != "engine.not_built":
                raise
            with self._units() as unit:
                now = self._of(unit.session)
            if now == generation:
                raise
            return ask(self._indexes(entities, now))

    def _of(self, session: Any) -> int | None:
        return None if self._serving is None else self._serving.current(session)

    def _indexes(self, entities: Collection[str], generation: int | None) -> str:
        return ",".join(index_name(self._cluster.prefix, entity, generation) for entity in entities)
