"""Vectors of questions, kept for as long as the model that made them serves.

A question is asked again and again (the next page, the next letter typed, both halves of a retry), and its vector costs
more than all the rest of a search. Kept in memory, a bounded number, the least recently used goes first; nothing of it
is logged or stored.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from app.core.recent import Recent
from app.embeddings.profiles import Profile

KEPT = 1024


@dataclass(frozen=True)
class Asked:
    """What a vector depends on: the space, its model with whoever adds the prefix, and the normalised question."""

    space_id: int
    model: str
    prefixes: str
    prefix: str
    wording: str


def asked(space_id: int, profile: Profile, wording: str) -> Asked:
    """The key of a question in a space that declares ``profile``."""
    return Asked(space_id, profile.key, profile.prefixes, profile.query_prefix, wording)


class QuestionVectors:
    """The vectors of one epoch of the serving row: each activation, suspension and lifting raises it.

    The first question of a new epoch clears all. Who still holds an older one (its search began before) reads nothing
    and leaves nothing here.
    """

    def __init__(self, size: int = KEPT) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._epoch = -1
        self._recent: Recent[Asked, Sequence[float]] = Recent(size)

    def __len__(self) -> int:
        return len(self._recent)

    def get(self, epoch: int, question: Asked) -> Sequence[float] | None:
        """The vector, where it was made in this epoch."""
        recent = self._of(epoch)
        return None if recent is None else recent.get(question)

    def put(self, epoch: int, question: Asked, vector: Sequence[float]) -> None:
        """Keep a vector that was made in ``epoch``."""
        recent = self._of(epoch)
        if recent is not None:
            recent.put(question, vector)

    def _of(self, epoch: int) -> Recent[Asked, Sequence[float]] | None:
        with self._lock:
            if epoch > self._epoch:
                self._epoch, self._recent = epoch, Recent(self._size)
            return self._recent if epoch == self._epoch else None
