"""Every resolver answers every mode and cost (`core/contracts/strategy.py`)."""

from __future__ import annotations

from typing import Any, cast

import pytest

from app.core.contracts.strategy import SearchStrategyResolver
from app.core.contracts.vectors import VectorSearch
from app.embeddings.strategy import VectorResolver
from app.search.answer import COSTS, MODES
from app.search.resolver import LexicalResolver

VECTORS = cast(VectorSearch, object())
RESOLVERS: dict[str, SearchStrategyResolver] = {
    "lexical": LexicalResolver(),
    "vector": VectorResolver(LexicalResolver(), VECTORS),
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


def test_deep_is_balanced_and_says_so() -> None:
    strategy = RESOLVERS["vector"].resolve("auto", "deep")
    assert (strategy.vectors, strategy.mode_applied, strategy.degraded_reason) == (
        VECTORS,
        "balanced",
        "deep_unavailable",
    )
    assert RESOLVERS["vector"].resolve("auto", "balanced").degraded_reason is None
