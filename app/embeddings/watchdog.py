"""The watchdog: what the tables say is due, and nobody holds, is woken again (`product.md`, decision 2).

Losing Redis, a lost job or a dead worker is a delay of at most a lease. Wakes go only to queues that are empty: a wake
that waits already is enough.
"""

from __future__ import annotations

from collections.abc import Callable

from app.core.clock import Clock
from app.core.documents import events_store as events
from app.core.queue import DEFAULT, EMBEDDINGS, INDEX, SWITCH, JobQueue
from app.core.unit import Unit
from app.embeddings import activation_store as activation
from app.embeddings import dry_run_store as dry_runs
from app.embeddings import ledger_store as ledger
from app.embeddings import store
from app.embeddings.consumers import PAGE, SERVING
from app.embeddings.indexes import pgvector
from app.embeddings.switch import Wakes

STALL_SECONDS = 900
CATCHING_UP = ("indexes", "verify", "activate")
"""Phases in which the target's events are applied; before, the chunks read every text themselves."""


class Watchdog:
    """Wakes what is due."""

    def __init__(
        self,
        queue: JobQueue,
        clock: Clock,
        wakes: Wakes,
        set_up: Callable[[Unit], None],
        indexes: Callable[[Unit], None],
    ) -> None:
        self.queue = queue
        self.clock = clock
        self.began = clock.monotonic()
        self.wakes = wakes
        self.set_up = set_up
        self.indexes = indexes

    def tick(self, unit: Unit) -> None:
        """Look at everything once; effects are wake-ups, and a failure of what stalled for too long."""
        self._switch(unit)
        self._consumers(unit)
        self._upkeep(unit)

    def _empty(self, queue: str) -> bool:
        return self.queue.waiting(queue) == 0

    def _switch(self, unit: Unit) -> None:
        dry_runs.close_failed(unit.session)
        switch = ledger.open_switch(unit.session)
        if switch is None or switch.status != "running":
            return
        if ledger.step_is_free(unit.session, switch.id) and self._empty(SWITCH):
            self.wakes.step(unit, switch.id)
        free = ledger.free_chunks(unit.session, switch.id, switch.phase)
        if free and switch.phase == "embeddings" and self._empty(EMBEDDINGS):
            self.wakes.chunks(unit, switch.id)
        if free and switch.phase in ("indexes", "verify") and self._empty(INDEX):
            self.wakes.indexes(unit, switch.id)
        # A machine that was off overnight has not stalled: only the time in which somebody was woken counts.
        watched = self.clock.monotonic() - self.began
        if free and min(watched, ledger.seconds_without_progress(unit.session, switch.id)) > STALL_SECONDS:
            queue = EMBEDDINGS if switch.phase == "embeddings" else INDEX
            values = {"seconds": STALL_SECONDS, "queue": queue}
            ledger.fail(unit.session, switch.id, switch.epoch, "switch.failed.stalled", values)

    def _consumers(self, unit: Unit) -> None:
        switch = ledger.open_switch(unit.session)
        consumers = {"serving": DEFAULT}
        if switch is not None and switch.status == "running" and switch.phase in CATCHING_UP:
            consumers["target"] = EMBEDDINGS
        for consumer, queue in consumers.items():
            if not events.is_free(unit.session, consumer) or not self._empty(queue):
                continue
            if events.lag(unit.session, consumer, 1) or events.restored(unit.session, consumer):
                self.wakes.consumer(unit, consumer)

    def _upkeep(self, unit: Unit) -> None:
        row = store.serving(unit.session)
        if row is None:
            if self._empty(DEFAULT):
                self.set_up(unit)
            return
        built = pgvector.existing(unit.session)
        idle = set(activation.idle_spaces(unit.session))
        if (any(index.space_id in idle for index in built) or activation.has_expired(unit.session)) and self._empty(
            DEFAULT
        ):
            self.wakes.tidy(unit)
        loading = (events.lag(unit.session, SERVING, PAGE + 1) or 0) > PAGE
        if ledger.open_switch(unit.session) is None and self._empty(INDEX) and not loading:
            valid = {index.name for index in built if index.valid}
            entities = store.entities_with_rows(unit.session, row.space_id)
            wanted = {pgvector.index_name(row.space_id, entity) for entity in entities}
            if wanted - valid:
                self.indexes(unit)
