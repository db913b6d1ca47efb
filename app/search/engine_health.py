"""How the indexes of each engine stand beside what PostgreSQL says there is to find. For people; search never asks it.

Counts are of the indexes themselves, after a refresh; nothing that was noted is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from app.core.errors import Unavailable
from app.core.unit import Units
from app.search import engine_health_store as store
from app.search.engines.elasticsearch_follow import Elasticsearch
from app.search.engines.elasticsearch_index import Generation

State = Literal["serving", "building", "old"]
Problem = Literal["away", "not_followed", "behind", "not_built", "incomplete", "vectors_incomplete", "invalid"]
BEHIND = 1_000
"""So many events that wait are worth a word."""


@dataclass(frozen=True)
class IndexHealth:
    """One index. ``entity`` None: it holds every entity. ``kind``: what can be looked for in it.

    ``documents`` are the records in it and ``expected`` those that PostgreSQL has; ``vectors`` and ``expected_vectors``
    are records with at least one vector of the serving (or built) model. None: there is no such count. ``size`` in
    bytes. ``valid``: its mapping or catalogue entry is the one we make; ``ready``: it can answer now.
    """

    entity: str | None
    kind: Literal["words", "vectors", "words_and_vectors"]
    name: str
    state: State
    valid: bool
    ready: bool
    generation: int | None = None
    documents: int | None = None
    expected: int | None = None
    vectors: int | None = None
    expected_vectors: int | None = None
    dimensions: int | None = None
    size: int | None = None


@dataclass(frozen=True)
class EngineHealth:
    """One engine. ``chosen``: the setting names it. ``version`` None: it does not answer.

    ``lag`` counts events that wait (up to 10,001; 0 on PostgreSQL, whose words are written with each record; None: not
    followed). ``generation`` is the one that answers. ``problems`` are classes, most grave first; none is well.
    """

    engine: Literal["postgres", "elasticsearch"]
    chosen: bool
    version: str | None
    generation: int | None
    lag: int | None
    indexes: Sequence[IndexHealth]
    problems: Sequence[Problem]

    @property
    def size(self) -> int:
        """Bytes of all its indexes."""
        return sum(index.size or 0 for index in self.indexes)


def engine_health(
    units: Units, chosen: Callable[[Any], str], elasticsearch: Elasticsearch | None
) -> Sequence[EngineHealth]:
    """Every engine that has an address, PostgreSQL first. Never raises for an engine that is away."""
    with units() as unit:
        name = chosen(unit.session)
    found = [_postgres(units, name)]
    if elasticsearch is not None:
        found.append(_elasticsearch(elasticsearch, name))
    return found


def _postgres(units: Units, chosen: str) -> EngineHealth:
    with units() as unit:
        version = store.version(unit.session)
        documents = store.documents(unit.session)
        with_vectors = store.records_with_vectors(unit.session)
        built = store.indexes(unit.session)
    indexes = [
        IndexHealth(
            entity=one.entity,
            kind="vectors" if one.entity else "words",
            name=one.name,
            state="serving" if one.serves else "building",
            valid=one.valid,
            ready=one.ready,
            documents=documents.get(one.entity, 0) if one.entity else sum(documents.values()),
            expected=documents.get(one.entity, 0) if one.entity else sum(documents.values()),
            vectors=_with_vectors(with_vectors, one),
            expected_vectors=_with_vectors(with_vectors, one),
            dimensions=one.dimensions,
            size=one.size,
        )
        for one in built
    ]
    problems: list[Problem] = [] if all(one.valid for one in indexes if one.state == "serving") else ["invalid"]
    return EngineHealth("postgres", chosen == "postgres", version, None, 0, indexes, problems)


def _with_vectors(counted: Mapping[tuple[str, int], int], one: store.Built) -> int | None:
    return None if one.entity is None or one.space_id is None else counted.get((one.entity, one.space_id), 0)


def _elasticsearch(engine: Elasticsearch, chosen: str) -> EngineHealth:
    is_chosen = chosen == "elasticsearch"
    lag, expected = engine.lag(), engine.searchable()
    try:
        version = engine.cluster.version()
        known = engine.generations.all()
        sizes = engine.cluster.sizes(f"{engine.cluster.prefix}-*")
        indexes = [_index(engine, one, expected, sizes) for generations in known.values() for one in generations]
    except Unavailable:
        return EngineHealth("elasticsearch", is_chosen, None, None, lag, (), ["away"])
    serving = [one for one in indexes if one.state == "serving"]
    number = serving[0].generation if serving else None
    problems = list(_problems(lag, serving, len(known)))
    return EngineHealth("elasticsearch", is_chosen, version, number, lag, indexes, problems)


def _problems(lag: int | None, serving: Sequence[IndexHealth], entities: int) -> Sequence[Problem]:
    found: list[Problem] = []
    if len(serving) < entities:
        found.append("not_built")
    if lag is None:
        found.append("not_followed")
    elif lag > BEHIND:
        found.append("behind")
    if not all(one.valid for one in serving):
        found.append("invalid")
    if any(one.documents != one.expected for one in serving):
        found.append("incomplete")
    if any(one.vectors is not None and one.vectors != one.expected_vectors for one in serving):
        found.append("vectors_incomplete")
    return found


def _index(
    engine: Elasticsearch, one: Generation, expected: Mapping[str, int], sizes: Mapping[str, int]
) -> IndexHealth:
    engine.cluster.refresh(one.index)
    vectors = engine.vectors_of(one)
    return IndexHealth(
        entity=one.entity,
        kind="words_and_vectors" if one.spaces else "words",
        name=one.index,
        state="serving" if one.serves else "building" if one.building else "old",
        valid=one.valid,
        ready=one.serves,
        generation=one.number,
        documents=engine.cluster.count(one.index),
        expected=expected.get(one.entity, 0),
        vectors=None if vectors is None else vectors.indexed,
        expected_vectors=None if vectors is None else vectors.expected,
        dimensions=None if vectors is None else vectors.dimensions,
        size=sizes.get(one.index),
    )
