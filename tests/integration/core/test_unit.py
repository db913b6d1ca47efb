"""A unit that begins its transaction with statements of its own, as the vector leg's does."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from app.container import Container

BEGIN = "begin isolation level repeatable read; set local statement_timeout = 4321"


def test_it_begins_as_it_was_told_and_commits(container: Container) -> None:
    with container.units(begin=BEGIN) as unit:
        told = [unit.session.scalar(text(f"show {name}")) for name in ("transaction_isolation", "statement_timeout")]
        unit.session.execute(text("create table written (n int)"))
    assert told == ["repeatable read", "4321ms"]
    with container.units() as unit:
        assert unit.session.scalar(text("select count(*) from written")) == 0
        assert unit.session.scalar(text("show transaction_isolation")) == "read committed", "the next one is as ever"


def test_it_is_rolled_back_on_an_error(container: Container) -> None:
    def fail() -> None:
        with container.units(begin=BEGIN) as unit:
            unit.session.execute(text("create table lost (n int)"))
            raise ValueError("late")

    with pytest.raises(ValueError, match="late"):
        fail()
    with container.units() as unit:
        assert unit.session.scalar(text("select to_regclass('lost')")) is None
