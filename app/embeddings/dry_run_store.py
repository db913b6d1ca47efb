"""Queries of dry runs: what stood before, what was written, and the undoing, which leaves the rest to the upkeep."""

from __future__ import annotations

from typing import Any

from sqlalchemy import text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session
from sqlalchemy.sql import bindparam

from app.core.documents import events_store as events
from app.embeddings import failures_store as failures

DRY_RUN = "dry_run"
FINISHED = "finished"
TARGET = "target"

_NEW = "space_id = :space and age(xmin) <= age(cast(cast(:since as text) as xid))"
"""Rows of a space that were written by transactions since ``since``."""


def before(session: Session, space_id: int) -> dict[str, Any]:
    """What stands of the target when its dry run begins, to be noted in the switch's ``actuals``."""
    row = session.execute(
        text(
            """
            select (select count(*) from embeddings where space_id = :space), retained_until::text,
                (pg_current_xact_id()::xid)::text
            from vector_spaces where id = :space
            """
        ),
        {"space": space_id},
    ).one()
    return {"rows": row[0], "retained_until": row[1], "xid": row[2]}


def written(session: Session, space_id: int, since: str) -> dict[str, int]:
    """Rows, bytes, documents, characters and calls that brought vectors, of what a dry run has written.

    A batch is one call and one transaction, so calls are the different transactions of the rows.
    """
    row = session.execute(
        text(
            f"""
            select count(*), coalesce(sum(pg_column_size(e.*)), 0), count(distinct (entity, record_id, locale)),
                coalesce(sum("end" - start), 0), count(distinct xmin::text)
            from embeddings e where {_NEW}
            """
        ),
        {"space": space_id, "since": since},
    ).one()
    names = ("rows", "row_bytes", "documents", "characters", "calls")
    return {name: int(value) for name, value in zip(names, row, strict=True)}


def builds(session: Session, switch_id: int) -> dict[str, float]:
    """Seconds of each entity's index build, from its claim to its end."""
    rows = session.execute(
        text(
            """
            select entity, extract(epoch from finished_at - started_at) from switch_chunks
            where switch_id = :id and phase = 'indexes' and finished_at is not null
            """
        ),
        {"id": switch_id},
    )
    return {entity: round(float(seconds), 2) for entity, seconds in rows}


def undecided(session: Session, space_id: int) -> int:
    """Documents for which the real switch would stop and ask."""
    found = session.scalar(
        text("select count(*) from switch_failures where space_id = :space and resolution is null"),
        {"space": space_id},
    )
    return int(found or 0)


def note(session: Session, switch_id: int, figures: dict[str, Any]) -> None:
    """Add figures to what the switch really took."""
    session.execute(
        text("update switches set actuals = actuals || :figures where id = :id").bindparams(
            bindparam("figures", type_=JSONB)
        ),
        {"id": switch_id, "figures": figures},
    )


def undo(session: Session, switch_id: int) -> None:
    """End the target's consumer and give its space back to the upkeep, which drops its indexes.

    Its rows are deleted when there were none before; else they live as long as they would have lived.
    """
    space_id, had_rows, until = session.execute(
        text(
            """
            select to_space_id, coalesce((actuals #>> '{before,rows}')::bigint, 0) > 0,
                actuals #>> '{before,retained_until}'
            from switches where id = :id
            """
        ),
        {"id": switch_id},
    ).one()
    events.end_cursor(session, TARGET)
    session.execute(
        text(
            "update vector_spaces set retained_until = case when :kept then cast(:until as timestamptz) "
            "else clock_timestamp() end where id = :space"
        ),
        {"space": space_id, "kept": had_rows, "until": until},
    )
    if not had_rows:
        failures.forget_space_failures(session, space_id)


def close_failed(session: Session) -> bool:
    """Undo a dry run that failed: nobody is to decide about it. Its reason stays. Returns whether there was one."""
    found = session.scalar(
        text(
            """
            update switches set status = 'abandoned', epoch = epoch + 1, finished_at = clock_timestamp(),
                lease_token = null, lease_until = null, waiting_since = null
            where kind = 'dry_run' and status = 'failed' returning id
            """
        )
    )
    if found is None:
        return False
    undo(session, int(found))
    return True


def left(session: Session, switch_id: int) -> int:
    """Rows and indexes of a dry run's space that the upkeep has still to remove."""
    found = session.scalar(
        text(
            """
            select (select count(*) from pg_class c where c.relname like 'emb\\_' || s.to_space_id || '\\_%')
                + case when coalesce((s.actuals #>> '{before,rows}')::bigint, 0) > 0 then 0
                    else (select count(*) from embeddings e where e.space_id = s.to_space_id) end
            from switches s where s.id = :id
            """
        ),
        {"id": switch_id},
    )
    return int(found or 0)
