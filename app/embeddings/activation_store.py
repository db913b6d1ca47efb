"""Queries of activation, suspension and retention: the few statements that change what serves."""

from __future__ import annotations

from typing import Any

from sqlalchemy import text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session
from sqlalchemy.sql import bindparam

from app.embeddings.spaces import Space


def set_up(session: Session, space: Space) -> None:
    """Make the serving row of a new installation; does nothing where there is one."""
    session.execute(
        text(
            """
            insert into serving (id, space_id, model_key, dimensions, similarity)
            values (1, :space, :key, :dimensions, :similarity) on conflict do nothing
            """
        ),
        {"space": space.id, "key": space.key, "dimensions": space.dimensions, "similarity": space.similarity},
    )


def serve(session: Session, space: Space, generation: str | None = None) -> None:
    """The one statement that makes ``space`` answer; lifts a suspension in the same breath.

    A switch may be the first to make anything serve: where no model was ever set up, the row is made. ``generation`` is
    that of an engine's indexes which hold the space's vectors; None leaves the one on record.
    """
    session.execute(
        text(
            """
            insert into serving (id, space_id, model_key, dimensions, similarity, generation, generation_since)
            values (1, :space, :key, :dimensions, :similarity, cast(:generation as text),
                case when cast(:generation as text) is not null then clock_timestamp() end)
            on conflict (id) do update set space_id = excluded.space_id, model_key = excluded.model_key,
                dimensions = excluded.dimensions, similarity = excluded.similarity,
                generation = coalesce(excluded.generation, serving.generation),
                generation_since = coalesce(excluded.generation_since, serving.generation_since),
                suspended_reason = null, since = clock_timestamp(), epoch = serving.epoch + 1
            """
        ),
        {
            "space": space.id,
            "key": space.key,
            "dimensions": space.dimensions,
            "similarity": space.similarity,
            "generation": generation,
        },
    )
    session.execute(text("update vector_spaces set retained_until = null where id = :space"), {"space": space.id})


SWITCHING = "switching"


def suspend(session: Session, reason: str) -> None:
    """Vector search is off, with a reason."""
    session.execute(
        text("update serving set suspended_reason = :reason, epoch = epoch + 1 where id = 1"), {"reason": reason}
    )


def note_check(session: Session, space_id: int, result: str) -> None:
    """Note what comparing the server with the space's fixed text came to: ``ok`` or a reason."""
    session.execute(
        text("update vector_spaces set checked_at = clock_timestamp(), check_result = :result where id = :id"),
        {"id": space_id, "result": result},
    )


def suspend_for(session: Session, space_id: int, reason: str) -> bool:
    """Suspend while ``space_id`` serves and nothing else suspends already; returns whether that changed anything."""
    result: Any = session.execute(
        text(
            "update serving set suspended_reason = :reason, epoch = epoch + 1 "
            "where id = 1 and space_id = :space and suspended_reason is null"
        ),
        {"reason": reason, "space": space_id},
    )
    return bool(result.rowcount)


def lift(session: Session, reason: str) -> bool:
    """Lift a suspension that has this reason, and no other; returns whether that changed anything."""
    result: Any = session.execute(
        text(
            "update serving set suspended_reason = null, epoch = epoch + 1 where id = 1 and suspended_reason = :reason"
        ),
        {"reason": reason},
    )
    return bool(result.rowcount)


def retain(session: Session, space_id: int, days: int) -> None:
    """Keep a space's rows for ``days``; 0 lets the next clean-up take them."""
    session.execute(
        text(
            "update vector_spaces set retained_until = clock_timestamp() + make_interval(days => :days) where id = :id"
        ),
        {"id": space_id, "days": days},
    )


def keep_for_switch(session: Session, space_id: int) -> None:
    """A switch starts towards this space: its rows no longer expire."""
    session.execute(text("update vector_spaces set retained_until = null where id = :id"), {"id": space_id})


def finish(session: Session, switch_id: int, space_id: int, done: dict[str, int]) -> None:
    """Store what the switch really took, for its summary: documents, passages, bytes and set aside ones."""
    statement = text(
        """
        update switches set finished_at = clock_timestamp(), actuals = actuals || :done || jsonb_build_object(
            'embedded', (select coalesce(sum(documents), 0) from switch_chunks
                where switch_id = :switch and phase = 'embeddings')
                - (select count(*) from switch_failures where space_id = :space and resolution = 'set_aside'),
            'passages', (select count(*) from embeddings where space_id = :space),
            'set_aside', (select count(*) from switch_failures where space_id = :space and resolution = 'set_aside'),
            'seconds', round(extract(epoch from clock_timestamp() - started_at)::numeric, 1))
        where id = :switch
        """
    ).bindparams(bindparam("done", type_=JSONB))
    session.execute(statement, {"switch": switch_id, "space": space_id, "done": {"done": done}})


def expired_spaces(session: Session) -> list[int]:
    """Spaces that serve nothing, belong to no open switch, and whose retention has ended; their rows are locked."""
    rows: Any = session.scalars(
        text(
            """
            select s.id from vector_spaces s where s.retained_until <= clock_timestamp()
              and not exists (select 1 from serving v where v.space_id = s.id)
              and not exists (select 1 from switches w where w.status in ('running', 'failed')
                and s.id in (w.from_space_id, w.to_space_id))
              and exists (select 1 from embeddings e where e.space_id = s.id)
            for update of s skip locked
            """
        )
    )
    return list(rows)


def retained(session: Session) -> list[dict[str, Any]]:
    """Spaces whose rows are kept for a way back."""
    rows = session.execute(
        text(
            """
            select s.id, s.model_key, s.dimensions, s.retained_until,
                (select count(*) from embeddings e where e.space_id = s.id)
            from vector_spaces s
            where s.retained_until is not null and not exists (select 1 from serving v where v.space_id = s.id)
            order by s.retained_until desc
            """
        )
    )
    return [
        {"space": key, "key": model, "dimensions": dimensions, "until": until.isoformat(), "rows": count}
        for key, model, dimensions, until, count in rows
        if count
    ]


def has_expired(session: Session) -> bool:
    """Whether any space's retention has ended while rows of it still stand."""
    return bool(
        session.scalar(
            text(
                """
                select 1 from vector_spaces s where s.retained_until <= clock_timestamp()
                  and not exists (select 1 from serving v where v.space_id = s.id)
                  and exists (select 1 from embeddings e where e.space_id = s.id) limit 1
                """
            )
        )
    )


def idle_spaces(session: Session) -> list[int]:
    """Spaces that neither serve nor belong to an open switch: their indexes have no reader."""
    rows = session.scalars(
        text(
            """
            select s.id from vector_spaces s
            where not exists (select 1 from serving v where v.space_id = s.id)
              and not exists (select 1 from switches w where w.status in ('running', 'failed')
                and w.to_space_id = s.id)
            """
        )
    )
    return list(rows)


def delete_rows(session: Session, space_id: int, limit: int = 5000) -> int:
    """Delete some rows of a space; call again until it answers 0."""
    result: Any = session.execute(
        text(
            """
            delete from embeddings where ctid = any(array(
                select ctid from embeddings where space_id = :space limit :limit))
            """
        ),
        {"space": space_id, "limit": limit},
    )
    return int(result.rowcount)
