"""Captured modifications of people who need approval, and the votes on them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Boolean, ForeignKey, Integer, Text, text
from sqlalchemy.dialects.postgresql import JSONB, TIMESTAMP
from sqlalchemy.orm import Mapped, mapped_column

from app.core.db import Base

NOW = text("clock_timestamp()")


class Modification(Base):
    """A write that waits for votes. ``subject`` is an entity or a setting; ``diff`` maps a field to old and new.

    ``error_code`` with ``error_values`` (see `store.told`) says why one in ``conflict`` or ``failed`` was not applied.
    ``round`` is raised when the author edits the capture: votes of earlier rounds count no more.
    """

    __tablename__ = "modifications"

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    kind: Mapped[str] = mapped_column(Text)
    subject: Mapped[str] = mapped_column(Text)
    record_id: Mapped[int | None] = mapped_column(BigInteger)
    operation: Mapped[str] = mapped_column(Text)
    base_revision: Mapped[int | None] = mapped_column(BigInteger)
    diff: Mapped[Any] = mapped_column(JSONB)
    author_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("users.id", ondelete="CASCADE"))
    votes_needed: Mapped[int] = mapped_column(Integer)
    round: Mapped[int] = mapped_column(Integer, server_default=text("1"))
    status: Mapped[str] = mapped_column(Text, server_default=text("'pending'"))
    reason: Mapped[str | None] = mapped_column(Text)
    error_code: Mapped[str | None] = mapped_column(Text)
    error_values: Mapped[Any] = mapped_column(JSONB, server_default=text("'{}'"))
    applied_record_id: Mapped[int | None] = mapped_column(BigInteger)
    applied_revision: Mapped[int | None] = mapped_column(BigInteger)
    created_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=NOW)
    expires_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True))
    resolved_at: Mapped[datetime | None] = mapped_column(TIMESTAMP(timezone=True))


class ModificationVote(Base):
    """One person's vote on one round of a modification."""

    __tablename__ = "modification_votes"

    modification_id: Mapped[int] = mapped_column(
        BigInteger, ForeignKey("modifications.id", ondelete="CASCADE"), primary_key=True
    )
    round: Mapped[int] = mapped_column(Integer, primary_key=True)
    user_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    approves: Mapped[bool] = mapped_column(Boolean)
    reason: Mapped[str | None] = mapped_column(Text)
    at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=NOW)
