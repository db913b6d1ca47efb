"""Generations of indexes: `<prefix>-<entity>-<n>`, one number for all entities, behind the alias `<prefix>-<entity>`.

Which generation answers stands in PostgreSQL, so that one commit changes it together with the serving model; the alias
is for people, and for a database in which no model serves yet. How far a copy has come stands in the ``_meta`` of its
index, so that whatever becomes of the index takes its progress along.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.core.contracts.copies import ServingGeneration, Shape
from app.core.elasticsearch.client import Cluster
from app.core.elasticsearch.names import PASSAGES, alias, index_name, vector_field
from app.core.registry import Entity, Registry
from app.core.unit import Units
from app.search.engines.elasticsearch_mapping import index_body, vector_properties

REINDEX = "reindex"
"""The owner of a generation that ``flask search reindex`` builds; a switch's is ``switch <id>``."""
Found = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Generation:
    """One index of an entity. ``serves``: searches ask it; ``building``: it is newer than the one that serves.

    ``spaces`` are those whose vectors its documents hold. ``after`` is the last record id that was copied, ``done`` how
    many were. ``valid``: its fields are those that we would make now.
    """

    entity: str
    index: str
    number: int
    serves: bool
    building: bool
    owner: str
    signature: str
    spaces: tuple[int, ...]
    after: int
    done: int
    valid: bool

    @property
    def written(self) -> bool:
        """Whether changes are written to it: it answers, or will."""
        return self.serves or self.building


class Generations:
    """The indexes of the registered entities in one cluster."""

    def __init__(self, units: Units, cluster: Cluster, registry: Registry, serving: ServingGeneration | None) -> None:
        self.units = units
        self.cluster = cluster
        self.registry = registry
        self.serving = serving

    def current(self) -> int | None:
        """The generation on record."""
        if self.serving is None:
            return None
        with self.units() as unit:
            return self.serving.current(unit.session)

    def all(self) -> Mapping[str, Sequence[Generation]]:
        """Entity to its generations, oldest first."""
        return self._known(self.cluster.indexes(f"{self.cluster.prefix}-*"))

    def of(self, number: int | None) -> Mapping[str, Generation]:
        """Entity to its index in a generation; None: in the one that answers."""
        return {
            entity: one
            for entity, known in self.all().items()
            for one in known
            if (one.serves if number is None else one.number == number)
        }

    def build(self, owner: str, shapes: Sequence[Shape]) -> Sequence[Generation]:
        """The generation that ``owner`` builds: the one begun earlier as far as it still fits, else a new one."""
        found = self.cluster.indexes(f"{self.cluster.prefix}-*")
        known = [one for generations in self._known(found).values() for one in generations]
        spaces = tuple(shape.space_id for shape in shapes)
        begun = [one.number for one in known if one.building and one.owner == owner and one.spaces == spaces]
        number = max(begun, default=0) or max(self.current() or 0, *(one.number for one in known), 0) + 1
        if owner == REINDEX:
            self.cluster.drop([one.index for one in known if _given_up(one, number)])
        fits = {one.entity: one for one in known if (one.number, one.owner, one.spaces) == (number, owner, spaces)}
        fits = {entity: one for entity, one in fits.items() if one.valid}
        made = []
        for entity in self.registry.names():
            index = index_name(self.cluster.prefix, entity, number)
            if entity in fits:
                made.append(fits[entity])
                continue
            if index in found:  # made by hand, or by a write after it was deleted: its fields are guesses
                self.cluster.drop([index])
            made.append(self._made(self._new(entity, index, number, owner, spaces), shapes))
        return made

    def _new(self, entity: str, index: str, number: int, owner: str, spaces: tuple[int, ...]) -> Generation:
        signature = _signature(self.registry.get(entity))
        return Generation(entity, index, number, False, True, owner, signature, spaces, 0, 0, True)

    def refill(self, generation: Generation, owner: str, shape: Shape) -> Generation:
        """In place: from now on its documents hold the vectors of this space alone; its words stay as they are."""
        if generation.spaces == (shape.space_id,) and generation.owner == owner:
            return generation
        begun = replace(generation, spaces=(shape.space_id,), owner=owner, after=0, done=0)
        self.cluster.note(begun.index, _meta(begun), vector_properties([shape]))
        return begun

    def fill_up(
        self, entities: Sequence[str], number: int, owner: str, shapes: Sequence[Shape]
    ) -> Mapping[str, Generation]:
        """Make indexes that a generation lacks: of a new kind of record, or deleted by hand."""
        spaces = tuple(shape.space_id for shape in shapes)
        made = {}
        for entity in entities:
            index = index_name(self.cluster.prefix, entity, number)
            self.cluster.drop([index])
            made[entity] = self._made(self._new(entity, index, number, owner, spaces), shapes)
        return made

    def _made(self, one: Generation, shapes: Sequence[Shape]) -> Generation:
        self.cluster.create(one.index, _body(self.registry.get(one.entity), shapes, _meta(one)))
        return one

    def dimensions(self, one: Generation, space_id: int) -> int | None:
        """The length of its vectors of a space; None when it holds none."""
        found = self.cluster.indexes(one.index).get(one.index, {})
        return dimensions_of(found.get("mappings", {}), space_id)

    def again(self, generation: Generation) -> None:
        """Forget how far its copy has come."""
        self.note(replace(generation, after=0, done=0))

    def note(self, generation: Generation) -> None:
        """Keep its progress."""
        self.cluster.note(generation.index, _meta(generation))

    def point(self, chosen: Iterable[Generation]) -> bool:
        """Let the aliases stand for these, all in one call; whether they did not yet.

        Repeating it is harmless, whatever became of the first call.
        """
        found = self.cluster.indexes(f"{self.cluster.prefix}-*")
        actions: list[Mapping[str, Any]] = []
        for one in chosen:
            name = alias(self.cluster.prefix, one.entity)
            if name in found:  # a plain index in the alias's place (`known-bugs.md` 40)
                actions.append({"remove_index": {"index": name}})
            holders = {index for index, item in found.items() if name in item.get("aliases", {})}
            actions += [{"remove": {"index": index, "alias": name}} for index in sorted(holders - {one.index})]
            if one.index not in holders:
                actions.append({"add": {"index": one.index, "alias": name}})
        if actions:
            self.cluster.swap(actions)
        return bool(actions)

    def drop_unused(self) -> list[str]:
        """Delete the indexes that neither answer nor are being built, and tell their names."""
        unused = [one.index for known in self.all().values() for one in known if not one.written]
        self.cluster.drop(unused)
        return unused

    def _known(self, found: Found) -> Mapping[str, Sequence[Generation]]:
        current = self.current()
        return {entity: self._of(self.registry.get(entity), found, current) for entity in self.registry.names()}

    def _of(self, owner: Entity, found: Found, current: int | None) -> list[Generation]:
        name = alias(self.cluster.prefix, owner.name)
        known = []
        for index, item in found.items():
            number = index.removeprefix(f"{name}-")
            meta = item.get("mappings", {}).get("_meta", {})
            if index.startswith(f"{name}-") and number.isdigit() and meta.get("entity") == owner.name:
                serves = int(number) == current if current is not None else name in item.get("aliases", {})
                known.append(_read(owner, index, int(number), serves, item))
        serving = current if current is not None else max((one.number for one in known if one.serves), default=0)
        return sorted((replace(one, building=one.number > serving) for one in known), key=lambda one: one.number)


