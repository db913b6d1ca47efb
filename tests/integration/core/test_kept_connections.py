"""Connections that are kept are looked at before they are used again (`app.core.db`)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, text

from app.core.db import make_engine

MINE = "select pg_backend_pid()"


@pytest.fixture
def engine(database: str) -> Iterator[Engine]:
    engine = make_engine(database, application_name="kept")
    yield engine
    engine.dispose()


def _pids(engine: Engine, count: int) -> set[int]:
    """Of so many connections that are open at the same time."""
    connections = [engine.connect() for _ in range(count)]
    found = {int(connection.scalar(text(MINE)) or 0) for connection in connections}
    for connection in connections:
        connection.close()
    return found


def test_a_connection_is_used_again(engine: Engine) -> None:
    assert _pids(engine, 1) == _pids(engine, 1)


def test_connections_whose_server_ended_them_are_opened_again(engine: Engine, database: str) -> None:
    ended = _pids(engine, 3)

    other = make_engine(database, application_name="ends")
    with other.begin() as connection:
        connection.execute(
            text("select pg_terminate_backend(pid, 5000) from pg_stat_activity where pid = any(:pids)"),
            {"pids": list(ended)},
        )
    other.dispose()

    opened = _pids(engine, 3)
    assert len(opened) == 3
    assert not opened & ended


def test_a_notice_that_nobody_read_ends_no_connection(engine: Engine, database: str) -> None:
    with engine.begin() as connection:
        pid = connection.scalar(text(MINE))
        connection.execute(text("listen changes"))
    other = make_engine(database, application_name="tells")
    with other.begin() as connection:
        connection.execute(text("notify changes"))
    other.dispose()

    assert _pids(engine, 1) == {pid}


def test_a_connection_that_was_closed_here_is_opened_again(engine: Engine) -> None:
    with engine.connect() as connection:
        pid = connection.scalar(text(MINE))
        driver = connection.connection.driver_connection
    assert driver is not None
    driver.close()

    assert not _pids(engine, 1) & {pid}
