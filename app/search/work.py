"""What a search is made of while it runs, and what it is given."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.core.clock import Clock
from app.core.contracts.actor import Actor
from app.core.contracts.conditions import Filter
from app.core.contracts.planning import Plan
from app.core.contracts.strategy import SearchStrategy
from app.core.contracts.vectors import Guard
from app.core.registry import Entity
from app.search.answer import Change, Relaxation, SearchRequest
from app.search.budget import Budget
from app.search.counts import Counts
from app.search.engines.ports import Scope
from app.search.matching import ParsedQuery, parse_query
from app.search.options import Options
from app.search.plan import capable, rule_plan
from app.search.profile import Tuning
from app.search.reasons import Notes
from app.search.stopwatch import Stopwatch


@dataclass(frozen=True)
class Reach:
    """What the actor may find and be told: each entity's row filter and readable fields, and raw similarities.

    ``wide`` is the scope without what the request narrows it to, None where it does not.
    """

    scope: Mapping[str, Filter | None]
    readable: Mapping[str, frozenset[str]]
    scores: bool
    wide: Mapping[str, Filter | None] | None = None


UNGUARDED = Guard()


def _unmeasured(model: str) -> tuple[float, float] | None:
    return None


@dataclass(frozen=True)
class Defaults:
    """What search reads of the settings, all at once in its own session, and what it is told of persons and models.

    ``deep_allowed`` counts a deep search of a person and says whether it is within that many a minute; ``calibration``
    gives noise and span of a model's cosines (`search-measured.md` 6), None where nobody measured them.
    """

    options: Callable[[Any], Options] = lambda session: Options()
    deep_allowed: Callable[[Actor, int], bool] = lambda actor, limit: True
    calibration: Callable[[str], tuple[float, float] | None] = _unmeasured


@dataclass(frozen=True)
class Run:
    """How one search is carried out. ``query`` is what the words are looked for by, ``wording`` what is embedded,
    ``guard`` what the vectors said of themselves."""

    options: Options
    budget: Budget
    plan: Plan
    query: ParsedQuery
    wording: str
    guard: Guard = UNGUARDED

    @property
    def disabled(self) -> str | None:
        """Why vectors may not be used, although the strategy has them."""
        return self.guard.reason


@dataclass(frozen=True)
class Work:
    """One search under way. ``run`` None: the settings are not read yet."""

    actor: Actor
    request: SearchRequest
    reach: Reach
    query: ParsedQuery
    strategy: SearchStrategy
    notes: Notes
    watch: Stopwatch
    started: float
    run: Run | None = None

    @property
    def may_be_deep(self) -> bool:
        return self.request.cost == "deep" and self.request.mode != "basic"

    @property
    def decided(self) -> Run:
        """How it is carried out, once the settings are read."""
        assert self.run is not None
        return self.run


def ruled(work: Work, options: Options, clock: Clock, tuning: Tuning, guard: Guard) -> Run:
    """The run of the rules: the settings' plan, tuned where that is on, without what the strategy has not got."""
    guard = guard if work.strategy.vectors else Guard()
    budget = Budget(clock, options.budgets[work.strategy.mode_applied], work.started)
    plan = rule_plan(options)
    plan = fitting(work, plan, options, tuning, guard.reason)
    work.watch.told = options.timings
    return Run(options, budget, plan, work.query, work.query.phrase, guard)


def fitting(work: Work, plan: Plan, options: Options, tuning: Tuning, disabled: str | None) -> Plan:
    """A plan as it can be carried out: first what there is, then the committed parameters for this class."""
    plan = capable(plan, work.strategy.vectors is not None and disabled is None)
    return tuning(plan, work.query.analysis) if options.tuned else plan


def changed(work: Work) -> Work:
    """The serving model changed twice: words alone, and why."""
    strategy = work.strategy
    reason = strategy.degraded_reason or "serving_changed"
    run = work.run and replace(work.run, plan=capable(work.run.plan, vectors=False))
    return replace(work, run=run, strategy=replace(strategy, vectors=None, degraded_reason=reason))


def facet_fields(entity: Entity, readable: Collection[str]) -> tuple[str, ...]:
    """The declared choices of an entity, and its category: few values, many records each."""
    return tuple(
        item.name
        for item in entity.plain_fields
        if (item.kind == "choice" or item.name == "category") and item.name != "locale" and item.name in readable
    )


def relaxations(counts: Counts, work: Work, everything: Scope) -> tuple[Relaxation, ...]:
    """What would have hits, for an empty page (`search-measured.md` 11); only within what the actor may see.

    As many as can be counted in time: an empty page is not made late by advice.
    """
    query, scope, locale = work.query, work.reach.scope, work.request.locale
    asked: list[tuple[Change, ParsedQuery, Scope, str | None]] = []
    if work.request.entities:
        asked.append(("entity", query, everything, locale))
    if work.reach.wide is not None:
        asked.append(("only", query, work.reach.wide, locale))
    if locale:
        asked.append(("locale", query, scope, None))
    if query.filtered:
        asked.append(("matching", query.without_rules(), scope, locale))
    if query.demands:
        asked.append(("demands", parse_query(query.phrase), scope, locale))
    totals = ((change, counts.total(looser, where, code)) for change, looser, where, code in asked)
    return tuple(Relaxation(change, total) for change, total in totals if total)
