"""The scheduler: a process of its own that asks every two seconds what is due, and wakes it (`switch.md`).

Several may run: a tick is taken by one, and its effects are conditional updates and wake-ups.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from contextlib import suppress
from typing import Any

import structlog
from sqlalchemy.exc import SQLAlchemyError

from app.container import Container
from app.core.errors import ConfigurationError
from app.core.processes import store as processes
from app.core.queue import DEFAULT
from app.edge.logs import configure
from jobs import runtime

log = structlog.get_logger(__name__)

KIND = "scheduler"
TICK_SECONDS = 2.0
MINUTE_TICKS = 30
"""Every minute: validity dates are to the minute, and a changed model server is noticed within one."""


def tick(parts: Container, number: int) -> None:
    """Look once at what is due."""
    with parts.units() as unit:
        processes.seen(unit.session, runtime.own_name(KIND), KIND, None, os.getpid(), socket.gethostname())
        if number % MINUTE_TICKS == 0:
            processes.remove_dead(unit.session, 300)
            processes.forget_old_failures(unit.session, 30)
            parts.idempotency.prune(unit)
            unit.wake("jobs.upkeep.refresh_validity", DEFAULT)
            if parts.elasticsearch:
                unit.wake("jobs.index_events.follow_engine", DEFAULT)
                unit.wake("jobs.upkeep.tidy", DEFAULT)
            unit.wake("jobs.upkeep.check_server", DEFAULT)
            unit.wake("jobs.upkeep.tidy_core", DEFAULT)
            unit.wake("jobs.upkeep.refresh_words", DEFAULT)
    if parts.elasticsearch and parts.queue.waiting(DEFAULT) == 0 and parts.elasticsearch.due():
        with parts.units() as unit:
            unit.wake("jobs.index_events.follow_engine", DEFAULT)
    if parts.ai:
        with parts.units() as unit:
            if parts.ai.take_tick(unit.session):
                parts.ai.watchdog.tick(unit)


def main() -> int:
    """Tick until told to stop; a database that is away is tried again at the next tick."""
    try:
        parts = runtime.container()
    except ConfigurationError as error:
        print("\n".join(error.problems), file=sys.stderr)
        return 2
    configure(parts.config.changeover_log_level)

    def stop(signum: int, frame: Any) -> None:
        runtime.STOPPING.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    number = 0
    while True:
        try:
            tick(parts, number)
        except SQLAlchemyError as error:
            log.warning("tick_failed", error=type(error).__name__)
        number += 1
        if runtime.STOPPING.wait(TICK_SECONDS):
            break
    with suppress(SQLAlchemyError), parts.units() as unit:  # else it would be told as silent beside its successor
        processes.gone(unit.session, runtime.own_name(KIND))
    return 0


if __name__ == "__main__":
    sys.exit(main())
