"""Where kept questions are: one port, answered by PostgreSQL (`store.py`) and Elasticsearch
(`elasticsearch_questions.py`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Literal, Protocol

from app.core.unit import Unit

Made = Literal["there", "created", "recreated"]


class QuestionStore(Protocol):
    """Called by `log.py` alone. What is in PostgreSQL changes in the caller's unit, which nothing here commits.

    What a store takes is strict: a field that it does not know is refused. ``prune`` and ``erase`` of a store that was
    never made do nothing. Everything raises :class:`app.core.errors.Unavailable` while the store is away.
    """

    place: str
    """What an administrator knows it by."""

    def add(self, unit: Unit, values: Mapping[str, Any], milliseconds: int) -> None:
        """Keep one question; raises when it takes longer than ``milliseconds``."""
        ...

    def prune(self, unit: Unit, before: datetime, most: int) -> int:
        """Delete up to ``most`` questions that are older; returns how many."""
        ...

    def erase(self, unit: Unit, references: Collection[str] | None, query: str | None) -> int:
        """Delete the questions of any of the references, with exactly this text, or both; returns how many.

        None asks nothing; that both are None is a mistake of the caller.
        """
        ...

    def ensure(self, unit: Unit, *, anew: bool) -> Made:
        """Make it where it is missing; ``anew`` removes it first, with all it holds.

        Raises :class:`app.core.errors.Conflict` when there is one of another form.
        """
        ...