def _read(owner: Entity, index: str, number: int, serves: bool, item: Mapping[str, Any]) -> Generation:
    meta = item["mappings"]["_meta"]
    spaces = tuple(int(space) for space in meta.get("spaces", ()))
    valid = meta.get("signature") == _signature(owner) and all(
        dimensions_of(item["mappings"], space) is not None for space in spaces
    )
    return Generation(
        owner.name,
        index,
        number,
        serves,
        False,
        str(meta.get("owner", REINDEX)),
        str(meta.get("signature", "")),
        spaces,
        int(meta.get("after", 0)),
        int(meta.get("done", 0)),
        valid,
    )


def dimensions_of(mappings: Mapping[str, Any], space_id: int) -> int | None:
    """The length of the vectors that a mapping has for a space; None when it has no such field of that type."""
    name = vector_field(space_id).removeprefix(f"{PASSAGES}.")
    declared = mappings.get("properties", {}).get(PASSAGES, {}).get("properties", {}).get(name, {})
    return int(declared["dims"]) if declared.get("type") == "dense_vector" and "dims" in declared else None


def _given_up(one: Generation, number: int) -> bool:
    """A copy for people that was begun earlier and no longer fits."""
    return one.building and one.owner == REINDEX and one.number != number


def _body(entity: Entity, shapes: Sequence[Shape], meta: Mapping[str, object]) -> dict[str, Any]:
    body = index_body(entity, meta)
    if shapes:
        body["mappings"]["properties"] |= vector_properties(shapes)
    return body


def _signature(entity: Entity) -> str:
    return hashlib.sha256(json.dumps(index_body(entity, {}), sort_keys=True).encode()).hexdigest()[:16]


def _meta(one: Generation) -> dict[str, object]:
    return {
        "entity": one.entity,
        "owner": one.owner,
        "signature": one.signature,
        "spaces": list(one.spaces),
        "after": one.after,
        "done": one.done,
    }
