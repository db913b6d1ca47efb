"""Runs of evaluations and what came of each case. Rows are never updated."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Boolean, Float, ForeignKey, Index, Integer, Text, text
from sqlalchemy.dialects.postgresql import JSONB, TIMESTAMP
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.core.db import Base

EMPTY_LIST, EMPTY_OBJECT = text("'[]'"), text("'{}'")


class EvaluationRun(Base):
    """One run. ``kind``: ``suite`` (golden questions to a collection) or ``dataset`` (questions of described callers).

    ``retrieval`` says what was asked (passages, answers, words); ``settings`` what else the figures depend on.
    """

    __tablename__ = "evaluation_runs"
    __table_args__ = (Index("evaluation_runs_suite_idx", "suite", "collection", text("id desc")),)

    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True), server_default=text("clock_timestamp()"))
    kind: Mapped[str] = mapped_column(Text)
    suite: Mapped[str] = mapped_column(Text)
    collection: Mapped[str] = mapped_column(Text)
    model: Mapped[str | None] = mapped_column(Text)
    retrieval: Mapped[str] = mapped_column(Text)
    k: Mapped[int | None] = mapped_column(Integer)
    git_sha: Mapped[str | None] = mapped_column(Text)
    cases: Mapped[int] = mapped_column(Integer)
    passed: Mapped[int] = mapped_column(Integer)
    metrics: Mapped[dict[str, float]] = mapped_column(JSONB)
    floors: Mapped[dict[str, float]] = mapped_column(JSONB, server_default=EMPTY_OBJECT)
    breaches: Mapped[list[str]] = mapped_column(JSONB, server_default=EMPTY_LIST)
    settings: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default=EMPTY_OBJECT)
    started_by: Mapped[str] = mapped_column(Text)
    results: Mapped[list[EvaluationResult]] = relationship(
        cascade="all, delete-orphan", order_by="EvaluationResult.position"
    )


class EvaluationResult(Base):
    """What came of one case. ``retrieved`` is a list of ``{source, score}``, best first; texts are not kept.

    ``reasons`` are ``{kind, value}``; ``rank`` is that of the first expected source, from 1.
    """

    __tablename__ = "evaluation_results"

    run_id: Mapped[int] = mapped_column(
        BigInteger, ForeignKey("evaluation_runs.id", ondelete="CASCADE"), primary_key=True
    )
    case_id: Mapped[str] = mapped_column(Text, primary_key=True)
    position: Mapped[int] = mapped_column(Integer)
    query: Mapped[str] = mapped_column(Text)
    passed: Mapped[bool] = mapped_column(Boolean)
    known_red: Mapped[bool] = mapped_column(Boolean, server_default=text("false"))
    rank: Mapped[int | None] = mapped_column(Integer)
    score: Mapped[float | None] = mapped_column(Float)
    expected: Mapped[list[str]] = mapped_column(JSONB, server_default=EMPTY_LIST)
    reasons: Mapped[list[dict[str, str]]] = mapped_column(JSONB, server_default=EMPTY_LIST)
    retrieved: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, server_default=EMPTY_LIST)
