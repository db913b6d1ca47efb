"""Queries of people, roles, tokens and failed sign-ins."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.core.access.models import ApiToken, Role, SignInAttempt, User


def user_by_login(session: Session, login: str) -> User | None:
    return session.scalars(select(User).where(User.login == login)).one_or_none()


def user_by_id(session: Session, user_id: int) -> User | None:
    return session.get(User, user_id)


def users(session: Session) -> Sequence[User]:
    """Everybody, by login."""
    return session.scalars(select(User).order_by(User.login)).all()


def roles_named(session: Session, names: Sequence[str]) -> Sequence[Role]:
    return session.scalars(select(Role).where(Role.name.in_(names)).order_by(Role.name)).all()


def put_role(session: Session, name: str, permissions: Sequence[str]) -> None:
    """Make the role, or give it these permissions when it is there."""
    statement = insert(Role).values(name=name, permissions=list(permissions))
    session.execute(
        statement.on_conflict_do_update(
            index_elements=[Role.name], set_={"permissions": statement.excluded.permissions}
        )
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
