"""How search uses vectors without knowing that a model exists.

Called by `search`, answered by `embeddings` through the strategy resolver. Absence (None in the strategy) means that
no AI package is wired: search answers by words and says ``mode_unavailable``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from app.core.contracts.conditions import Filter

Unavailability = Literal["disabled", "suspended", "switching", "dimension_mismatch", "no_vectors"]


@dataclass(frozen=True)
class Guard:
    """What a search may expect of vectors: why there are none, or what serves as the guard saw it.

    ``serving`` means something to the vectors alone; it is handed back to them, so that it is not read again.
    ``snapshot``: the name under which another transaction sees what the guard saw, where it was asked to export that.
    """

    reason: Unavailability | None = None
    serving: object = None
    snapshot: str | None = None


@dataclass(frozen=True)
class QueryVector:
    """A question as a vector of one space; ``epoch`` is that of the serving row it was made under, ``model`` the key of
    the space's model."""

    space_id: int
    epoch: int
    vector: Sequence[float]
    model: str | None = None


class PassageHit(NamedTuple):
    """The best passage of one record. ``similarity`` is the cosine in [-1, 1]; ``start``/``end`` are offsets into the
    document's ``title + blank line + body``; ``current`` is false while the text has changed since it was embedded."""

    entity: str
    record_id: int
    locale: str
    similarity: float
    start: int
    end: int
    current: bool


@dataclass
class Leave:
    """What one vector leg may take, in seconds from now, and what became of the engine that was chosen for it.

    ``degraded`` is set by who answers: ``engine_unavailable`` or ``engine_timeout`` when PostgreSQL stood in for it.
    """

    seconds: Callable[[], float]
    degraded: str | None = None


class ServingChanged(Exception):
    """The serving model changed between the question's vector and the search; ask once more from the top."""


class VectorSearch(Protocol):
    """The vector half of search. ``session`` is a SQLAlchemy session in the search's own snapshot."""

    def guard(self, session: Any, export: bool = False) -> Guard:
        """The guard (`seed-facts.md` 6): the first reason that holds, in its order, or what serves. It may export its
        snapshot in the same round trip, where there is something to look for in it."""
        ...

    def known_vector(self, text: str, guard: Guard) -> QueryVector | None:
        """The vector of a question that was asked before under what the guard saw; asks nobody and never waits."""
        ...

    def query_vector(self, text: str, timeout: float, guard: Guard | None = None) -> QueryVector:
        """Embed a question with the model that the guard saw, without one with that which serves now; no transaction
        open. Whether it serves still is for :meth:`nearest` to say.

        Raises :class:`app.core.errors.Unavailable` when the server is away or slower than ``timeout`` seconds.
        """
        ...

    def settings(self, query: QueryVector, window: int) -> str:
        """Statements without an answer that :meth:`nearest` would begin with: who begins a transaction for it may send
        them along, which saves a round trip."""
        ...

    def nearest(
        self,
        session: Any,
        query: QueryVector,
        scope: Mapping[str, Filter | None],
        locale: str | None,
        window: int,
        leave: Leave | None = None,
        seen: Guard | None = None,
    ) -> list[PassageHit]:
        """The best ``window`` records of the entities in ``scope``, best first, ties by entity and id.

        ``seen``: what the guard saw in the snapshot of ``session``, and the question's vector was known under; without
        it the serving row is read again.
        ``locale`` restricts records to those that have that translation. An engine beside the database is waited for no
        longer than ``leave`` says (None: as for every request to it). Raises :class:`ServingChanged`.
        """
        ...
