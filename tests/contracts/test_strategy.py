"""Every resolver answers every mode and cost (`core/contracts/strategy.py`)."""

from __future__ import annotations

from typing import Any, cast

import pytest

from app.core.contracts.planning import IntentParser, Planner
from app.core.contracts.rerank import Reranker
from app.core.contracts.strategy import SearchStrategy, SearchStrategyResolver
from app.core.contracts.vectors import VectorSearch
from app.embeddings.strategy import VectorResolver
from app.search.answer import COSTS, MODES
from app.search.resolver import LexicalResolver

VECTORS = cast(VectorSearch, object())
INTENT = cast(IntentParser, object())
PLANNER = cast(Planner, object())
RERANKER = cast(Reranker, object())
RESOLVERS: dict[str, SearchStrategyResolver] = {
    "lexical": LexicalResolver(),
    "vector": VectorResolver(LexicalResolver(), VECTORS),
    "model": VectorResolver(LexicalResolver(), VECTORS, INTENT, PLANNER, RERANKER),
}


@pytest.mark.parametrize("name", RESOLVERS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("cost", COSTS)
def test_whatever_is_asked_is_answered(name: str, mode: Any, cost: Any) -> None:
    strategy = RESOLVERS[name].resolve(mode, cost)
    assert strategy.mode_applied in COSTS
    if mode == "basic" or cost == "fast":
        assert (strategy.vectors, strategy.degraded_reason, strategy.mode_applied) == (None, None, "fast")


def test_words_alone_say_so_when_more_was_asked() -> None:
    assert RESOLVERS["lexical"].resolve("auto", "deep").degraded_reason == "mode_unavailable"
    assert RESOLVERS["lexical"].resolve("orchestrated", "balanced").degraded_reason == "mode_unavailable"


def test_balanced_has_vectors_and_a_second_ranking_where_there_is_one() -> None:
    assert RESOLVERS["vector"].resolve("auto", "balanced") == SearchStrategy("balanced", VECTORS)
    assert RESOLVERS["model"].resolve("auto", "balanced") == SearchStrategy("balanced", VECTORS, reranker=RERANKER)


def test_deep_without_a_language_model_is_fast_and_says_so() -> None:
    strategy = RESOLVERS["vector"].resolve("auto", "deep")
    assert strategy == SearchStrategy("fast", None, degraded_reason="deep_unavailable")


def test_deep_has_everything() -> None:
    strategy = RESOLVERS["model"].resolve("auto", "deep")
    assert (strategy.mode_applied, strategy.vectors, strategy.degraded_reason) == ("deep", VECTORS, None)
    assert (strategy.intent, strategy.planner, strategy.reranker) == (INTENT, PLANNER, RERANKER)
    assert strategy.max_retries == 2
