"""Search: one question, at most two legs, one order, one page, and the truth about how it came about.

Who may search what is decided here, and so is what a page shows; how records are found stands in `finding.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from app.core.access import policy
from app.core.clock import Clock
from app.core.contracts.actor import Actor
from app.core.contracts.conditions import Condition, Filter, Group
from app.core.contracts.strategy import SearchStrategyResolver
from app.core.errors import Forbidden, Invalid, NotFound
from app.core.registry import Entity, Registry
from app.core.unit import Units
from app.search.answer import Relaxation, SearchHit, SearchRequest, SearchResponse, read_request
from app.search.budget import LEGS_UNTIL
from app.search.counts import Counts
from app.search.engines.ports import Facet, Key, LegFailed, SearchEngine
from app.search.explain import Ran, Reason, Why, explained, hit_explained, reason
from app.search.finding import Finder, Outcome
from app.search.fusion import Fused
from app.search.matching import parse_question
from app.search.meta import meta_of
from app.search.narrowing import narrowed
from app.search.page import Found, Pages
from app.search.reasons import Notes
from app.search.spelling import respelt
from app.search.stopwatch import Stopwatch
from app.search.store import Records
from app.search.work import Defaults, Reach, Work, facet_fields, relaxations


class Search:
    """The public entry. Opens its own units, since a model is asked in between."""

    def __init__(
        self,
        units: Units,
        registry: Registry,
        engine: SearchEngine,
        resolver: SearchStrategyResolver,
        clock: Clock,
        defaults: Defaults,
    ) -> None:
        self._registry = registry
        self._engine = engine
        self._resolver = resolver
        self._clock = clock
        self._records = Records()
        self._pages = Pages(engine, registry, self._records)
        self._finder = Finder(units, engine, resolver, clock, defaults)

    def entities(self, actor: Actor) -> tuple[str, ...]:
        """What the actor may search: entities whose records they may see, with all that a document is made of."""
        return tuple(entity.name for entity in self._registry if texts_of(entity) <= policy.readable(entity, actor))

    @staticmethod
    def request(
        *,
        q: str | None,
        entities: Sequence[str] = (),
        locale: str | None = None,
        mode: str | None = None,
        cost: str | None = None,
        matching: str | None = None,
        retries: str | None = None,
        page: str | None = None,
        size: str | None = None,
        facets: str | None = None,
        explain: str | None = None,
        only: Sequence[str] = (),
    ) -> SearchRequest:
        """A request from raw values, empty ones being defaults. Raises :class:`Invalid` with one error per field."""
        return read_request(
            q=q,
            entities=entities,
            locale=locale,
            mode=mode,
            cost=cost,
            matching=matching,
            retries=retries,
            page=page,
            size=size,
            facets=facets,
            explain=explain,
            only=only,
        )

    @staticmethod
    def plain(text: str) -> str:
        """The wording of a question without its operators and without what it excludes."""
        return parse_question(text).phrase

    def search(self, actor: Actor, request: SearchRequest) -> SearchResponse:
        """One page of the best answer that can be had.

        Raises :class:`Invalid` for an unknown entity and :class:`Forbidden` for one that the actor may not see or whose
        texts a field rule hides; a part that is away is no error: the rest answers, and the meta says so.
        """
        return self._finder.find(self._work(actor, request), self._page)

    def _work(self, actor: Actor, request: SearchRequest) -> Work:
        started = self._clock.monotonic()
        return Work(
            actor=actor,
            request=request,
            reach=self._reach(actor, request),
            query=parse_question(request.q, request.matching),
            strategy=self._resolver.resolve(request.mode, request.cost),
            notes=Notes(),
            watch=Stopwatch(self._clock, started),
            started=started,
        )

    def _reach(self, actor: Actor, request: SearchRequest) -> Reach:
        scope = self._scope(actor, request)
        readable = {name: policy.readable(self._registry.get(name), actor) for name in scope}
        if not request.only:
            return Reach(scope, readable, _sees_scores(actor))
        fields = {name: facet_fields(self._registry.get(name), readable[name]) for name in scope}
        return Reach(narrowed(scope, request.only, fields), readable, _sees_scores(actor), scope)

    def _scope(self, actor: Actor, request: SearchRequest) -> Mapping[str, Filter | None]:
        """Entity to row filter."""
        allowed = self.entities(actor)
        for name in request.entities:
            if name not in self._registry:
                raise Invalid(
                    "input.invalid",
                    fields=[Invalid("input.choice", path="entity", value=name[:100], allowed=", ".join(allowed))],
                )
            if name not in allowed:
                permission = self._registry.get(name).permission("select")
                if actor.may(permission):
                    raise Forbidden("search.fields_hidden", entity=name)
                raise Forbidden("access.forbidden", permission=permission)
        return {
            name: actor.rows_for(self._registry.get(name).permission("select")) for name in request.entities or allowed
        }

    def _page(self, session: Any, found: Outcome) -> SearchResponse:
        """The page of what was found, its texts, and what stands around it."""
        work, ran, request = found.work, found.ran, found.work.request
        size = request.size or found.run.options.page_size
        shown = ran.fused[(request.page - 1) * size : request.page * size]
        hits = self._hits(session, work, ran, shown)
        facets = self._facets(session, found) if request.facets else ()
        beyond = "beyond_window" if request.page > 1 and not shown else None
        return SearchResponse(
            hits=hits,
            total=ran.words.total,
            total_relation="gte" if ran.words.capped else "eq",
            page=request.page,
            pages=-(-len(ran.fused) // size),
            size=size,
            did_you_mean=respelt(request.q.strip(), ran.corrections) if ran.corrections else None,
            relaxations=() if ran.fused or request.page > 1 else self._looser(session, found),
            facets=facets,
            explain=self._explained(session, found) if request.explain else None,
            meta=meta_of(work, found.run, ran, found.retries, len(hits), beyond),
        )

    def _hits(self, session: Any, work: Work, ran: Ran, shown: Sequence[Fused]) -> tuple[SearchHit, ...]:
        by_key = {hit[:2]: hit for hit in ran.leg.passages}
        found = Found(ran.query, ran.scope, ran.words, by_key, work.reach.readable)
        hits = self._pages.hits(session, shown, found, ran.locale, work.reach.scores)
        if not (work.request.explain and work.reach.scores):
            return hits
        raw = {hit.key: hit.score for hit in ran.words.hits}
        parts = {one.key: one for one in shown}
        return tuple(
            replace(hit, explain=hit_explained(parts[hit.entity, hit.id], raw, hit.similarity)) for hit in hits
        )

    def _facets(self, session: Any, found: Outcome) -> tuple[Facet, ...]:
        """What the total counts, by entity, locale and the fields that an entity declares and the actor may read; none
        when there is no time for it."""
        work, ran, budget = found.work, found.ran, found.run.budget
        readable = work.reach.readable
        fields = {name: facet_fields(self._registry.get(name), readable[name]) for name in ran.scope}
        with suppress(LegFailed):
            if not ran.words_late and not budget.spent():
                return tuple(self._engine.facets(session, ran.query, ran.scope, ran.locale, fields, budget.left()))
        work.notes.leave_out("facets")
        return ()

    def _explained(self, session: Any, found: Outcome) -> Mapping[str, Any]:
        """How the answer came about, as far as there is time to count for it."""
        work, counts = found.work, self._counts(session, found)
        everything = self._scope(work.actor, replace(work.request, entities=()))
        told = explained(counts, found.ran, everything, work.reach.scores, work.reach.wide)
        if counts.late:
            work.notes.leave_out("explain")
        return told

    def _counts(self, session: Any, found: Outcome, until: float = 1.0) -> Counts:
        return Counts(self._engine, session, found.run.budget, until)

    def _looser(self, session: Any, found: Outcome) -> tuple[Relaxation, ...]:
        """Looser questions for an empty page; none while the words are late anyhow."""
        if found.ran.words_late:
            return ()
        everything = self._scope(found.work.actor, replace(found.work.request, entities=()))
        return relaxations(self._counts(session, found, LEGS_UNTIL), found.work, everything)

    def why(self, actor: Actor, request: SearchRequest, entity: str, record_id: int) -> Why:
        """What becomes of one record that the actor may see in this search (`search-measured.md` 11).

        Raises :class:`NotFound` for a record that is not there or that they may not see, which is the same to them;
        otherwise as :meth:`search`.
        """
        work = self._work(actor, request)
        tree = self._scope(actor, replace(request, entities=(entity,)))[entity]

        def show(session: Any, found: Outcome) -> Why:
            return self._why(session, found, (entity, record_id), tree)

        return self._finder.find(work, show)

    def _why(self, session: Any, found: Outcome, key: Key, tree: Filter | None) -> Why:
        entity, record_id = key
        row = self._records.facts(session, self._registry.get(entity), [record_id], tree).get(record_id)
        if row is None or row.deleted:
            raise NotFound("record.not_found")
        ran, strategy = found.ran, found.work.strategy
        documents = self._engine.documents(session, [key], {entity: tree})
        locales = tuple(one.locale for one in documents)
        place = next((at for at, one in enumerate(ran.fused, start=1) if one.key == key), None)
        because: Reason = "only_filter"
        if not locales or found.work.reach.wide is None or self._inside(session, ran, key):
            only = Group("and", (*([tree] if tree else []), Condition("id", "=", record_id)))
            there = place is not None and bool(locales)
            because = reason(self._counts(session, found), ran, {entity: only}, locales, entity, there)
        one = ran.fused[place - 1] if place else None
        return Why(
            entity=entity,
            id=record_id,
            reason=because,
            place=place,
            words_rank=one.words_rank if one else None,
            vector_rank=one.vector_rank if one else None,
            vector_ran=ran.leg.ran,
            vector_off=None if ran.leg.ran else ran.leg.disabled or strategy.degraded_reason or ran.leg.degraded,
            locales=locales,
        )

    def _inside(self, session: Any, ran: Ran, key: Key) -> bool:
        """Whether a record passes what the search was narrowed to; of another kind it fails by that already."""
        entity, record_id = key
        if entity not in ran.scope:
            return True
        return record_id in self._records.facts(session, self._registry.get(entity), [record_id], ran.scope[entity])


def texts_of(entity: Entity) -> frozenset[str]:
    """The fields that an entity's documents are made of: what people name the record by, and its texts.

    Titles and snippets are cut from all of them together, so whoever may not read one of them can't search here.
    """
    texts = {item.name for item in entity.fields if item.translated or item.kind == "text"}
    named = {entity.title_field, entity.reference_field or entity.title_field}
    return frozenset(texts | named)


def _sees_scores(actor: Actor) -> bool:
    """Raw similarities tell something of texts; they are for administrators."""
    return actor.may("*")
