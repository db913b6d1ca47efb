"""Background processes that are alive."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Integer, Text, text
from sqlalchemy.dialects.postgresql import TIMESTAMP
from sqlalchemy.orm import Mapped, mapped_column

from app.core.db import Base

NOW = text("clock_timestamp()")


class Process(Base):
    """A background process that says every few seconds that it is alive (losing Redis does not lose this)."""

    __tablename__ = "processes"

    name: Mapped[str] = mapped_column(Text, primary_key=True)
    kind: Mapped[str] = mapped_column(Text)
    queue: Mapped[str | None] = mapped_column(Text)
    pid: Mapped[int] = mapped_column(Integer)
    host: Mapped[str] = mapped_column(Text)
    started_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=NOW)
    seen_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=NOW)
    job: Mapped[str | None] = mapped_column(Text)
    last_error: Mapped[str | None] = mapped_column(Text)
