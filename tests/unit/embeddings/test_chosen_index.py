"""Who answers for the chosen index, in which time, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.core.contracts.vectors import Leave, PassageHit
from app.core.elasticsearch.client import SLOW
from app.core.errors import Unavailable
from app.embeddings.indexes.chosen import SKIPPED_SECONDS, ChosenIndex
from app.embeddings.indexes.elasticsearch import Short
from app.embeddings.indexes.ports import Lookup, Target
from tests.fakes.clock import FakeClock

OURS = [PassageHit("e", 1, "en", 0.5, 0, 10, True)]
THEIRS = [PassageHit("e", 2, "en", 0.5, 0, 10, True)]


class Answers:
    """An index that answers, or fails; ``asked`` is how long it might take."""

    def __init__(self, hits: list[PassageHit], failure: Exception | None = None) -> None:
        self.hits, self.failure, self.asked = hits, failure, list[float | None]()

    def nearest(self, session: Any, lookup: Lookup) -> list[PassageHit]:
        self.asked.append(lookup.seconds())
        if self.failure:
            raise self.failure
        return self.hits


def ask(index: ChosenIndex, leave: Leave | None) -> list[PassageHit]:
    session: Any = None
    return index.nearest(session, Lookup(Target(1, 4, "cosine"), (1, 0, 0, 0), {}, None, 10, leave))


def chosen(elasticsearch: Any, clock: FakeClock, is_chosen: bool = True) -> ChosenIndex:
    return ChosenIndex(Answers(OURS), elasticsearch, lambda session: is_chosen, clock)


@pytest.mark.parametrize(
    ("failure", "degraded"),
    [
        (Unavailable("engine.away", kind=SLOW), "engine_timeout"),
        (Unavailable("engine.away", kind="away"), "engine_unavailable"),
        (Unavailable("engine.refused", kind="x"), "engine_unavailable"),
        (Short(), None),
    ],
)
def test_who_stood_in_is_said(failure: Exception, degraded: str | None, clock: FakeClock) -> None:
    leave = Leave(lambda: 1.0)
    assert ask(chosen(Answers(THEIRS, failure), clock), leave) == OURS
    assert leave.degraded == degraded


def test_nothing_is_said_of_who_was_chosen(clock: FakeClock) -> None:
    leave = Leave(lambda: 1.0)
    assert ask(chosen(Answers(THEIRS), clock), leave) == THEIRS
    assert ask(chosen(Answers(THEIRS), clock, is_chosen=False), leave) == OURS
    assert leave.degraded is None


def test_an_index_that_refused_is_left_alone_for_a_while_and_that_is_said(clock: FakeClock) -> None:
    theirs = Answers(THEIRS, Unavailable("engine.refused", kind="x"))
    index = chosen(theirs, clock)
    for asked in (1, 1):
        leave = Leave(lambda: 1.0)
        assert ask(index, leave) == OURS
        assert (len(theirs.asked), leave.degraded) == (asked, "engine_unavailable")
    clock.advance(SKIPPED_SECONDS + 1)
    ask(index, None)
    assert len(theirs.asked) == 2


@pytest.mark.parametrize(("left", "given"), [(lambda: 1.0, 0.6), (lambda: 0.001, 0.001), (None, None)])
def test_it_may_take_its_share_of_the_leg(
    left: Callable[[], float] | None, given: float | None, clock: FakeClock
) -> None:
    theirs = Answers(THEIRS)
    ask(chosen(theirs, clock), Leave(left) if left else None)
    assert theirs.asked == [given if given is None else pytest.approx(given)]
