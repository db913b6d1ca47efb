"""Tickets of the service desk, numbered SAO-n."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, Text, text
from sqlalchemy.dialects.postgresql import TIMESTAMP
from sqlalchemy.orm import Mapped, mapped_column

from app.core.db import Base

NOW = text("clock_timestamp()")


class Ticket(Base):
    """One ticket. ``number`` is the n of SAO-n; ``external_id`` the id it had where it was imported from."""

    __tablename__ = "sao_tickets"

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger, unique=True)
    external_id: Mapped[str | None] = mapped_column(Text, unique=True)
    subject: Mapped[str] = mapped_column(Text)
    description: Mapped[str] = mapped_column(Text)
    locale: Mapped[str] = mapped_column(Text, server_default=text("'en'"))
    status: Mapped[str] = mapped_column(Text, server_default=text("'open'"))
    priority: Mapped[str] = mapped_column(Text, server_default=text("'normal'"))
    requester: Mapped[str] = mapped_column(Text, server_default=text("''"))
    assignee: Mapped[str | None] = mapped_column(Text)
    revision: Mapped[int] = mapped_column(BigInteger, server_default=text("1"))
    created_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=NOW)
    updated_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=NOW)
    deleted_at: Mapped[datetime | None] = mapped_column(TIMESTAMP(timezone=True))
