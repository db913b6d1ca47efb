"""Copies of vectors outside PostgreSQL: an engine that searches keeps them, and the switch has them built.

`StoredVectors` and `ServingGeneration` are called by `search`, whose engine copies what stands in PostgreSQL, and
answered by `embeddings`; absence (None) means that there are no vectors, only words. `EngineCopies` is called by the
switch and answered by `search`'s engine; absence means that PostgreSQL alone has vectors. Sessions are SQLAlchemy's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from app.core.contracts.checkpoints import Checkpoint

LIVE = "live"
"""Instead of a generation: the one that answers, in place."""


@dataclass(frozen=True)
class Shape:
    """What makes the vectors of one space comparable."""

    space_id: int
    dimensions: int
    similarity: str


@dataclass(frozen=True)
class StoredPassage:
    """A vector as it stands in PostgreSQL: passage ``n`` of the record's text in ``locale``."""

    locale: str
    n: int
    vector: Sequence[float]


class StoredVectors(Protocol):
    """The vectors that stand in PostgreSQL, which stays the truth."""

    def serving(self, session: Any) -> Shape | None:
        """The space that answers now, None before the first."""
        ...

    def shape(self, session: Any, space_id: int) -> Shape | None:
        """A space, None when there is no such one."""
        ...

    def keep(self, session: Any, space_ids: Sequence[int]) -> None:
        """Copies of these spaces are kept, and of no other: from this commit on each change leaves an index event."""
        ...

    def passages(
        self, session: Any, space_id: int, entity: str, record_ids: Sequence[int]
    ) -> Mapping[int, Sequence[StoredPassage]]:
        """Record to its vectors, in order; records without any are left out."""
        ...

    def standing(self, session: Any, space_id: int, entity: str) -> tuple[int, Sequence[float] | None]:
        """How many records of the entity have a vector, and one to ask with."""
        ...


class ServingGeneration(Protocol):
    """The generation of indexes that answers stands in the serving row, so that one commit changes both."""

    def current(self, session: Any) -> int | None:
        """The generation on record, None before one was built."""
        ...

    def seconds(self, session: Any) -> float | None:
        """For how long it has answered, on the database's clock."""
        ...

    def serve(self, session: Any, generation: int) -> bool:
        """Let it answer from this commit on; False where there is no serving row yet."""
        ...

    def open_switch(self, session: Any) -> int | None:
        """The switch that runs or has failed: what it builds is in use."""
        ...


class EngineCopies(Protocol):
    """An engine's part of a switch. All but the first may raise :class:`app.core.errors.Unavailable`, and all may be
    repeated after whatever end."""

    def takes_part(self, session: Any) -> bool:
        """Whether the engine keeps copies now."""
        ...

    def prepare(self, switch_id: int, space_id: int, mode: Literal["side_by_side", "in_place"]) -> str:
        """Make the indexes that will hold the space; returns their generation, or :data:`LIVE`."""
        ...

    def copy(self, generation: str, entity: str, hold: Callable[[], None], checkpoint: Checkpoint) -> int:
        """Fill the index of one entity from PostgreSQL, going on where the last attempt stood.

        ``hold`` is called after each portion, and raises when somebody else has taken over. Returns how many records
        the engine refused; each is named in the log.
        """
        ...

    def problem(self, generation: str, entity: str, space_id: int, checkpoint: Checkpoint) -> str | None:
        """The first thing that is wrong with what stands, as a short class with counts, or None."""
        ...

    def tidy(self, checkpoint: Checkpoint) -> None:
        """Let the aliases stand for the generation that answers, and drop what nobody reads any more."""
        ...
