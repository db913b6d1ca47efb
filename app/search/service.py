"""Search: one question, at most two legs, one order, one page, and the truth about how it came about.

Read path (`switch.md`): guard and question's vector with no transaction open, then one REPEATABLE READ snapshot for
both legs, which run side by side (`legs.py`), the page and its texts. When the serving model changed in between, all
is asked once more from the top.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.core.access import policy
from app.core.clock import Clock
from app.core.contracts.actor import Actor
from app.core.contracts.conditions import Condition, Filter, Group
from app.core.contracts.strategy import SearchStrategy, SearchStrategyResolver
from app.core.contracts.vectors import PassageHit, ServingChanged, VectorSearch
from app.core.errors import Forbidden, Invalid, NotFound
from app.core.registry import Entity, Registry
from app.core.unit import Units
from app.search.answer import Relaxation, SearchHit, SearchMeta, SearchRequest, SearchResponse, read_request
from app.search.engines.ports import Facet, Key, KeywordLeg, SearchEngine
from app.search.explain import Ran, Why, explained, hit_explained, reason
from app.search.fusion import Fused, Scored, fuse
from app.search.legs import Legs, Question, VectorLeg
from app.search.matching import ParsedQuery, parse_question
from app.search.page import Found, Pages
from app.search.spelling import respelt
from app.search.store import facts
from app.search.tolerance import described
from app.search.words import WINDOW, WordLeg
from app.search.work import Defaults, Reach, Work, changed, facet_fields, relaxations

WORD_SHARE = 0.5


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
        self._units = units
        self._registry = registry
        self._engine = engine
        self._resolver = resolver
        self._clock = clock
        self._defaults = defaults
        self._pages = Pages(engine, registry)
        self._legs = Legs(units, clock, defaults.budget_ms)
        self._words = WordLeg(engine, defaults.synonyms)

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
        )

    @staticmethod
    def plain(text: str) -> str:
        """The wording of a question without its operators and without what it excludes."""
        return parse_question(text).phrase

    def search(self, actor: Actor, request: SearchRequest) -> SearchResponse:
        """One page of the best answer that can be had.

        Raises :class:`Invalid` for an unknown entity and :class:`Forbidden` for one that the actor may not see or whose
        texts a field rule hides; a model that is away is no error: words answer, and the meta says so.
        """
        work = self._work(actor, request, self._clock.monotonic())
        for vectors in (work.strategy.vectors, work.strategy.vectors):
            try:
                return self._answer(work, vectors)
            except ServingChanged:
                continue
        return self._answer(changed(work), None)

    def _work(self, actor: Actor, request: SearchRequest, started: float) -> Work:
        reach = self._reach(actor, request)
        query = parse_question(request.q, request.matching)
        return Work(actor, request, reach, query, self._strategy(actor, request), started)

    def _strategy(self, actor: Actor, request: SearchRequest) -> SearchStrategy:
        """What this search may use; a deep one over the person's limit is answered fast and not refused."""
        if request.cost == "deep" and request.mode != "basic":
            with self._units() as unit:
                allowed = self._defaults.deep_allowed(unit.session, actor)
            if not allowed:
                return replace(self._resolver.resolve(request.mode, "fast"), degraded_reason="rate_limited")
        return self._resolver.resolve(request.mode, request.cost)

    def _reach(self, actor: Actor, request: SearchRequest) -> Reach:
        scope = self._scope(actor, request)
        readable = {name: policy.readable(self._registry.get(name), actor) for name in scope}
        return Reach(scope, readable, _sees_scores(actor))

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

    def _answer(self, work: Work, vectors: VectorSearch | None) -> SearchResponse:
        """Both legs and the page, on one snapshot. Raises :class:`ServingChanged`."""
        request = work.request
        question = self._question(work, vectors)
        with self._units("REPEATABLE READ") as unit:
            session = unit.session
            ran, corrections = self._ran(session, work, question)
            size = request.size or self._defaults.page_size(session)
            shown = ran.fused[(request.page - 1) * size : request.page * size]
            hits = self._hits(session, work, ran, shown)
            model = self._defaults.model(session) if ran.leg.ran else None
            looser = () if ran.fused or request.page > 1 else self._looser(session, work)
            facets = self._facets(session, work, ran) if request.facets else ()
            told = self._explained(session, work, ran) if request.explain else None
        meta = self._meta(replace(work, query=ran.query), ran.words, ran.leg, model)
        return SearchResponse(
            hits=hits,
            total=ran.words.total,
            total_relation="gte" if ran.words.capped else "eq",
            page=request.page,
            pages=-(-len(ran.fused) // size),
            size=size,
            meta=replace(meta, note="beyond_window") if request.page > 1 and not shown else meta,
            did_you_mean=respelt(request.q.strip(), corrections) if corrections else None,
            relaxations=looser,
            facets=facets,
            explain=told,
        )

    def _question(self, work: Work, vectors: VectorSearch | None) -> Question:
        if vectors is None:
            return Question()
        return self._legs.question(vectors, work.query.phrase, work.started)

    def _ran(self, session: Any, work: Work, question: Question) -> tuple[Ran, Mapping[str, str]]:
        """Both legs, fused, and what was perhaps meant."""
        request, scope = work.request, work.reach.scope
        found = self._legs.start(session, question, scope, request.locale, WINDOW)
        words, query, corrections = self._words.ask(session, work.query, scope, request.locale)
        leg = self._demanded(session, query, found())
        weight = WORD_SHARE * words.known_idf_mass
        fused = _fused(words, leg.passages, weight)
        return Ran(query, scope, request.locale, words, leg, fused, weight), corrections

    def _hits(self, session: Any, work: Work, ran: Ran, shown: Sequence[Fused]) -> tuple[SearchHit, ...]:
        by_key = {(hit.entity, hit.record_id): hit for hit in ran.leg.passages}
        found = Found(ran.query, ran.scope, ran.words, by_key, work.reach.readable)
        hits = self._pages.hits(session, shown, found, ran.locale, work.reach.scores)
        if not (work.request.explain and work.reach.scores):
            return hits
        raw = {hit.key: hit.score for hit in ran.words.hits}
        parts = {one.key: one for one in shown}
        return tuple(
            replace(hit, explain=hit_explained(parts[hit.entity, hit.id], raw, hit.similarity)) for hit in hits
        )

    def _facets(self, session: Any, work: Work, ran: Ran) -> tuple[Facet, ...]:
        """What the total counts, by entity, locale and the fields that an entity declares and the actor may read."""
        readable = work.reach.readable
        fields = {name: facet_fields(self._registry.get(name), readable[name]) for name in ran.scope}
        return tuple(self._engine.facets(session, ran.query, ran.scope, ran.locale, fields))

    def _explained(self, session: Any, work: Work, ran: Ran) -> Mapping[str, Any]:
        everything = self._scope(work.actor, replace(work.request, entities=()))
        return explained(self._engine, session, ran, everything, work.reach.scores)

    def why(self, actor: Actor, request: SearchRequest, entity: str, record_id: int) -> Why:
        """What becomes of one record that the actor may see in this search (`search-measured.md` 11).

        Raises :class:`NotFound` for a record that is not there or that they may not see, which is the same to them;
        otherwise as :meth:`search`.
        """
        started = self._clock.monotonic()
        work = self._work(actor, request, started)
        tree = self._scope(actor, replace(request, entities=(entity,)))[entity]
        for vectors in (work.strategy.vectors, work.strategy.vectors):
            try:
                return self._why(work, vectors, (entity, record_id), tree)
            except ServingChanged:
                continue
        return self._why(changed(work), None, (entity, record_id), tree)

    def _why(self, work: Work, vectors: VectorSearch | None, key: Key, tree: Filter | None) -> Why:
        entity, record_id = key
        question = self._question(work, vectors)
        with self._units("REPEATABLE READ") as unit:
            session = unit.session
            row = facts(session, self._registry.get(entity), [record_id], tree).get(record_id)
            if row is None or row.deleted:
                raise NotFound("record.not_found")
            ran, _ = self._ran(session, work, question)
            documents = self._engine.documents(session, [key], {entity: tree})
            locales = tuple(one.locale for one in documents)
            place = next((at for at, one in enumerate(ran.fused, start=1) if one.key == key), None)
            only = Group("and", (*([tree] if tree else []), Condition("id", "=", record_id)))
            because = reason(
                self._engine, session, ran, {entity: only}, locales, entity, place is not None and bool(locales)
            )
        one = ran.fused[place - 1] if place else None
        return Why(
            entity=entity,
            id=record_id,
            reason=because,
            place=place,
            words_rank=one.words_rank if one else None,
            vector_rank=one.vector_rank if one else None,
            vector_ran=ran.leg.ran,
            vector_off=None if ran.leg.ran else ran.leg.disabled or work.strategy.degraded_reason or ran.leg.degraded,
            locales=locales,
        )

    def _looser(self, session: Any, work: Work) -> tuple[Relaxation, ...]:
        everything = self._scope(work.actor, replace(work.request, entities=()))
        return relaxations(self._engine, session, work, everything)

    def _demanded(self, session: Any, query: ParsedQuery, leg: VectorLeg) -> VectorLeg:
        """What the question demands by name holds for what its meaning finds, too."""
        if not query.demands or not leg.passages:
            return leg
        kept = self._engine.satisfying(session, query, [(hit.entity, hit.record_id) for hit in leg.passages])
        return replace(leg, passages=tuple(hit for hit in leg.passages if (hit.entity, hit.record_id) in kept))

    def _meta(self, work: Work, words: KeywordLeg, leg: VectorLeg, model: str | None) -> SearchMeta:
        return SearchMeta(
            mode=work.request.mode,
            mode_applied=work.strategy.mode_applied,
            cost=work.request.cost,
            strategies=("keyword", "vector") if leg.ran else ("keyword",),
            degraded_reason=work.strategy.degraded_reason or leg.degraded or words.degraded,
            vector_disabled=leg.disabled,
            model=model,
            took_ms=round((self._clock.monotonic() - work.started) * 1000, 1),
            window=WINDOW,
            words=len(words.hits),
            vector=len(leg.passages),
            note=words.note,
            matching=_matching(work.query),
            corrected=any(one.locale is None for one in work.query.alternatives),
        )


def _matching(query: ParsedQuery) -> Mapping[str, Any]:
    if query.analysis is None or query.rules is None:
        return {}
    return described(query.analysis, query.rules, query.counts())


def _fused(words: KeywordLeg, passages: Sequence[PassageHit], weight: float) -> list[Fused]:
    return fuse(
        [Scored(hit.key, hit.score, hit.named) for hit in words.hits],
        [Scored((hit.entity, hit.record_id), hit.similarity) for hit in passages],
        weight,
    )


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
