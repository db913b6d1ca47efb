"""How documentation asks for single passages, where search asks for records.

Called by `documentation`, answered by `embeddings`. Absence (None): there are no vectors, words answer alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from app.core.contracts.conditions import Filter
from app.core.contracts.vectors import PassageHit, QueryVector


@dataclass(frozen=True)
class Mixture:
    """A corpus that two models have embedded: ``serving`` answers, and at least one passage is of ``other`` only."""

    serving: str
    other: str


class PassageSearch(Protocol):
    """``session`` is a SQLAlchemy session in the caller's own snapshot."""

    def passages(
        self, session: Any, query: QueryVector, scope: Mapping[str, Filter | None], locale: str | None, limit: int
    ) -> list[PassageHit]:
        """The best ``limit`` passages of the entities in ``scope``, best first; a record may give several.

        Among them may be passages of a text that has changed since (``current`` false). ``locale`` restricts records to
        those that have that translation. Raises :class:`app.core.contracts.vectors.ServingChanged`.
        """
        ...

    def mixture(self, session: Any, entities: Sequence[str]) -> Mixture | None:
        """Whether a current text lacks vectors of the serving model and has some of another.

        Vectors of a switch's target, and those that are kept after a switch, are no mixture.
        """
        ...
