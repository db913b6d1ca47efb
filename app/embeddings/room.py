"""Free room where the database keeps its files, when that place can be seen from here."""

from __future__ import annotations

import os

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from app.embeddings import store


def free_bytes(session: Session) -> int | None:
    """Bytes free on the database's volume; None when the database is elsewhere or keeps it to itself."""
    try:
        with session.begin_nested():
            place = store.local_data_directory(session)
    except SQLAlchemyError:
        return None
    if place is None:
        return None
    try:
        stat = os.statvfs(place)
    except OSError:
        return None
    return stat.f_bavail * stat.f_frsize
