"""Queries of evaluation runs. Every function runs in the caller's session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session, selectinload

from app.documentation.runs.models import EvaluationRun

Series = tuple[str, str, str, int, int]
"""Kind, suite, collection, number of runs, id of the latest."""


def add(session: Session, run: EvaluationRun) -> None:
    """Insert a run with its results; it has its id and its time afterwards."""
    session.add(run)
    session.flush()
    session.refresh(run, ["at"])


def series(session: Session) -> list[Series]:
    """Every suite with the collection that it was asked of, the latest run first."""
    statement = (
        select(
            EvaluationRun.kind,
            EvaluationRun.suite,
            EvaluationRun.collection,
            func.count(),
            func.max(EvaluationRun.id).label("latest"),
        )
        .group_by(EvaluationRun.kind, EvaluationRun.suite, EvaluationRun.collection)
        .order_by(func.max(EvaluationRun.id).desc())
    )
    return [(kind, suite, name, runs, latest) for kind, suite, name, runs, latest in session.execute(statement)]


def page(
    session: Session, suite: str | None, collection: str | None, before: int | None, size: int
) -> Sequence[EvaluationRun]:
    """Runs without their results, newest first, of a suite and collection where they are named."""
    statement = select(EvaluationRun)
    conditions: list[Any] = []
    if suite is not None:
        conditions.append(EvaluationRun.suite == suite)
    if collection is not None:
        conditions.append(EvaluationRun.collection == collection)
    if before is not None:
        conditions.append(EvaluationRun.id < before)
    return session.scalars(statement.where(*conditions).order_by(EvaluationRun.id.desc()).limit(size)).all()


def find(session: Session, run_id: int) -> EvaluationRun | None:
    """One run with its results."""
    statement = select(EvaluationRun).where(EvaluationRun.id == run_id).options(selectinload(EvaluationRun.results))
    return session.scalars(statement).one_or_none()


def before(session: Session, run: EvaluationRun) -> EvaluationRun | None:
    """The run of the same suite and collection before this one, with its results."""
    statement = (
        select(EvaluationRun)
        .where(
            EvaluationRun.kind == run.kind,
            EvaluationRun.suite == run.suite,
            EvaluationRun.collection == run.collection,
            EvaluationRun.id < run.id,
        )
        .order_by(EvaluationRun.id.desc())
        .limit(1)
        .options(selectinload(EvaluationRun.results))
    )
    return session.scalars(statement).one_or_none()
