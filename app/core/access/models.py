"""People, roles with their permissions, row and field rules, and tokens."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Boolean, ForeignKey, Integer, LargeBinary, Text, text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TIMESTAMP
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.core.db import Base

NOW = text("clock_timestamp()")


class Role(Base):
    """A named set of permissions. ``offered`` are the defaults that a system role has been given once already."""

    __tablename__ = "roles"

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    name: Mapped[str] = mapped_column(Text, unique=True)
    permissions: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default=text("'{}'"))
    description: Mapped[str] = mapped_column(Text, server_default=text("''"))
    is_system: Mapped[bool] = mapped_column(Boolean, server_default=text("false"))
    offered: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default=text("'{}'"))
    row_rules: Mapped[list[RowRule]] = relationship(
        lazy="selectin", cascade="all, delete-orphan", order_by="RowRule.id"
    )
    field_rules: Mapped[list[FieldRule]] = relationship(lazy="selectin", cascade="all, delete-orphan")


class RowRule(Base):
    """A condition on the rows that a permission of a role reaches; several of one permission must all hold."""

    __tablename__ = "row_rules"

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    role_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("roles.id", ondelete="CASCADE"), index=True)
    permission: Mapped[str] = mapped_column(Text)
    condition: Mapped[Any] = mapped_column(JSONB)
    note: Mapped[str] = mapped_column(Text, server_default=text("''"))


class FieldRule(Base):
    """The only fields of an entity that a role may ``read`` or ``write``; without a row, all of them."""

    __tablename__ = "field_rules"

    role_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("roles.id", ondelete="CASCADE"), primary_key=True)
    entity: Mapped[str] = mapped_column(Text, primary_key=True)
    ability: Mapped[str] = mapped_column(Text, primary_key=True)
    fields: Mapped[list[str]] = mapped_column(ARRAY(Text))


class UserRole(Base):
    """Which roles a user has."""

    __tablename__ = "user_roles"

    user_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    role_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("roles.id", ondelete="CASCADE"), primary_key=True)


class User(Base):
    """A person. ``session_version`` is raised to end all of the person's sessions."""

    __tablename__ = "users"

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    login: Mapped[str] = mapped_column(Text, unique=True)
    display_name: Mapped[str] = mapped_column(Text)
    email: Mapped[str | None] = mapped_column(Text)
    password_hash: Mapped[str | None] = mapped_column(Text)
    locale: Mapped[str] = mapped_column(Text, server_default=text("'en'"))
    is_active: Mapped[bool] = mapped_column(Boolean, server_default=text("true"))
    needs_approval: Mapped[bool] = mapped_column(Boolean, server_default=text("false"))
    is_guest: Mapped[bool] = mapped_column(Boolean, server_default=text("false"))
    session_version: Mapped[int] = mapped_column(Integer, server_default=text("1"))
    tenant_id: Mapped[int | None] = mapped_column(BigInteger)
    created_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=NOW)
    roles: Mapped[list[Role]] = relationship(secondary="user_roles", lazy="selectin", order_by=Role.name)


class ApiToken(Base):
    """A bearer token: shown once, stored as a hash. Scopes: read, write, admin, all."""

    __tablename__ = "api_tokens"

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    user_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("users.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(Text)
    token_hash: Mapped[bytes] = mapped_column(LargeBinary, unique=True)
    scopes: Mapped[list[str]] = mapped_column(ARRAY(Text))
    created_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=NOW)
    expires_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True))
    revoked_at: Mapped[datetime | None] = mapped_column(TIMESTAMP(timezone=True))
    last_used_at: Mapped[datetime | None] = mapped_column(TIMESTAMP(timezone=True))
    user: Mapped[User] = relationship(lazy="joined")


class SignInAttempt(Base):
    """A failed sign-in, for the throttle per account and address; the account and address stand as hashes."""

    __tablename__ = "sign_in_attempts"

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    subject: Mapped[bytes] = mapped_column(LargeBinary, index=True)
    at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=NOW)


class UserPreference(Base):
    """What a person chose for themselves, such as the columns of a list."""

    __tablename__ = "user_preferences"

    user_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(Text, primary_key=True)
    value: Mapped[Any] = mapped_column(JSONB)
    updated_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=NOW)
