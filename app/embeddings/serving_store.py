"""What a search reads of the serving row: all that its guard looks at in one statement, and once more for its leg."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.embeddings.profiles import Profile

GUARDED = text("""
select s.space_id, s.epoch, s.model_key, s.suspended_reason, s.dimensions, s.similarity, s.dimensions = v.dimensions,
    v.declaration, exists (
    select from search_documents d
    cross join lateral (select from embeddings e
        where e.entity = d.entity and e.record_id = d.record_id and e.locale = d.locale and e.space_id = s.space_id
        limit 1) e
    where d.embeddable limit 1), case when :export then pg_export_snapshot() end
from serving s join vector_spaces v on v.id = s.space_id
""")
"""The limit inside keeps the last column a walk over documents that ends at the first hit; a plain semi-join would read
all rows of another, retained space first."""
CURRENT = text("select space_id, epoch, suspended_reason, dimensions, similarity from serving")


@dataclass(frozen=True)
class Guarded:
    """The serving row with the declaration that its space stores. ``fits``: both say the same length of a vector;
    ``filled``: a document has a vector in the space; ``snapshot``: the name that this was exported under, if it was."""

    space_id: int
    epoch: int
    model_key: str
    suspended_reason: str | None
    dimensions: int
    similarity: str
    fits: bool
    declaration: Mapping[str, Any]
    filled: bool
    snapshot: str | None

    @property
    def profile(self) -> Profile:
        return Profile.from_declaration(self.declaration)


@dataclass(frozen=True)
class Current:
    """The serving row, as far as a leg compares it with its question's vector."""

    space_id: int
    epoch: int
    suspended_reason: str | None
    dimensions: int
    similarity: str


def guarded(session: Session, export: bool = False) -> Guarded | None:
    """None before the first model was set up. ``export``: give the snapshot a name in the same statement."""
    row = session.execute(GUARDED, {"export": export}).one_or_none()
    return None if row is None else Guarded(*row)


def current(session: Session) -> Current | None:
    """None before the first model was set up."""
    row = session.execute(CURRENT).one_or_none()
    return None if row is None else Current(*row)
