"""Queries of tickets that the generic record queries can't say."""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.sao.models import Ticket


def last_number(session: Session) -> int:
    """The highest number ever given; deleted tickets keep theirs."""
    return session.scalar(select(func.max(Ticket.number))) or 0
