"""A scheduler is known for as long as it runs, and no longer expected once it was told to stop."""

from __future__ import annotations

import signal
import threading

import pytest

from app.container import Container
from app.core.processes import store
from jobs import runtime, schedule


class Stopping(threading.Event):
    """Is set at the first pause; looks at who is known then."""

    def __init__(self, container: Container) -> None:
        super().__init__()
        self._container = container
        self.known: list[str] = []

    def wait(self, timeout: float | None = None) -> bool:
        with self._container.units() as unit:
            self.known = [process.kind for process in store.all_known(unit.session)]
        return True


def test_a_scheduler_that_was_told_to_stop_is_not_silent(container: Container, monkeypatch: pytest.MonkeyPatch) -> None:
    stopping = Stopping(container)
    monkeypatch.setattr(runtime, "container", lambda: container)
    monkeypatch.setattr(runtime, "STOPPING", stopping)
    monkeypatch.setattr(signal, "signal", lambda *_: None)

    assert schedule.main() == 0

    assert stopping.known == ["scheduler"]
    with container.units() as unit:
        assert store.all_known(unit.session) == []
