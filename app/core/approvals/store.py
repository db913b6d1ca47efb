"""Queries of modifications and votes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, exists, false, func, or_, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.core.access.models import User
from app.core.access.policy import permitted, readable
from app.core.access.policy import visible as rows_of
from app.core.approvals.ask import ApprovalAsk
from app.core.approvals.diff import flat
from app.core.approvals.models import Modification, ModificationVote
from app.core.approvals.parts import EXPIRED, PENDING
from app.core.approvals.ports import NOTHING, Applied
from app.core.contracts.actor import Actor
from app.core.errors import ChangeoverError, Invalid
from app.core.registry import Ability, Entity, Registry

NamedVote = tuple[ModificationVote, str]
"""A vote and its voter's name."""
VOTERS: tuple[Ability, ...] = ("select", "approve")
"""Whose rules must let a voter through to the record."""


def visible(registry: Registry, actor: Actor) -> ColumnElement[bool]:
    """The modifications that the actor may see: their own, and those that they may vote on."""
    return or_(Modification.author_id == actor.id, votable(registry, actor))


def votable(registry: Registry, actor: Actor) -> ColumnElement[bool]:
    """What the actor may vote on as far as permissions and rows go (`core.md`, tables of many entities).

    A record that is not there yet has no row to compare: it is shown to those whose rows are not restricted.
    """
    arms = [_records(entity, actor) for entity in registry if entity.votes and actor.may(entity.permission("approve"))]
    if actor.may("settings.approve"):
        arms.append(Modification.kind == "setting")
    return or_(false(), *arms)


def _records(entity: Entity, actor: Actor) -> ColumnElement[bool]:
    if not actor.may(entity.permission("select")):
        return false()
    record_id = func.coalesce(Modification.record_id, Modification.applied_record_id)
    return and_(
        Modification.kind == "record",
        Modification.subject == entity.name,
        *(permitted(entity, actor.rows_for(entity.permission(ability)), record_id) for ability in VOTERS),
    )


def asked(registry: Registry, actor: Actor, ask: ApprovalAsk, now: datetime) -> list[ColumnElement[bool]]:
    """What ``ask`` means among the modifications that the actor may see."""
    row = Modification
    conditions = [visible(registry, actor)]
    if ask.mine:
        conditions.append(row.author_id == actor.id)
    if ask.subject is not None:
        conditions.append(row.subject == ask.subject)
    if ask.record_id is not None:
        conditions.append(func.coalesce(row.record_id, row.applied_record_id) == ask.record_id)
    if ask.state is not None:
        conditions.append(_in_state(ask.state, now))
    if ask.to_vote:
        conditions += [_in_state(PENDING, now), row.author_id != actor.id, votable(registry, actor), ~_voted(actor)]
    return conditions


def _in_state(state: str, now: datetime) -> ColumnElement[bool]:
    """As `parts.state_of` says it."""
    if state == PENDING:
        return and_(Modification.status == PENDING, Modification.expires_at > now)
    if state == EXPIRED:
        return or_(Modification.status == EXPIRED, and_(Modification.status == PENDING, Modification.expires_at <= now))
    return Modification.status == state


def _voted(actor: Actor) -> ColumnElement[bool]:
    return exists().where(
        ModificationVote.modification_id == Modification.id,
        ModificationVote.round == Modification.round,
        ModificationVote.user_id == actor.id,
    )


def one_capture(session: Session, author_id: int) -> None:
    """Wait until no other unit captures for this author; held until the unit ends."""
    session.execute(text("select pg_advisory_xact_lock(hashtextextended(:name, 0))"), {"name": f"capture {author_id}"})


def same_pending(session: Session, like: Modification, now: datetime) -> Modification | None:
    """A pending modification of the same author that says the same."""
    return session.scalars(
        select(Modification)
        .where(
            Modification.status == PENDING,
            Modification.expires_at > now,
            Modification.author_id == like.author_id,
            Modification.kind == like.kind,
            Modification.subject == like.subject,
            Modification.operation == like.operation,
            Modification.record_id.is_not_distinct_from(like.record_id),
            Modification.base_revision.is_not_distinct_from(like.base_revision),
            Modification.diff == like.diff,
        )
        .limit(1)
    ).one_or_none()


