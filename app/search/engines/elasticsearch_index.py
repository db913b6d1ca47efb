"""Generations of indexes: `<prefix>-<entity>-<n>` behind the alias `<prefix>-<entity>`.

An index with a higher number than the one that answers is *building*, one with a lower number is done with. How far a
copy has come stands in the ``_meta`` of its index, so that whatever becomes of the index takes its progress along. All
aliases move in one call.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.core.registry import Registry
from app.search.engines.elasticsearch import alias
from app.search.engines.elasticsearch_client import Action, Cluster
from app.search.engines.elasticsearch_mapping import Indexed, index_body, source_of


@dataclass(frozen=True)
class Generation:
    """One index of an entity. ``serves``: the alias stands for it; ``building``: it will, once it is complete.

    ``after`` is the last record id that was copied, ``done`` how many were.
    """

    entity: str
    index: str
    number: int
    serves: bool
    building: bool
    signature: str
    after: int
    done: int

    @property
    def written(self) -> bool:
        """Whether changes are written to it: it answers, or will."""
        return self.serves or self.building


class Generations:
    """The indexes of the registered entities in one cluster."""

    def __init__(self, cluster: Cluster, registry: Registry) -> None:
        self.cluster = cluster
        self.registry = registry

    def all(self) -> Mapping[str, Sequence[Generation]]:
        """Entity to its generations, oldest first."""
        found = self.cluster.indexes(f"{self.cluster.prefix}-*")
        return {entity: _of(alias(self.cluster.prefix, entity), entity, found) for entity in self.registry.names()}

    def build(self, entity: str) -> Generation:
        """The generation that is being built: the one begun earlier while it still fits, else a new one."""
        owner = self.registry.get(entity)
        signature = hashlib.sha256(json.dumps(index_body(owner, {}), sort_keys=True).encode()).hexdigest()[:16]
        known = self.all()[entity]
        for one in known:
            if one.building and one.signature == signature:
                return one
        self.cluster.drop([one.index for one in known if one.building])
        number = max((one.number for one in known), default=0) + 1
        index = f"{alias(self.cluster.prefix, entity)}-{number}"
        begun = Generation(entity, index, number, False, True, signature, 0, 0)
        self.cluster.create(index, index_body(owner, _meta(begun)))
        return begun

    def note(self, generation: Generation) -> None:
        """Keep its progress."""
        self.cluster.note(generation.index, _meta(generation))

    def activate(self, generations: Iterable[Generation]) -> None:
        """Let the aliases stand for these from now on. Repeating it is harmless, whatever became of the first call."""
        chosen = list(generations)
        found = self.cluster.indexes(f"{self.cluster.prefix}-*")
        actions: list[Mapping[str, Any]] = []
        for one in chosen:
            name = alias(self.cluster.prefix, one.entity)
            if name in found:  # a plain index in the alias's place (`known-bugs.md` 40)
                actions.append({"remove_index": {"index": name}})
            older = [index for index, item in found.items() if name in item.get("aliases", {}) and index != one.index]
            actions += [{"remove": {"index": index, "alias": name}} for index in older]
            actions.append({"add": {"index": one.index, "alias": name}})
        self.cluster.swap(actions)

    def drop_unused(self) -> list[str]:
        """Delete the indexes that neither answer nor are being built, and tell their names."""
        unused = [one.index for known in self.all().values() for one in known if not one.written]
        self.cluster.drop(unused)
        return unused


def actions(records: Iterable[Indexed], targets: Mapping[str, Sequence[str]]) -> list[Action]:
    """What is written of the records, to each index of their entity."""
    return [
        Action(index, str(one.record_id), one.version, source_of(one) if one.texts else None)
        for one in records
        for index in targets.get(one.entity, ())
    ]


def _of(name: str, entity: str, found: Mapping[str, Mapping[str, Any]]) -> list[Generation]:
    generations = []
    for index, item in found.items():
        number = index.removeprefix(f"{name}-")
        meta = item.get("mappings", {}).get("_meta", {})
        if index.startswith(f"{name}-") and number.isdigit() and meta.get("entity") == entity:
            serves = name in item.get("aliases", {})
            progress = int(meta["after"]), int(meta["done"])
            generations.append(Generation(entity, index, int(number), serves, False, str(meta["signature"]), *progress))
    serving = max((one.number for one in generations if one.serves), default=0)
    known = [replace(one, building=one.number > serving) for one in generations]
    return sorted(known, key=lambda one: one.number)


def _meta(one: Generation) -> dict[str, object]:
    return {
        "entity": one.entity,
        "signature": one.signature,
        "after": one.after,
        "done": one.done,
    }
