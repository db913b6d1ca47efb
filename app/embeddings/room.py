"""Free room where the database keeps its files, when that place can be seen from here."""

from __future__ import annotations

import os

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session


def free_bytes(session: Session) -> int | None:
    """Bytes free on the database's volume; None when the database is elsewhere or keeps it to itself."""
    try:
        with session.begin_nested():
            local = session.scalar(text("select inet_server_addr() is null or inet_server_addr() <<= '127.0.0.0/8'"))
            place = session.scalar(text("select current_setting('data_directory')"))
    except SQLAlchemyError:
        return None
    if not local or not place:
        return None
    try:
        stat = os.statvfs(str(place))
    except OSError:
        return None
    return stat.f_bavail * stat.f_frsize
