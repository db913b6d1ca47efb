"""Requests that were answered already, so that a repeat gets the first outcome (`core.md`, Idempotency)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Integer, LargeBinary, Text, text
from sqlalchemy.dialects.postgresql import JSONB, TIMESTAMP
from sqlalchemy.orm import Mapped, mapped_column

from app.core.db import Base


class IdempotencyKey(Base):
    """One key of one actor on one route. ``resource`` says what the effect made, by id; never a body or a secret."""

    __tablename__ = "idempotency_keys"

    actor_id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    route: Mapped[str] = mapped_column(Text, primary_key=True)
    key: Mapped[str] = mapped_column(Text, primary_key=True)
    body_hash: Mapped[bytes] = mapped_column(LargeBinary)
    status: Mapped[int | None] = mapped_column(Integer)
    resource: Mapped[Any] = mapped_column(JSONB)
    created_at: Mapped[datetime] = mapped_column(
        TIMESTAMP(timezone=True), server_default=text("clock_timestamp()"), index=True
    )
