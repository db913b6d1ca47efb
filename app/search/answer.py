"""What is asked of search and what it answers. Called by web and API, which render it; answered by `service.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, cast, get_args

from app.core.contracts.strategy import Cost, Matching, Mode
from app.core.errors import Invalid
from app.core.locale import LOCALES
from app.search.engines.ports import Facet
from app.search.matching import QUESTION_LIMIT
from app.search.narrowing import Only, read_only
from app.search.snippets import Piece
from app.search.tolerance import MATCHINGS

MODES: tuple[Mode, ...] = get_args(Mode)
COSTS: tuple[Cost, ...] = get_args(Cost)
DEFAULT_COST: Cost = "balanced"
PAGES_LIMIT = 10_000
SIZE_LIMIT = 100
RETRIES_LIMIT = 10
FLAGS = ("true", "false", "1", "0")


@dataclass(frozen=True)
class SearchRequest:
    """One search. No ``entities``: all that the actor may see. ``size`` None: the setting `search.page_size`.

    ``retries``: how often a poor answer may be asked again; the setting and the strategy limit it further. ``facets``:
    count what the matches are. ``explain``: say how the answer came about. ``only`` narrows by declared fields.
    """

    q: str
    entities: tuple[str, ...] = ()
    locale: str | None = None
    mode: Mode = "auto"
    cost: Cost = DEFAULT_COST
    page: int = 1
    size: int | None = None
    matching: Matching = "auto"
    retries: int = 0
    facets: bool = False
    explain: bool = False
    only: tuple[Only, ...] = ()


@dataclass(frozen=True)
class SearchHit:
    """One record. Ranks are 1-based places in each leg; ``similarity`` (cosine) is for administrators only.

    ``key`` is how people name the record (SAO-12). ``marked_title`` and ``snippet`` are plain text in pieces.
    """

    entity: str
    id: int
    key: str | None
    title: str
    marked_title: tuple[Piece, ...]
    locale: str
    snippet: tuple[Piece, ...]
    score: float
    words_rank: int | None
    vector_rank: int | None
    similarity: float | None = None
    source: str | None = None
    status: str | None = None
    updated_at: datetime | None = None
    explain: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class SearchMeta:
    """How an answer came about. ``strategies`` are the legs that ran (keyword, vector), ``driver`` the words' engine.

    ``matching`` has counts and never a word of the question (`seed-facts.md` 5.6). ``corrected``: words with one letter
    changed were looked for as well. ``degraded_reason`` says why less ran than was asked for, ``vector_disabled`` why
    the vector leg may not run (`seed-facts.md` 4.3, 6). ``note``: no_terms, title_only (no word of the question can be
    looked for), or beyond_window (there is no such page).

    ``quality`` in [0, 1] says how well the best hits fit (`search-measured.md` 6). ``per_strategy`` (each leg's own
    order) is for administrators, ``tuning`` only there when a profile was applied, ``timings`` only when asked for by
    `search.debug_timings`; ``total_results`` counts the hits of the page. ``left_out``: ``corrections``, ``facets`` and
    counts of ``explain`` for which the budget had no time left.
    """

    mode: Mode
    mode_applied: Cost
    cost: Cost
    strategies: tuple[str, ...]
    degraded_reason: str | None
    vector_disabled: str | None
    model: str | None
    took_ms: float
    window: int
    words: int
    vector: int
    note: str | None
    matching: Mapping[str, Any] = field(default_factory=dict)
    retries_used: int = 0
    corrected: bool = False
    driver: str = "postgres"
    reranked: bool = False
    reranker_model: str | None = None
    quality: float | None = None
    total_results: int = 0
    per_strategy: Mapping[str, Any] | None = None
    tuning: Mapping[str, Any] | None = None
    timings: Mapping[str, float | None] | None = None
    left_out: tuple[str, ...] | None = None

    def as_json(self) -> dict[str, Any]:
        """``meta.search`` of the API."""
        return {
            "mode": self.mode,
            "mode_requested": self.cost,
            "mode_applied": self.mode_applied,
            "cost": self.cost,
            "strategies": list(self.strategies),
            "degraded_reason": self.degraded_reason,
            "vector_disabled": self.vector_disabled,
            "model": self.model,
            "took_ms": self.took_ms,
            "window": self.window,
            "legs": {"words": self.words, "vector": self.vector},
            "note": self.note,
            "matching": dict(self.matching),
            "retries_used": self.retries_used,
            "corrected": self.corrected,
            "driver": self.driver,
            "strategies_executed": len(self.strategies),
            "reranked": self.reranked,
            "quality": self.quality,
            "total_results": self.total_results,
            **{name: value for name, value in self._sometimes().items() if value is not None},
        }

    def _sometimes(self) -> Mapping[str, Any]:
        return {
            "reranker_model": self.reranker_model,
            "per_strategy": self.per_strategy,
            "tuning": self.tuning,
            "timings": self.timings,
            "left_out": list(self.left_out) if self.left_out else None,
        }


Change = Literal["entity", "only", "locale", "matching", "demands"]


@dataclass(frozen=True)
class Relaxation:
    """A looser question that has hits: without the entity or the locale filter, or with words matched more freely.

    ``total`` counts what its words match.
    """

    change: Change
    total: int


@dataclass(frozen=True)
class SearchResponse:
    """One page. ``total`` counts what the words match in scope (`search-measured.md` 10); ``gte``: at least so many.

    ``did_you_mean`` is the question with its unknown words corrected; an empty page has ``relaxations``.
    """

    hits: tuple[SearchHit, ...]
    total: int
    total_relation: Literal["eq", "gte"]
    page: int
    pages: int
    size: int
    meta: SearchMeta
    did_you_mean: str | None = None
    relaxations: tuple[Relaxation, ...] = ()
    facets: tuple[Facet, ...] = ()
    explain: Mapping[str, Any] | None = None


def read_request(
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
    """A request from raw values; empty ones are defaults. Raises :class:`Invalid` with one error per field."""
    problems: list[Invalid] = []
    if not (q or "").strip():
        problems.append(Invalid("input.required", path="q"))
    elif len(q or "") > QUESTION_LIMIT:
        problems.append(Invalid("input.too_long", path="q", limit=QUESTION_LIMIT))
    request = SearchRequest(
        q=q or "",
        entities=tuple(dict.fromkeys(name for text in entities for name in text.split(",") if name)),
        locale=_choice("locale", locale, tuple(LOCALES), None, problems),
        mode=cast(Mode, _choice("mode", mode, MODES, "auto", problems)),
        cost=cast(Cost, _choice("cost", cost, COSTS, DEFAULT_COST, problems)),
        matching=cast(Matching, _choice("matching", matching, MATCHINGS, "auto", problems)),
        retries=_number("retries", retries, 0, RETRIES_LIMIT, problems, least=0) or 0,
        page=_number("page", page, 1, PAGES_LIMIT, problems) or 1,
        size=_number("size", size, None, SIZE_LIMIT, problems),
        facets=_flag("facets", facets, problems),
        explain=_flag("explain", explain, problems),
        only=_only(only, problems),
    )
    if problems:
        raise Invalid("input.invalid", fields=problems)
    return request


def _choice(
    name: str, value: str | None, allowed: Sequence[str], default: str | None, problems: list[Invalid]
) -> str | None:
    if not value:
        return default
    if value not in allowed:
        problems.append(Invalid("input.choice", path=name, value=value[:100], allowed=", ".join(allowed)))
        return default
    return value


def _only(texts: Sequence[str], problems: list[Invalid]) -> tuple[Only, ...]:
    try:
        return read_only(texts)
    except Invalid as refusal:
        problems.append(refusal)
        return ()


def _flag(name: str, value: str | None, problems: list[Invalid]) -> bool:
    return _choice(name, value, FLAGS, "false", problems) in ("true", "1")


def _number(
    name: str, value: str | None, default: int | None, largest: int, problems: list[Invalid], least: int = 1
) -> int | None:
    if not value:
        return default
    if not (value.isascii() and value.isdigit() and len(value) < 10 and least <= int(value) <= largest):
        problems.append(Invalid("input.type", path=name, expected=f"{least} … {largest}"))
        return default
    return int(value)
