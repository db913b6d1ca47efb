"""Queries of people, roles, tokens and failed sign-ins."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.core.access.actor import ADMINISTRATOR
from app.core.access.models import ApiToken, Role, SignInAttempt, User, UserRole

ADMINISTRATION = 4_870_661
"""The advisory lock of changes of people and roles."""


def user_by_login(session: Session, login: str) -> User | None:
    return session.scalars(select(User).where(User.login == login)).one_or_none()


def user_by_id(session: Session, user_id: int) -> User | None:
    return session.get(User, user_id)


def users(session: Session) -> Sequence[User]:
    """Everybody, by login."""
    return session.scalars(select(User).order_by(User.login)).all()


def roles_named(session: Session, names: Sequence[str]) -> Sequence[Role]:
    return session.scalars(select(Role).where(Role.name.in_(names)).order_by(Role.name)).all()


def role_by_name(session: Session, name: str) -> Role | None:
    return session.scalars(select(Role).where(Role.name == name)).one_or_none()


def role_by_id(session: Session, role_id: int) -> Role | None:
    return session.get(Role, role_id)


def roles(session: Session) -> Sequence[Role]:
    """All roles: the system's first, then by name."""
    return session.scalars(select(Role).order_by(Role.is_system.desc(), Role.name)).all()


def people_of_roles(session: Session) -> dict[int, int]:
    """Role to the number of people who have it."""
    counted = session.execute(select(UserRole.role_id, func.count()).group_by(UserRole.role_id))
    return {role_id: int(count) for role_id, count in counted}


def system_role(session: Session, name: str) -> Role:
    """The system role of this name, locked; it is made without permissions when it is not there."""
    session.execute(insert(Role).values(name=name, is_system=True).on_conflict_do_nothing(index_elements=[Role.name]))
    found = select(Role).where(Role.name == name).with_for_update().execution_options(populate_existing=True)
    return session.scalars(found).one()


def lock_administration(session: Session) -> None:
    """Wait until no other transaction changes people or roles; held until this one ends."""
    session.execute(select(func.pg_advisory_xact_lock(ADMINISTRATION)))


def fresh_user(session: Session, user_id: int) -> User | None:
    """The user as committed now, whatever this session has read before."""
    return session.get(User, user_id, populate_existing=True)


def other_administrators(session: Session, user_id: int) -> int:
    """How many others can sign in and administer."""
    return int(
        session.scalar(
            select(func.count())
            .select_from(User)
            .join(UserRole, UserRole.user_id == User.id)
            .join(Role, Role.id == UserRole.role_id)
            .where(
                Role.name == ADMINISTRATOR,
                User.id != user_id,
                User.is_active,
                ~User.is_guest,
                ~User.needs_approval,
                User.password_hash.is_not(None),
            )
        )
        or 0
    )


def find_users(
    session: Session, words: str, role: str | None, active: bool | None, offset: int, limit: int
) -> tuple[Sequence[User], int]:
    """A page of people by login, and how many there are; ``words`` is looked for in login, name and address."""
    wanted: list[ColumnElement[bool]] = []
    if words:
        columns = (User.login, User.display_name, User.email)
        wanted.append(or_(*(column.icontains(words, autoescape=True) for column in columns)))
    if role:
        wanted.append(User.roles.any(Role.name == role))
    if active is not None:
        wanted.append(User.is_active.is_(active))
    total = session.scalar(select(func.count()).select_from(User).where(*wanted)) or 0
    page = select(User).where(*wanted).order_by(User.login).offset(offset).limit(limit)
    return session.scalars(page).all(), int(total)


def touch_token(session: Session, token_id: int, now: datetime, at_most_every: timedelta) -> None:
    """Note that the token is used; a row that somebody else writes right now is left alone, never waited for."""
    due = (
        select(ApiToken.id)
        .where(
            ApiToken.id == token_id,
            or_(ApiToken.last_used_at.is_(None), ApiToken.last_used_at <= now - at_most_every),
        )
        .with_for_update(skip_locked=True)
        .scalar_subquery()
    )
    session.execute(
        update(ApiToken).where(ApiToken.id == due).values(last_used_at=now).execution_options(synchronize_session=False)
    )


def token_by_hash(session: Session, token_hash: bytes) -> ApiToken | None:
    return session.scalars(select(ApiToken).where(ApiToken.token_hash == token_hash)).one_or_none()


def token_of(session: Session, user_id: int, token_id: int) -> ApiToken | None:
    """The token with this id when it belongs to this user."""
    return session.scalars(select(ApiToken).where(ApiToken.id == token_id, ApiToken.user_id == user_id)).one_or_none()


def tokens_of(session: Session, user_id: int) -> Sequence[ApiToken]:
    """The user's tokens, newest first; revoked ones are left out."""
    return session.scalars(
        select(ApiToken)
        .where(ApiToken.user_id == user_id, ApiToken.revoked_at.is_(None))
        .order_by(ApiToken.created_at.desc(), ApiToken.id.desc())
    ).all()


def attempts_since(session: Session, subject: bytes, since: datetime) -> tuple[int, datetime | None]:
    """How many failed sign-ins ``subject`` has had since, and when the oldest of them was."""
    row = session.execute(
        select(func.count(), func.min(SignInAttempt.at)).where(
            SignInAttempt.subject == subject, SignInAttempt.at > since
        )
    ).one()
    return int(row[0]), row[1]


def add_attempt(session: Session, subject: bytes, at: datetime) -> None:
    session.add(SignInAttempt(subject=subject, at=at))


def forget_attempts(session: Session, subject: bytes) -> None:
    session.execute(delete(SignInAttempt).where(SignInAttempt.subject == subject))


def forget_attempts_before(session: Session, before: datetime) -> None:
    session.execute(delete(SignInAttempt).where(SignInAttempt.at <= before))
