"""Pages of an answer neither repeat nor lose a hit, ties stand still, and the same question has the same answer."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import pytest

from app.core.contracts.actor import SYSTEM
from app.search.words import WINDOW
from tests.integration.search_crowd.crowd import EVERYWHERE, WORDS, Crowd

RUNS = 20
QUESTIONS = (EVERYWHERE, WORDS[0], f"{WORDS[1]} {WORDS[4]}", "a meaning that no text has words of", "SAO-12 desk")
SMALLEST = (WORDS[0], "balanced")
"""The question whose answer is cut into the smallest pages, some fifty of them."""
Hit = tuple[str, int, float, int | None, int | None]


def answer(crowd: Crowd, q: str, size: int, **options: Any) -> tuple[list[Hit], list[int]]:
    """All hits in the order of the pages, and how many each page had; the one behind the last has none."""
    hits: list[Hit] = []
    counts = []
    for found in crowd.pages(SYSTEM, q, size=str(size), retries="2", **options):
        hits += [(hit.entity, hit.id, hit.score, hit.words_rank, hit.vector_rank) for hit in found.hits]
        counts.append(len(found.hits))
    assert counts[-1] == 0 or len(counts) == 1
    return hits, counts


@pytest.mark.parametrize(
    ("q", "cost"), [*product(QUESTIONS, ("fast", "balanced")), *product(QUESTIONS[1:3], ("deep",))]
)
def test_pages_of_any_size_are_cuts_of_one_order(crowd: Crowd, q: str, cost: str) -> None:
    whole, _ = answer(crowd, q, 100, cost=cost)
    keys = [hit[:2] for hit in whole]
    assert len(keys) == len(set(keys))
    assert len(keys) <= 2 * WINDOW
    size = 7 if (q, cost) == SMALLEST else 33
    cut, counts = answer(crowd, q, size, cost=cost)
    assert cut == whole
    assert all(count == size for count in counts[:-2])


@pytest.mark.parametrize("cost", ["fast", "balanced"])
def test_both_legs_fill_their_windows(crowd: Crowd, cost: str) -> None:
    whole, _ = answer(crowd, EVERYWHERE, 100, cost=cost)
    assert sorted(hit[3] for hit in whole if hit[3]) == list(range(1, WINDOW + 1))
    by_vector = sorted(hit[4] for hit in whole if hit[4])
    assert by_vector == (list(range(1, WINDOW + 1)) if cost == "balanced" else [])


def test_the_engine_that_is_meant_answers_for_both_legs(crowd: Crowd, request: pytest.FixtureRequest) -> None:
    engine = "elasticsearch" if "elasticsearch" in request.node.name else "postgres"
    found = crowd.ask(SYSTEM, WORDS[0], cost="balanced")
    assert (found.meta.driver, found.meta.strategies) == (engine, ("keyword", "vector"))
    assert not getattr(crowd.index, "_skipped", {})


@pytest.mark.parametrize("q", QUESTIONS[:4])
def test_equal_scores_stand_in_the_order_of_entity_and_id(crowd: Crowd, q: str) -> None:
    whole, _ = answer(crowd, q, 100, cost="balanced")
    for before, after in pairwise(whole):
        if before[2] == after[2]:
            assert before[:2] < after[:2]


@pytest.mark.parametrize("cost", ["fast", "balanced", "deep"])
def test_twenty_runs_are_alike(crowd: Crowd, cost: str) -> None:
    for q in QUESTIONS[2:4]:
        first = [(hit.entity, hit.id, hit.score, hit.snippet) for hit in ask(crowd, q, cost)]
        for _ in range(RUNS - 1):
            assert [(hit.entity, hit.id, hit.score, hit.snippet) for hit in ask(crowd, q, cost)] == first


def ask(crowd: Crowd, q: str, cost: str) -> Any:
    return crowd.ask(SYSTEM, q, cost=cost, size="20", retries="2").hits
