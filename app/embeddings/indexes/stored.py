"""The vectors and the serving row as an engine sees them that keeps copies (`core/contracts/copies.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from sqlalchemy import select, text
from sqlalchemy.orm import Session

from app.core.contracts.copies import Shape, StoredPassage
from app.embeddings.models import Embedding, VectorSpace

DIGITS = 7
"""Of each number: what a 32-bit float holds of a unit vector."""


class StoredVectors:
    """The :class:`~app.core.contracts.copies.StoredVectors` of PostgreSQL."""

    def serving(self, session: Session) -> Shape | None:
        """See the contract."""
        space = session.scalar(text("select space_id from serving"))
        return None if space is None else self.shape(session, int(space))

    def shape(self, session: Session, space_id: int) -> Shape | None:
        """See the contract."""
        row = session.get(VectorSpace, space_id)
        return None if row is None else Shape(row.id, row.dimensions, row.similarity)

    def keep(self, session: Session, space_ids: Sequence[int]) -> None:
        """See the contract. Waits for whoever writes vectors of these spaces just now; later ones see the row."""
        for space_id in sorted(set(space_ids)):
            session.execute(text("select from vector_spaces where id = :space for update"), {"space": space_id})
            session.execute(
                text("insert into copied_spaces (space_id) values (:space) on conflict do nothing"), {"space": space_id}
            )

    def passages(
        self, session: Session, space_id: int, entity: str, record_ids: Sequence[int]
    ) -> Mapping[int, Sequence[StoredPassage]]:
        """See the contract."""
        found: dict[int, list[StoredPassage]] = {}
        if not record_ids:
            return found
        rows = session.execute(
            select(Embedding.record_id, Embedding.locale, Embedding.n, Embedding.embedding)
            .where(
                Embedding.space_id == space_id, Embedding.entity == entity, Embedding.record_id.in_(list(record_ids))
            )
            .order_by(Embedding.record_id, Embedding.locale, Embedding.n)
        )
        for record_id, locale, n, vector in rows:
            numbers = np.round(np.asarray(vector, dtype=np.float64), DIGITS).tolist()
            found.setdefault(record_id, []).append(StoredPassage(locale, n, numbers))
        return found

    def standing(self, session: Session, space_id: int, entity: str) -> tuple[int, Sequence[float] | None]:
        """See the contract."""
        values = {"space": space_id, "entity": entity}
        where = "from embeddings where space_id = :space and entity = :entity"
        count = int(session.scalar(text(f"select count(distinct record_id) {where}"), values) or 0)
        if not count:
            return 0, None
        example = session.scalar(
            select(Embedding.embedding).where(Embedding.space_id == space_id, Embedding.entity == entity).limit(1)
        )
        return count, np.asarray(example, dtype=np.float64).tolist()


class ServingGeneration:
    """The :class:`~app.core.contracts.copies.ServingGeneration` of the serving row."""

    def current(self, session: Session) -> int | None:
        """See the contract."""
        found = session.scalar(text("select generation from serving"))
        return int(found) if found else None

    def seconds(self, session: Session) -> float | None:
        """See the contract."""
        found = session.scalar(text("select extract(epoch from clock_timestamp() - generation_since) from serving"))
        return None if found is None else float(found)

    def serve(self, session: Session, generation: int) -> bool:
        """See the contract."""
        found = session.scalar(
            text(
                "update serving set generation = :generation, generation_since = clock_timestamp(), "
                "epoch = epoch + 1 where id = 1 returning id"
            ),
            {"generation": str(generation)},
        )
        return found is not None

    def open_switch(self, session: Session) -> int | None:
        """See the contract."""
        found = session.scalar(text("select id from switches where status in ('running', 'failed')"))
        return None if found is None else int(found)


def note_changes(session: Session, space_id: int, records: Sequence[tuple[str, int]]) -> None:
    """In the transaction that changes vectors: leave an event for each record if an engine keeps copies of the space.

    The lock is what :meth:`StoredVectors.keep` waits for, so that no change falls between its commit and the copying.
    """
    session.execute(text("select from vector_spaces where id = :space for key share"), {"space": space_id})
    session.execute(
        text(
            """
            insert into index_events (entity, record_id, revision)
            select distinct k.entity, k.record_id, 0
            from unnest(cast(:entities as text[]), cast(:ids as bigint[])) as k (entity, record_id)
            where exists (select 1 from copied_spaces where space_id = :space)
              and exists (select 1 from index_cursors where consumer = 'elasticsearch')
            order by 1, 2
            """
        ),
        {"space": space_id, "entities": [entity for entity, _ in records], "ids": [key for _, key in records]},
    )
