"""A clock that stands still until it is moved."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

START = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


class FakeClock:
    """The :class:`~app.core.clock.Clock` of tests: sleeping costs nothing and moves it."""

    def __init__(self, start: datetime = START) -> None:
        self.instant = start
        self.slept: list[float] = []

    def now(self) -> datetime:
        return self.instant

    def monotonic(self) -> float:
        return (self.instant - START).total_seconds()

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        self.instant += timedelta(seconds=seconds)
