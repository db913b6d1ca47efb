"""Queries of failures: documents that could not be embedded at one text, and what a person decided about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from app.embeddings.models import SwitchFailure
from app.embeddings.store import Key


def record_failure(session: Session, space_id: int, key: Key, reason: str) -> None:
    """Name a document that can't be embedded, and remove its vectors of an older text."""
    session.execute(
        text(
            """
            insert into switch_failures (space_id, entity, record_id, locale, text_hash, reason)
            values (:space, :entity, :record_id, :locale, :hash, :reason)
            on conflict on constraint switch_failures_text_key do update
            set attempts = switch_failures.attempts + 1, last_at = clock_timestamp(), reason = excluded.reason,
                resolution = null
            """
        ),
        {
            "space": space_id,
            "entity": key.entity,
            "record_id": key.record_id,
            "locale": key.locale,
            "hash": key.text_hash,
            "reason": reason,
        },
    )
    session.execute(
        text(
            "delete from embeddings where entity = :entity and record_id = :record_id and locale = :locale "
            "and space_id = :space"
        ),
        {"entity": key.entity, "record_id": key.record_id, "locale": key.locale, "space": space_id},
    )


def forget_space_failures(session: Session, space_id: int) -> None:
    """Failures of a space whose rows are gone."""
    session.execute(text("delete from switch_failures where space_id = :space"), {"space": space_id})


def failures(session: Session, space_id: int, limit: int = 200) -> Sequence[SwitchFailure]:
    """Documents that could not be embedded at the text they have now, undecided ones first."""
    statement = (
        select(SwitchFailure)
        .where(
            SwitchFailure.space_id == space_id,
            text(
                "exists (select 1 from search_documents d where d.entity = switch_failures.entity "
                "and d.record_id = switch_failures.record_id and d.locale = switch_failures.locale "
                "and d.text_hash = switch_failures.text_hash)"
            ),
        )
        .order_by(SwitchFailure.resolution.is_not(None), SwitchFailure.id)
        .limit(limit)
    )
    return session.scalars(statement).all()


def resolve(
    session: Session, space_id: int, ids: Sequence[int] | None, resolution: str, note: str | None, by: str
) -> int:
    """Decide on failures: ``retry`` or ``set_aside``; None means all that are undecided."""
    sql = (
        "update switch_failures set resolution = :resolution, note = :note, resolved_by = :by "
        "where space_id = :space and resolution is distinct from 'set_aside'"
    )
    values: dict[str, Any] = {"space": space_id, "resolution": resolution, "note": note, "by": by}
    if ids is not None:
        sql += " and id = any(:ids)"
        values["ids"] = list(ids)
    result: Any = session.execute(text(sql), values)
    return int(result.rowcount)
