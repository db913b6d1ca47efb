"""Every stop of the sweep must be resumable to the same end as an uninterrupted switch (issue 4, Nth-call sweep)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.faults.harness import MODES, SIZE, FaultBench
from tests.faults.sweep import Counter, counted, switched
from tests.fixtures.bench import A, B

FULL = SIZE == "full"
SHARES = {"statement": 100, "send": 10, "commit": 24, "answer": 24, "http": 4, "copy": 1, "build": 1}
"""Into how many tests the points of a kind are divided, so that none takes long."""
SKIP = 23
"""The small size takes every so many-th of them."""


def _points() -> list[tuple[str, bool, str, int]]:
    every = [
        (kind, deadly, mode, share)
        for kind, shares in SHARES.items()
        for deadly in (False, True)
        for mode in MODES
        for share in range(shares)
    ]
    return every if FULL else [*every[::SKIP], *every[-7::3]]


@pytest.mark.parametrize(
    ("kind", "deadly", "mode", "share"),
    _points(),
    ids=[f"{kind}_{'dies' if deadly else 'fails'}-{mode}-{share}" for kind, deadly, mode, share in _points()],
)
def test_every_stop_leads_to_the_same_end(
    bench: FaultBench, kind: str, deadly: bool, mode: str, share: int, record_property: Callable[[str, object], None]
) -> None:
    expected = {key: _uninterrupted(bench, key) for key in (B, A)}
    target, other = (A, B) if bench.serving == B else (B, A)
    points = 0
    nth = share + 1
    while True:
        counter = Counter(bench, nth, deadly)
        with counted(bench, kind, counter):
            switched(bench, target, mode)
        where = f"{kind} {nth}"
        assert bench.serving == target, where
        assert bench.checker.violations_at_rest() == [], where
        assert bench.stored(target) == expected[target], where
        if not counter.hit:
            break
        points += 1
        nth += SHARES[kind]
        bench.ai.upkeep.prune(other)
        target, other = other, target
    record_property("sweep points", points)
    record_property("sweep violations", 0)


UNINTERRUPTED: dict[str, object] = {}
"""Model → its rows; records and servers are the same in every test."""


def _uninterrupted(bench: FaultBench, target: str) -> object:
    """The rows of a switch that nothing stops; both modes must end with them."""
    if target not in UNINTERRUPTED:
        former = bench.serving
        switched(bench, target, MODES[0])
        bench.ai.upkeep.prune(former)
        UNINTERRUPTED[target] = bench.stored(target)
    return UNINTERRUPTED[target]
