"""Vectors, the spaces they live in, and the switch from one space to another (`switch.md`, first table)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pgvector.sqlalchemy import Vector
from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, TIMESTAMP
from sqlalchemy.orm import Mapped, mapped_column

from app.core.db import Base

NOW = text("clock_timestamp()")
DOCUMENT = ["search_documents.entity", "search_documents.record_id", "search_documents.locale"]


class VectorSpace(Base):
    """What makes vectors comparable. A changed declaration is another space (`switch.md`)."""

    __tablename__ = "vector_spaces"

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    model_key: Mapped[str] = mapped_column(Text)
    fingerprint: Mapped[str] = mapped_column(Text, unique=True)
    dimensions: Mapped[int] = mapped_column(Integer)
    similarity: Mapped[str] = mapped_column(Text)
    declaration: Mapped[dict[str, Any]] = mapped_column(JSONB)
    server_identity: Mapped[str] = mapped_column(Text)
    canary: Mapped[Any | None] = mapped_column(Vector())
    created_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=NOW)
    retained_until: Mapped[datetime | None] = mapped_column(TIMESTAMP(timezone=True))
    checked_at: Mapped[datetime | None] = mapped_column(TIMESTAMP(timezone=True))
    check_result: Mapped[str | None] = mapped_column(Text)
    sampled_at: Mapped[datetime | None] = mapped_column(TIMESTAMP(timezone=True))
    sample: Mapped[dict[str, Any] | None] = mapped_column(JSONB)


class Embedding(Base):
    """The vector of one passage in one space. ``start``/``end`` count in `document_text(title, body)`."""

    __tablename__ = "embeddings"
    __table_args__ = (
        ForeignKeyConstraint(
            ["entity", "record_id", "locale"], DOCUMENT, ondelete="CASCADE", name="embeddings_document_fkey"
        ),
    )

    entity: Mapped[str] = mapped_column(Text, primary_key=True)
    record_id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    locale: Mapped[str] = mapped_column(Text, primary_key=True)
    space_id: Mapped[int] = mapped_column(
        Integer, ForeignKey("vector_spaces.id"), primary_key=True, autoincrement=False
    )
    n: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    of: Mapped[int] = mapped_column(Integer)
    start: Mapped[int] = mapped_column(Integer)
    end: Mapped[int] = mapped_column(Integer)
    text_hash: Mapped[bytes] = mapped_column(LargeBinary)
    passage_hash: Mapped[bytes] = mapped_column(LargeBinary)
    embedding: Mapped[Any] = mapped_column(Vector())


class Serving(Base):
    """Exactly one row: the space that search uses now. Activation is one update of it."""

    __tablename__ = "serving"
    __table_args__ = (CheckConstraint("id = 1", name="one_row"),)

    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    space_id: Mapped[int] = mapped_column(Integer, ForeignKey("vector_spaces.id"))
    model_key: Mapped[str] = mapped_column(Text)
    dimensions: Mapped[int] = mapped_column(Integer)
    similarity: Mapped[str] = mapped_column(Text)
    generation: Mapped[str | None] = mapped_column(Text)
    suspended_reason: Mapped[str | None] = mapped_column(Text)
    since: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=NOW)
    epoch: Mapped[int] = mapped_column(BigInteger, server_default=text("1"))


class Switch(Base):
    """One switch, from start to outcome; also the history.

    ``status``: running, failed, activated, abandoned, cleared, finished. ``kind``: switch; return (the serving model's
    indexes are rebuilt after an abandoned in-place switch); dry_run (ends as finished, or abandoned with its reason).
    """

    __tablename__ = "switches"
    __table_args__ = (
        Index(
            "switches_one_open_idx",
            text("(true)"),
            unique=True,
            postgresql_where=text("status in ('running', 'failed')"),
        ),
    )

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    kind: Mapped[str] = mapped_column(Text, server_default=text("'switch'"))
    status: Mapped[str] = mapped_column(Text)
    phase: Mapped[str] = mapped_column(Text)
    mode: Mapped[str] = mapped_column(Text)
    from_space_id: Mapped[int | None] = mapped_column(Integer, ForeignKey("vector_spaces.id"))
    to_space_id: Mapped[int | None] = mapped_column(Integer, ForeignKey("vector_spaces.id"))
    from_key: Mapped[str] = mapped_column(Text)
    to_key: Mapped[str] = mapped_column(Text)
    started_by: Mapped[str] = mapped_column(Text)
    started_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=NOW)
    progress_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=NOW)
    phase_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=NOW)
    finished_at: Mapped[datetime | None] = mapped_column(TIMESTAMP(timezone=True))
    retain_days: Mapped[int] = mapped_column(Integer, server_default=text("7"))
    epoch: Mapped[int] = mapped_column(BigInteger, server_default=text("1"))
    step: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))
    lease_token: Mapped[str | None] = mapped_column(Text)
    lease_until: Mapped[datetime | None] = mapped_column(TIMESTAMP(timezone=True))
    rounds: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    waiting_since: Mapped[datetime | None] = mapped_column(TIMESTAMP(timezone=True))
    troubles: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    error_code: Mapped[str | None] = mapped_column(Text)
    error_values: Mapped[dict[str, Any] | None] = mapped_column(JSONB)
    estimate: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default=text("'{}'"))
    actuals: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default=text("'{}'"))


class SwitchChunk(Base):
    """A half-open key range [from_id, to_id) of one entity in one phase; None is an open end.

    ``pending → leased → done``. ``documents`` is what was missing when it was planned, ``done`` what was written.
    """

    __tablename__ = "switch_chunks"
    __table_args__ = (
        Index("switch_chunks_switch_id_phase_status_idx", "switch_id", "phase", "status"),
        UniqueConstraint("switch_id", "phase", "entity", "seq", name="switch_chunks_place_key"),
    )

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    switch_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("switches.id", ondelete="CASCADE"))
    phase: Mapped[str] = mapped_column(Text)
    entity: Mapped[str] = mapped_column(Text)
    seq: Mapped[int] = mapped_column(Integer)
    from_id: Mapped[int | None] = mapped_column(BigInteger)
    to_id: Mapped[int | None] = mapped_column(BigInteger)
    status: Mapped[str] = mapped_column(Text, server_default=text("'pending'"))
    epoch: Mapped[int | None] = mapped_column(BigInteger)
    attempt: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    lease_token: Mapped[str | None] = mapped_column(Text)
    lease_until: Mapped[datetime | None] = mapped_column(TIMESTAMP(timezone=True))
    backend_pid: Mapped[int | None] = mapped_column(Integer)
    documents: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    done: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    passages: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    error: Mapped[str | None] = mapped_column(Text)
    started_at: Mapped[datetime | None] = mapped_column(TIMESTAMP(timezone=True))
    progress_at: Mapped[datetime | None] = mapped_column(TIMESTAMP(timezone=True))
    finished_at: Mapped[datetime | None] = mapped_column(TIMESTAMP(timezone=True))


class SwitchFailure(Base):
    """One document that could not be embedded in one space, at one text; it goes with the document or its text."""

    __tablename__ = "switch_failures"
    __table_args__ = (
        ForeignKeyConstraint(
            ["entity", "record_id", "locale"], DOCUMENT, ondelete="CASCADE", name="switch_failures_document_fkey"
        ),
        UniqueConstraint("space_id", "entity", "record_id", "locale", "text_hash", name="switch_failures_text_key"),
        Index("switch_failures_document_idx", "entity", "record_id", "locale"),
    )

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    space_id: Mapped[int] = mapped_column(Integer, ForeignKey("vector_spaces.id", ondelete="CASCADE"))
    entity: Mapped[str] = mapped_column(Text)
    record_id: Mapped[int] = mapped_column(BigInteger)
    locale: Mapped[str] = mapped_column(Text)
    text_hash: Mapped[bytes] = mapped_column(LargeBinary)
    reason: Mapped[str] = mapped_column(Text)
    attempts: Mapped[int] = mapped_column(Integer, server_default=text("1"))
    resolution: Mapped[str | None] = mapped_column(Text)
    note: Mapped[str | None] = mapped_column(Text)
    resolved_by: Mapped[str | None] = mapped_column(Text)
    first_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=NOW)
    last_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=NOW)
