"""How other parts ask the word index without knowing an engine.

Called by `documentation`, answered by `search` on the engine in use. Absence: documentation can't be searched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from app.core.contracts.conditions import Filter


@dataclass(frozen=True)
class WordHit:
    """A record that has words of the question; scores of one answer compare."""

    entity: str
    record_id: int
    score: float


@dataclass(frozen=True)
class WordMatches:
    """At most a window of hits, best first. ``known_mass`` in [0, 1]: the share of the question's idf whose terms the
    index has (`search-measured.md` 2)."""

    hits: Sequence[WordHit]
    known_mass: float


class WordSearch(Protocol):
    """``session`` is a SQLAlchemy session in the caller's own snapshot."""

    def matches(
        self, session: Any, question: str, scope: Mapping[str, Filter | None], locale: str | None, window: int
    ) -> WordMatches:
        """The best ``window`` records of the entities in ``scope``; ``locale`` restricts them to those that have it."""
        ...

    def coverage(
        self, session: Any, question: str, entities: Sequence[str], locale: str, texts: Sequence[str]
    ) -> Sequence[float]:
        """For each of ``texts`` the share, in [0, 1], of the question's idf whose terms stand in it."""
        ...
