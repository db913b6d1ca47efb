"""How search uses vectors without knowing that a model exists.

Called by `search`, answered by `embeddings` through the strategy resolver. Absence (None in the strategy) means that
no AI package is wired: search answers by words and says ``mode_unavailable``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from app.core.contracts.conditions import Filter

Unavailability = Literal["disabled", "suspended", "switching", "dimension_mismatch", "no_vectors"]


@dataclass(frozen=True)
class QueryVector:
    """A question as a vector of one space; ``epoch`` is that of the serving row it was made under."""

    space_id: int
    epoch: int
    vector: Sequence[float]


@dataclass(frozen=True)
class PassageHit:
    """The best passage of one record. ``similarity`` is the cosine in [-1, 1]; ``start``/``end`` are offsets into the
    document's ``title + blank line + body``; ``current`` is false while the text has changed since it was embedded."""

    entity: str
    record_id: int
    locale: str
    similarity: float
    start: int
    end: int
    current: bool


class ServingChanged(Exception):
    """The serving model changed between the question's vector and the search; ask once more from the top."""


class VectorSearch(Protocol):
    """The vector half of search. ``session`` is a SQLAlchemy session in the search's own snapshot."""

    def unavailable(self, session: Any) -> Unavailability | None:
        """The guard (`seed-facts.md` 6): the first reason that holds, in its order, or None."""
        ...

    def query_vector(self, text: str, timeout: float) -> QueryVector:
        """Embed a question with the serving model, no transaction open.

        Raises :class:`app.core.errors.Unavailable` when the server is away or slower than ``timeout`` seconds.
        """
        ...

    def nearest(
        self, session: Any, query: QueryVector, scope: Mapping[str, Filter | None], locale: str | None, window: int
    ) -> list[PassageHit]:
        """The best ``window`` records of the entities in ``scope``, best first, ties by entity and id.

        ``locale`` restricts records to those that have that translation. Raises :class:`ServingChanged`.
        """
        ...
