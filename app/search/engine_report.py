"""The health of the search engines for those who may read the settings: the page, the API and nobody else ask it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from app.core.contracts.actor import Actor
from app.core.errors import Forbidden
from app.core.unit import Units
from app.search.engine_health import EngineHealth, engine_health
from app.search.engines.elasticsearch_follow import Elasticsearch

PERMISSION = "settings.select"


class EngineReport:
    """``chosen`` reads the name of the engine that looks for words; ``elasticsearch`` None: it has no address."""

    def __init__(self, units: Units, chosen: Callable[[Any], str], elasticsearch: Elasticsearch | None) -> None:
        self._units = units
        self._chosen = chosen
        self._elasticsearch = elasticsearch

    def read(self, actor: Actor) -> Sequence[EngineHealth]:
        """Every engine that has an address, counted now. Raises :class:`Forbidden`."""
        if not actor.may(PERMISSION):
            raise Forbidden("access.forbidden", permission=PERMISSION)
        return engine_health(self._units, self._chosen, self._elasticsearch)

    def as_json(self, actor: Actor) -> dict[str, Any]:
        """The same as ``items``. Raises :class:`Forbidden`."""
        return {"items": [{**asdict(one), "size": one.size} for one in self.read(actor)]}
