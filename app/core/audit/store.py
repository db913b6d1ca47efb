"""Queries of the audit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Select, delete, false, or_, select, true
from sqlalchemy.orm import Session

from app.core.audit.ask import AuditAsk
from app.core.audit.models import AuditEntry
from app.core.contracts.actor import Actor

OTHERS = {
    "settings": "settings.select",
    "users": "users.select",
    "tokens": "users.select",
    "roles": "roles.select",
    "switches": "settings.select",
    "spaces": "settings.select",
}
"""Entries that are about no record of the registry, and the permission to see what they are about."""
BATCH = 500


def visible(actor: Actor, records: ColumnElement[bool]) -> ColumnElement[bool]:
    """Entries about what the actor may see: ``records`` says it for records. An administrator sees all of them."""
    if "*" in actor.permissions and not actor.is_guest:
        return true()
    others = [name for name, permission in OTHERS.items() if actor.may(permission)]
    return or_(false(), AuditEntry.entity.in_(others), records)


def page(session: Session, ask: AuditAsk, allowed: ColumnElement[bool]) -> Sequence[AuditEntry]:
    """One more entry than ``ask.size``, which says that more follows."""
    return session.scalars(_asked(ask, allowed).limit(ask.size + 1)).all()


def every(session: Session, ask: AuditAsk, allowed: ColumnElement[bool]) -> Iterator[AuditEntry]:
    """All of them, read in portions; the session must stay open meanwhile."""
    statement = _asked(ask, allowed).execution_options(yield_per=BATCH)
    for entries in session.scalars(statement).partitions():
        yield from entries
        for entry in entries:
            session.expunge(entry)


def of_record(session: Session, entity: str, record_id: int, before: int | None, size: int) -> Sequence[AuditEntry]:
    """What happened to one record, newest first."""
    ask = AuditAsk(entity=entity, record_id=record_id, before=before, size=size)
    return session.scalars(_asked(ask, true()).limit(size)).all()


def prune(session: Session, before: datetime, most: int) -> int:
    """Delete up to ``most`` entries that are older; returns how many."""
    old = select(AuditEntry.id).where(AuditEntry.at < before).limit(most).scalar_subquery()
    deleted = session.execute(delete(AuditEntry).where(AuditEntry.id.in_(old)).returning(AuditEntry.id))
    return len(deleted.all())


def _asked(ask: AuditAsk, allowed: ColumnElement[bool]) -> Select[AuditEntry]:
    row = AuditEntry
    conditions: list[ColumnElement[bool]] = [allowed]
    if ask.person is not None:
        conditions.append(or_(row.actor_login == ask.person, row.impersonator_login == ask.person))
    equal = (
        (row.action, ask.action),
        (row.entity, ask.entity),
        (row.record_id, ask.record_id),
        (row.channel, ask.channel),
    )
    conditions += [column == value for column, value in equal if value is not None]
    if ask.since is not None:
        conditions.append(row.at >= ask.since)
    if ask.until is not None:
        conditions.append(row.at < ask.until)
    if ask.before is not None:
        conditions.append(row.id < ask.before)
    return select(row).where(*conditions).order_by(row.id.desc())
