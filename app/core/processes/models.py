"""Background processes that are alive, and the jobs that failed in them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Integer, Text, text
from sqlalchemy.dialects.postgresql import JSONB, TIMESTAMP
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
    job_ids: Mapped[dict[str, Any] | None] = mapped_column(JSONB)
    job_since: Mapped[datetime | None] = mapped_column(TIMESTAMP(timezone=True))
    last_error: Mapped[str | None] = mapped_column(Text)


class JobFailure(Base):
    """A job that failed, by name: once for each queue, however often. Losing Redis does not lose this.

    ``error`` is the class of the last failure, ``code`` its code if it was one of ours; never a text. ``times`` counts
    since the job last worked; ``worked_at`` is when it did so again.
    """

    __tablename__ = "job_failures"

    queue: Mapped[str] = mapped_column(Text, primary_key=True)
    job: Mapped[str] = mapped_column(Text, primary_key=True)
    ids: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default=text("'{}'"))
    error: Mapped[str] = mapped_column(Text)
    code: Mapped[str | None] = mapped_column(Text)
    times: Mapped[int] = mapped_column(Integer, server_default=text("1"))
    first_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=NOW)
    last_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=NOW)
    worked_at: Mapped[datetime | None] = mapped_column(TIMESTAMP(timezone=True))
