"""Vector spaces: stored declarations, so that a query always uses what the rows were made with (`switch.md`)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from app.embeddings.models import VectorSpace
from app.embeddings.profiles import Profile


@dataclass(frozen=True)
class Space:
    """One vector space. ``canary`` is the vector of the fixed probe text, made when the space was."""

    id: int
    profile: Profile
    dimensions: int
    similarity: str
    server_identity: str
    canary: NDArray[np.float32] | None
    retained_until: datetime | None

    @property
    def key(self) -> str:
        return self.profile.key


def as_space(row: VectorSpace) -> Space:
    """The space of a row, with the declaration that is stored, not the one that is configured now."""
    return Space(
        id=row.id,
        profile=Profile.from_declaration(row.declaration),
        dimensions=row.dimensions,
        similarity=row.similarity,
        server_identity=row.server_identity,
        canary=None if row.canary is None else np.asarray(row.canary, dtype=np.float32),
        retained_until=row.retained_until,
    )
