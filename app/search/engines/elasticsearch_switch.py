"""Elasticsearch's part of a switch of the embedding model (`switch.md`): side by side a generation of its own, filled
from PostgreSQL without a call to a model; in place a field of the space in the indexes that answer, whose words stay.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import structlog

from app.core.contracts.checkpoints import Checkpoint
from app.core.contracts.copies import LIVE, Shape
from app.core.documents import events_store as events
from app.core.elasticsearch.names import vector_field
from app.core.elasticsearch.reading import CONSUMER
from app.core.errors import Conflict
from app.search.engines.elasticsearch_follow import Elasticsearch
from app.search.engines.elasticsearch_index import REINDEX, Generation

GRACE_SECONDS = 60.0
"""A search that began before the activation may still ask the generation that answered then."""

log = structlog.get_logger(__name__)


class ElasticsearchCopies:
    """The :class:`~app.core.contracts.copies.EngineCopies` of Elasticsearch."""

    def __init__(self, engine: Elasticsearch) -> None:
        self.engine = engine
        self.units = engine.units
        self.generations = engine.generations

    def takes_part(self, session: Any) -> bool:
        """Whether its indexes are kept up to date."""
        return events.follows(session, CONSUMER)

    def prepare(self, switch_id: int, space_id: int, mode: Literal["side_by_side", "in_place"]) -> str:
        """See :meth:`app.core.contracts.copies.EngineCopies.prepare`."""
        shape, owner = self._shape(space_id), _owner(switch_id)
        live = self.generations.of(None) if mode == "in_place" else {}
        if live:
            missing = set(self.engine.registry.names()) - set(live)
            numbers = {one.number for one in live.values()}
            if missing and len(numbers) == 1:
                live = {**live, **self.generations.fill_up(sorted(missing), numbers.pop(), owner, [shape])}
            for one in live.values():
                self.generations.refill(one, owner, shape)
            self.engine.keep([shape])
            return LIVE
        built = self.generations.build(owner, [shape])
        self.engine.keep([shape])
        return str(built[0].number)

    def copy(self, generation: str, entity: str, hold: Callable[[], None], checkpoint: Checkpoint) -> int:
        """See :meth:`app.core.contracts.copies.EngineCopies.copy`."""
        one = self._one(generation, entity)
        if one is None:
            raise Conflict("engine.reindex_first")
        refused = self.engine.copier.copy(one, lambda noted: hold(), checkpoint)
        checkpoint("copies.copied")
        return len(refused)

    def problem(self, generation: str, entity: str, space_id: int, checkpoint: Checkpoint) -> str | None:
        """See :meth:`app.core.contracts.copies.EngineCopies.problem`."""
        shape = self._shape(space_id)
        one = self._one(generation, entity)
        if one is None:
            return "no index in Elasticsearch"
        if not one.valid or one.spaces != (space_id,):
            return "the index in Elasticsearch has other fields"
        if self.generations.dimensions(one, space_id) != shape.dimensions:
            return "the index in Elasticsearch has vectors of another length"
        settled = self.engine.copier.settle(one, shape, checkpoint)
        if settled.differing:
            self.generations.again(one)  # a resumed switch copies all of it
            return f"{len(settled.differing)} records differ in Elasticsearch"
        return None if self._answers(one, shape) else "the index in Elasticsearch does not answer"

    def tidy(self, checkpoint: Checkpoint) -> None:
        """See :meth:`app.core.contracts.copies.EngineCopies.tidy`."""
        serving = self.engine.serving
        if serving is None or not self.engine.follows():
            return
        known = [one for generations in self.generations.all().values() for one in generations]
        # Read after the indexes were listed: whose index it is had its switch stored before.
        with self.units("REPEATABLE READ") as unit:
            current, seconds = serving.current(unit.session), serving.seconds(unit.session)
            switch = serving.open_switch(unit.session)
        if {one.number for one in known if one.serves} != {current}:
            return  # an activation came in between: the next time
        checkpoint("copies.before_alias")
        if self.generations.point([one for one in known if one.serves]):
            checkpoint("copies.alias_moved")
        graced = seconds is not None and seconds >= GRACE_SECONDS
        unread = [one.index for one in known if _unread(one, switch, graced)]
        if unread:
            self.engine.cluster.drop(unread)
            checkpoint("copies.dropped")
            log.info("search.generations_dropped", indexes=unread)

    def _one(self, generation: str, entity: str) -> Generation | None:
        return self.generations.of(None if generation == LIVE else int(generation)).get(entity)

    def _shape(self, space_id: int) -> Shape:
        assert self.engine.vectors is not None
        with self.units() as unit:
            shape = self.engine.vectors.shape(unit.session, space_id)
        if shape is None:
            raise LookupError(f"vector space {space_id}")
        return shape

    def _answers(self, one: Generation, shape: Shape) -> bool:
        """One question through the new field; an entity without any vector has nothing to answer."""
        assert self.engine.vectors is not None
        with self.units() as unit:
            _, example = self.engine.vectors.standing(unit.session, shape.space_id, one.entity)
        if example is None:
            return True
        asked = {"field": vector_field(shape.space_id), "query_vector": list(example), "k": 1, "num_candidates": 10}
        answer = self.engine.cluster.search(one.index, {"knn": asked, "size": 1, "_source": False})
        return bool(answer["hits"]["hits"])


def _owner(switch_id: int) -> str:
    return f"switch {switch_id}"


def _unread(one: Generation, switch: int | None, graced: bool) -> bool:
    """Whether nobody reads or builds it: it answered before, or its switch is over."""
    if one.serves or (one.owner == REINDEX and one.building):
        return False
    if one.building:
        return switch is None or one.owner != _owner(switch)
    return graced
