"""Search: one question, at most two legs, one order, one page, and the truth about how it came about.

Read path (`switch.md`): guard → question's vector with no transaction open → one REPEATABLE READ snapshot for both
legs, the page and its texts. When the serving model changes in between, all is asked once more from the top.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from app.core.access import policy
from app.core.clock import Clock
from app.core.contracts.actor import Actor
from app.core.contracts.conditions import Filter
from app.core.contracts.strategy import SearchStrategy, SearchStrategyResolver
from app.core.contracts.vectors import PassageHit, QueryVector, ServingChanged, VectorSearch
from app.core.errors import Forbidden, Invalid, ModelServerFailed, Unavailable
from app.core.registry import Entity, Registry
from app.core.unit import Units
from app.search.answer import SearchMeta, SearchRequest, SearchResponse, read_request
from app.search.engines.ports import KeywordLeg, SearchEngine
from app.search.fusion import Fused, Scored, fuse
from app.search.matching import ParsedQuery, parse_query
from app.search.page import Found, Pages

WINDOW = 200
"""Records of each leg; ranks, normalisation and pages come from it alone (`search-measured.md` 3)."""
EMBED_SECONDS = 1.2
"""What the question's vector may take of the 1.5 s of a balanced search (`search-measured.md` 8)."""
WORD_SHARE = 0.5

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class _Vectors:
    """What came of asking for vectors: a question's vector, or why there is none."""

    search: VectorSearch | None = None
    query: QueryVector | None = None
    degraded: str | None = None
    disabled: str | None = None


@dataclass(frozen=True)
class _Reach:
    """What the actor may find and be told: each entity's row filter and readable fields, and raw similarities."""

    scope: Mapping[str, Filter | None]
    readable: Mapping[str, frozenset[str]]
    scores: bool


@dataclass(frozen=True)
class Defaults:
    """What search reads of the settings and of the serving model, in the search's own session."""

    page_size: Callable[[Any], int]
    model: Callable[[Any], str | None]


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
        page: str | None = None,
        size: str | None = None,
    ) -> SearchRequest:
        """A request from raw values, empty ones being defaults. Raises :class:`Invalid` with one error per field."""
        return read_request(q=q, entities=entities, locale=locale, mode=mode, cost=cost, page=page, size=size)

    def search(self, actor: Actor, request: SearchRequest) -> SearchResponse:
        """One page of the best answer that can be had.

        Raises :class:`Invalid` for an unknown entity and :class:`Forbidden` for one that the actor may not see or whose
        texts a field rule hides; a model that is away is no error: words answer, and the meta says so.
        """
        started = self._clock.monotonic()
        reach = self._reach(actor, request)
        query = parse_query(request.q)
        strategy = self._resolver.resolve(request.mode, request.cost)
        for _ in range(2):
            vectors = self._vectors(strategy, query)
            try:
                return self._answer(request, reach, query, strategy, vectors, started)
            except ServingChanged:
                continue
        changed = _Vectors(degraded="serving_changed")
        return self._answer(request, reach, query, strategy, changed, started)

    def _reach(self, actor: Actor, request: SearchRequest) -> _Reach:
        scope = self._scope(actor, request)
        readable = {name: policy.readable(self._registry.get(name), actor) for name in scope}
        return _Reach(scope, readable, _sees_scores(actor))

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

    def _vectors(self, strategy: SearchStrategy, query: ParsedQuery) -> _Vectors:
        """The question's vector; no transaction is open while the model is asked."""
        search = strategy.vectors
        if search is None:
            return _Vectors()
        with self._units() as unit:
            disabled = search.unavailable(unit.session)
        if disabled or not query.phrase:
            return _Vectors(disabled=disabled, degraded="vectors_unavailable" if disabled else None)
        try:
            return _Vectors(search=search, query=search.query_vector(query.phrase, EMBED_SECONDS))
        except Unavailable as error:
            timed_out = isinstance(error, ModelServerFailed) and error.reason == "timeout"
            log.warning("search.query_vector_failed", code=error.code)
            return _Vectors(degraded="embedder_timeout" if timed_out else "embedder_unavailable")

    def _answer(
        self,
        request: SearchRequest,
        reach: _Reach,
        query: ParsedQuery,
        strategy: SearchStrategy,
        vectors: _Vectors,
        started: float,
    ) -> SearchResponse:
        with self._units("REPEATABLE READ") as unit:
            session = unit.session
            words = self._engine.keyword(session, query, reach.scope, request.locale, WINDOW)
            passages = self._passages(session, vectors, reach.scope, request.locale)
            fused = _fused(words, passages)
            by_key = {(hit.entity, hit.record_id): hit for hit in passages}
            found = Found(query, reach.scope, words, by_key, reach.readable)
            size = request.size or self._defaults.page_size(session)
            shown = fused[(request.page - 1) * size : request.page * size]
            hits = self._pages.hits(session, shown, found, request.locale, reach.scores)
            model = self._defaults.model(session) if vectors.query else None
        meta = SearchMeta(
            mode=request.mode,
            mode_applied=strategy.mode_applied,
            cost=request.cost,
            strategies=("keyword", "vector") if vectors.query else ("keyword",),
            degraded_reason=strategy.degraded_reason or vectors.degraded,
            vector_disabled=vectors.disabled,
            model=model,
            took_ms=round((self._clock.monotonic() - started) * 1000, 1),
            window=WINDOW,
            words=len(words.hits),
            vector=len(passages),
            note="beyond_window" if request.page > 1 and not shown else words.note,
        )
        return SearchResponse(
            hits=hits,
            total=words.total,
            total_relation="gte" if words.capped else "eq",
            page=request.page,
            pages=-(-len(fused) // size),
            size=size,
            meta=meta,
        )

    def _passages(
        self, session: Any, vectors: _Vectors, scope: Mapping[str, Filter | None], locale: str | None
    ) -> list[PassageHit]:
        if vectors.search is None or vectors.query is None:
            return []
        return vectors.search.nearest(session, vectors.query, scope, locale, WINDOW)


def _fused(words: KeywordLeg, passages: list[PassageHit]) -> list[Fused]:
    return fuse(
        [Scored(hit.key, hit.score, hit.named) for hit in words.hits],
        [Scored((hit.entity, hit.record_id), hit.similarity) for hit in passages],
        WORD_SHARE * words.known_idf_mass,
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