def locked(session: Session, modification_id: int) -> Modification | None:
    """The modification in its newest state, held until the unit ends."""
    if not 0 < modification_id < 2**63:
        return None
    return session.scalars(
        select(Modification)
        .where(Modification.id == modification_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    ).one_or_none()


def find(session: Session, modification_id: int, visible: ColumnElement[bool]) -> Modification | None:
    """The modification for someone who may see it."""
    if not 0 < modification_id < 2**63:
        return None
    return session.scalars(select(Modification).where(Modification.id == modification_id, visible)).one_or_none()


def page(
    session: Session, conditions: Sequence[ColumnElement[bool]], before: int | None, size: int
) -> Sequence[Modification]:
    """Newest first, older than the id ``before``; one more than ``size``, which says that more follows."""
    statement = select(Modification).where(*conditions)
    if before is not None:
        statement = statement.where(Modification.id < before)
    return session.scalars(statement.order_by(Modification.id.desc()).limit(size + 1)).all()


def count(session: Session, conditions: Sequence[ColumnElement[bool]], most: int) -> int:
    """How many there are; counting ends at ``most``."""
    few = select(Modification.id).where(*conditions).limit(most).subquery()
    return session.scalar(select(func.count()).select_from(few)) or 0


def close(
    session: Session,
    modification: Modification,
    status: str,
    at: datetime,
    *,
    reason: str | None = None,
    error: ChangeoverError | None = None,
    applied: Applied = NOTHING,
) -> bool:
    """Pending becomes ``status``; false when it was pending no more. The object shows the new state."""
    closed = session.execute(
        update(Modification)
        .where(Modification.id == modification.id, Modification.status == PENDING)
        .values(
            status=status,
            resolved_at=at,
            reason=reason,
            error_code=error.code if error else None,
            error_values=told(error) if error else {},
            applied_record_id=applied.record_id,
            applied_revision=applied.revision,
        )
        .returning(Modification.id)
        .execution_options(synchronize_session=False)
    ).first()
    session.refresh(modification)
    return closed is not None


def told(error: ChangeoverError) -> dict[str, object]:
    """An error as it is stored: the values of its sentence, and under ``refused`` the refusals of single fields."""
    values: dict[str, object] = {name: str(value) for name, value in error.values.items()}
    if isinstance(error, Invalid):
        values["refused"] = [
            {"path": each.path, "code": each.code, "values": {name: str(value) for name, value in each.values.items()}}
            for each in error.fields
        ]
    return values


def replace(session: Session, modification: Modification, base: int | None, diff: object, expires: datetime) -> None:
    """Give a pending modification another content; the votes of its earlier rounds count no more."""
    modification.base_revision = base
    modification.diff = diff
    modification.expires_at = expires
    modification.round += 1
    session.flush()


def vote(session: Session, modification: Modification, user_id: int, approves: bool, reason: str, at: datetime) -> bool:
    """Store a person's vote on the present round; false when it is the same one again."""
    values = {"approves": approves, "reason": reason or None, "at": at}
    key = {"modification_id": modification.id, "round": modification.round, "user_id": user_id}
    statement = insert(ModificationVote).values(**key, **values)
    stored = session.execute(
        statement.on_conflict_do_update(
            index_elements=[ModificationVote.modification_id, ModificationVote.round, ModificationVote.user_id],
            set_=values,
            where=ModificationVote.approves != approves,
        ).returning(ModificationVote.user_id)
    ).first()
    return stored is not None


def vote_of(session: Session, modification: Modification, user_id: int) -> ModificationVote | None:
    """The person's vote on the present round."""
    return session.get(ModificationVote, (modification.id, modification.round, user_id), populate_existing=True)


def approvals(session: Session, modification: Modification) -> int:
    """How many approve the present round; who was disabled since counts no more."""
    return (
        session.scalar(
            select(func.count())
            .select_from(ModificationVote)
            .join(User, User.id == ModificationVote.user_id)
            .where(
                ModificationVote.modification_id == modification.id,
                ModificationVote.round == modification.round,
                ModificationVote.approves,
                User.is_active,
            )
        )
        or 0
    )


def votes(session: Session, ids: Sequence[int]) -> Mapping[int, list[NamedVote]]:
    """The votes of modifications with the voters' names, oldest first, by modification."""
    found: dict[int, list[NamedVote]] = {}
    rows = session.execute(
        select(ModificationVote, User.display_name)
        .join(User, User.id == ModificationVote.user_id)
        .where(ModificationVote.modification_id.in_(ids))
        .order_by(ModificationVote.at, ModificationVote.user_id)
    )
    for row, name in rows:
        found.setdefault(row.modification_id, []).append((row, name))
    return found


def names(session: Session, ids: Sequence[int]) -> Mapping[int, str]:
    """The names of people by id."""
    rows = session.execute(select(User.id, User.display_name).where(User.id.in_(ids)))
    return dict(rows.all())


def author(session: Session, user_id: int) -> User | None:
    """The person as they are now, whatever this session has read before."""
    return session.get(User, user_id, populate_existing=True)


def record(
    session: Session, entity: Entity, record_id: int, *, lock: bool = False
) -> tuple[int, dict[str, object]] | None:
    """The revision of a record, and its fields and texts by path; None when it is gone. ``lock`` holds its row."""
    statement = select(entity.model).where(entity.model.id == record_id)
    if lock:
        statement = statement.with_for_update()
    row = session.scalars(statement.execution_options(populate_existing=True)).one_or_none()
    if row is None:
        return None
    fields = {item.name: getattr(row, item.name) for item in entity.plain_fields}
    texts = {
        text.locale: {item.name: getattr(text, item.name) for item in entity.translated_fields}
        for text in (getattr(row, entity.translations_field) if entity.translation_model else ())
    }
    return row.revision, {"deleted_at": getattr(row, "deleted_at", None), **flat(fields, texts)}


def titles(session: Session, entity: Entity, actor: Actor, ids: Sequence[int]) -> dict[int, str]:
    """The titles of records that the actor may see, in their language, else in the first that there is."""
    if not ids or entity.title_field not in readable(entity, actor):
        return {}
    rows = session.scalars(select(entity.model).where(entity.model.id.in_(ids), rows_of(entity, actor))).all()
    return {row.id: _title(entity, row, actor.locale) for row in rows}


def _title(entity: Entity, row: Any, locale: str) -> str:
    if entity.translation_model is None:
        return str(getattr(row, entity.title_field) or "")
    texts = {text.locale: text for text in getattr(row, entity.translations_field)}
    text = texts.get(locale) or next((texts[code] for code in sorted(texts)), None)
    return str(getattr(text, entity.title_field, "") or "")


def overdue(session: Session, now: datetime, most: int = 500) -> Sequence[Modification]:
    """Pending modifications past their date, held; those that somebody votes on just now are left for later."""
    return session.scalars(
        select(Modification)
        .where(Modification.status == PENDING, Modification.expires_at <= now)
        .order_by(Modification.id)
        .limit(most)
        .with_for_update(skip_locked=True)
        .execution_options(populate_existing=True)
    ).all()
