"""Questions to the user guide, kept when an administrator wants them: these fields and no other (`seed-facts.md` 18).

A field more or less needs a new review of what is kept about people, see `docs/reference/documentation.md`.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import Boolean, CheckConstraint, Index, Integer, Text, Uuid
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION, TIMESTAMP
from sqlalchemy.orm import Mapped, mapped_column

from app.core.db import Base


class LoggedQuestion(Base):
    """One question. ``user_ref`` is a keyed hash of the person's id; ``query`` is None where texts are not kept.

    Never the answer, a text of the documentation or the id of the person.
    """

    __tablename__ = "documentation_queries"
    __table_args__ = (
        CheckConstraint("user_ref ~ '^[0-9a-f]{64}$'", name="user_ref"),
        CheckConstraint("retrieved_count >= 0", name="retrieved_count"),
        CheckConstraint("citation_count >= 0", name="citation_count"),
        CheckConstraint("latency_ms >= 0", name="latency_ms"),
        Index("documentation_queries_logged_at_idx", "logged_at"),
        Index("documentation_queries_user_ref_idx", "user_ref"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True)
    logged_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True))
    user_ref: Mapped[str] = mapped_column(Text)
    tenant: Mapped[str] = mapped_column(Text)
    profile: Mapped[str] = mapped_column(Text)
    locale: Mapped[str] = mapped_column(Text)
    query: Mapped[str | None] = mapped_column(Text)
    retrieved_count: Mapped[int] = mapped_column(Integer)
    citation_count: Mapped[int] = mapped_column(Integer)
    answered: Mapped[bool] = mapped_column(Boolean)
    latency_ms: Mapped[float] = mapped_column(DOUBLE_PRECISION)
    index: Mapped[str] = mapped_column(Text)
