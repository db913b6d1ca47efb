"""The settings of search, as one search uses them; all are read with one statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.core.contracts.strategy import Cost
from app.core.settings import schema
from app.core.settings.schema import Value
from app.search.budget import BUDGETS
from app.search.spelling import read_groups

Synonyms = Mapping[str, Sequence[Sequence[str]]]
"""Locale to groups of words."""


@dataclass(frozen=True)
class Options:
    """``budgets`` in milliseconds; the three weights in percent; ``model_seconds`` limits each call of a language model
    (None: the budget alone does). ``orchestration`` off: no search may use more than words."""

    page_size: int = 20
    synonyms: Synonyms = field(default_factory=dict)
    budgets: Mapping[Cost, int] = field(default_factory=lambda: dict(BUDGETS))
    deep_per_minute: int = 6
    max_retries: int = 2
    words_weight: int = 50
    vector_weight: int = 50
    rerank: bool = False
    rerank_top_k: int = 30
    rerank_weight: int = 60
    tuned: bool = False
    timings: bool = False
    orchestration: bool = True
    model_seconds: float | None = 10.0


BUDGET_NAMES: Mapping[Cost, str] = {
    "fast": schema.BUDGET_FAST,
    "balanced": schema.BUDGET_BALANCED,
    "deep": schema.BUDGET_DEEP,
}
SYNONYM_NAMES = {"en": schema.SYNONYMS_EN, "it": schema.SYNONYMS_IT}
NAMES = (
    *BUDGET_NAMES.values(),
    *SYNONYM_NAMES.values(),
    schema.PAGE_SIZE,
    schema.DEEP_PER_MINUTE,
    schema.MAX_RETRIES,
    schema.WORDS_WEIGHT,
    schema.VECTOR_WEIGHT,
    schema.RERANKER,
    schema.RERANKER_TOP_K,
    schema.RERANKER_WEIGHT,
    schema.ADAPTIVE_TUNING,
    schema.DEBUG_TIMINGS,
    schema.ORCHESTRATION,
    schema.ORCHESTRATION_SECONDS,
)
"""Every setting that a search reads."""


def read_options(values: Mapping[str, Value]) -> Options:
    """The options of the settings' values, by name. A language model's timeout of 0 is none."""

    def number(name: str) -> int:
        return int(values[name] or 0)

    return Options(
        page_size=number(schema.PAGE_SIZE),
        synonyms={locale: read_groups(str(values[name] or "")) for locale, name in SYNONYM_NAMES.items()},
        budgets={cost: number(name) for cost, name in BUDGET_NAMES.items()},
        deep_per_minute=number(schema.DEEP_PER_MINUTE),
        max_retries=number(schema.MAX_RETRIES),
        words_weight=number(schema.WORDS_WEIGHT),
        vector_weight=number(schema.VECTOR_WEIGHT),
        rerank=bool(values[schema.RERANKER]),
        rerank_top_k=number(schema.RERANKER_TOP_K),
        rerank_weight=number(schema.RERANKER_WEIGHT),
        tuned=bool(values[schema.ADAPTIVE_TUNING]),
        timings=bool(values[schema.DEBUG_TIMINGS]),
        orchestration=bool(values[schema.ORCHESTRATION]),
        model_seconds=float(number(schema.ORCHESTRATION_SECONDS)) or None,
    )
