"""Who did what to which record, from where. Written in the transaction of the change; rows are never updated."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Index, Text, text
from sqlalchemy.dialects.postgresql import JSONB, TIMESTAMP
from sqlalchemy.orm import Mapped, mapped_column

from app.core.db import Base


class AuditEntry(Base):
    """One change. ``changes`` maps a field to its old and new value, a protected one to nothing but its name."""

    __tablename__ = "audit_entries"
    __table_args__ = (
        Index("audit_entries_record_idx", "entity", "record_id", text("id desc")),
        Index("audit_entries_actor_idx", "actor_id", text("id desc")),
    )

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=text("clock_timestamp()"))
    actor_id: Mapped[int | None] = mapped_column(BigInteger)
    actor_login: Mapped[str] = mapped_column(Text)
    impersonator_id: Mapped[int | None] = mapped_column(BigInteger)
    impersonator_login: Mapped[str | None] = mapped_column(Text)
    token_id: Mapped[int | None] = mapped_column(BigInteger)
    channel: Mapped[str] = mapped_column(Text)
    address: Mapped[str | None] = mapped_column(Text)
    request_id: Mapped[str | None] = mapped_column(Text)
    action: Mapped[str] = mapped_column(Text)
    entity: Mapped[str] = mapped_column(Text)
    record_id: Mapped[int | None] = mapped_column(BigInteger)
    revision: Mapped[int | None] = mapped_column(BigInteger)
    changes: Mapped[Any] = mapped_column(JSONB, server_default=text("'{}'"))
