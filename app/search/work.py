"""What a search is made of while it runs, and what it is given."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.core.contracts.actor import Actor
from app.core.contracts.conditions import Filter
from app.core.contracts.strategy import SearchStrategy
from app.core.registry import Entity
from app.search.answer import Change, Relaxation, SearchRequest
from app.search.engines.ports import Scope, SearchEngine
from app.search.matching import ParsedQuery, parse_query
from app.search.words import Synonyms


@dataclass(frozen=True)
class Reach:
    """What the actor may find and be told: each entity's row filter and readable fields, and raw similarities."""

    scope: Mapping[str, Filter | None]
    readable: Mapping[str, frozenset[str]]
    scores: bool


BUDGET_MS = 1500
"""What a balanced search may take (`search-measured.md` 8)."""


@dataclass(frozen=True)
class Defaults:
    """What search reads of the settings and of the serving model, in the search's own session.

    ``budget_ms`` are the milliseconds that a search with vectors may take, ``synonyms`` each locale's groups of words;
    ``deep_allowed`` counts a deep search of a person and says whether it may be one.
    """

    page_size: Callable[[Any], int]
    model: Callable[[Any], str | None]
    budget_ms: Callable[[Any], int] = lambda session: BUDGET_MS
    synonyms: Callable[[Any], Synonyms] = lambda session: {}
    deep_allowed: Callable[[Any, Actor], bool] = lambda session, actor: True


@dataclass(frozen=True)
class Work:
    """One search under way; ``started`` is the clock's monotonic time."""

    actor: Actor
    request: SearchRequest
    reach: Reach
    query: ParsedQuery
    strategy: SearchStrategy
    started: float


def changed(work: Work) -> Work:
    """The serving model changed twice: words alone, and why."""
    strategy = work.strategy
    return replace(work, strategy=replace(strategy, degraded_reason=strategy.degraded_reason or "serving_changed"))


def facet_fields(entity: Entity, readable: Collection[str]) -> tuple[str, ...]:
    """The declared choices of an entity, and its category: few values, many records each."""
    return tuple(
        item.name
        for item in entity.plain_fields
        if (item.kind == "choice" or item.name == "category") and item.name != "locale" and item.name in readable
    )


def relaxations(engine: SearchEngine, session: Any, work: Work, everything: Scope) -> tuple[Relaxation, ...]:
    """What would have hits, for an empty page (`search-measured.md` 11); only within what the actor may see."""
    query, scope, locale = work.query, work.reach.scope, work.request.locale
    asked: list[tuple[Change, ParsedQuery, Scope, str | None]] = []
    if work.request.entities:
        asked.append(("entity", query, everything, locale))
    if locale:
        asked.append(("locale", query, scope, None))
    if query.filtered:
        asked.append(("matching", query.without_rules(), scope, locale))
    if query.demands:
        asked.append(("demands", parse_query(query.phrase), scope, locale))
    found = ((change, engine.keyword(session, looser, where, code, 1).total) for change, looser, where, code in asked)
    return tuple(Relaxation(change, total) for change, total in found if total)
