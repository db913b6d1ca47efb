"""What every committed transaction did to the switch, read inside it: a history that is checked for legality (I5)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from app.core.unit import Isolation, Origin, Unit, Units

TAG = "/* history */"
"""Marks the statements of the observer, so that no fault hits them."""
PHASES = ("preflight", "embeddings", "indexes", "verify", "activate")
MOVES = {
    "preflight": {"embeddings"},
    "embeddings": {"embeddings", "indexes"},
    "indexes": {"indexes", "verify"},
    "verify": {"verify", "embeddings", "activate"},
    "activate": {"verify"},
}
"""Where one step may lead while the switch goes on running."""


@dataclass(frozen=True)
class State:
    """A switch as one transaction left it."""

    id: int
    epoch: int
    step: int
    status: str
    phase: str
    kind: str
    to_space: int | None


@dataclass(frozen=True)
class Serving:
    """The serving row as one transaction left it, with the space that this transaction activated, if any."""

    epoch: int
    space: int
    suspended: bool
    activated: int | None


@dataclass
class Looked:
    """What one transaction wrote; ``problems`` were seen in it, before its commit."""

    xid: str
    states: list[State]
    serving: list[Serving]
    problems: list[str]


WRITTEN = "xmin = pg_current_xact_id_if_assigned()::xid"
UNCOVERED = f"""{TAG} select d.entity || ':' || d.record_id from search_documents d
    join serving s on true where d.embeddable
    and (select count(*) from embeddings e where (e.entity, e.record_id, e.locale) = (d.entity, d.record_id, d.locale)
        and e.space_id = s.space_id and e.text_hash = d.text_hash)
      is distinct from (select max("of") from embeddings e where (e.entity, e.record_id, e.locale) =
        (d.entity, d.record_id, d.locale) and e.space_id = s.space_id and e.text_hash = d.text_hash)
    and not exists (select 1 from switch_failures f where f.space_id = s.space_id and f.resolution = 'set_aside'
        and (f.entity, f.record_id, f.locale, f.text_hash) = (d.entity, d.record_id, d.locale, d.text_hash))
    and not exists (select 1 from index_events i join index_cursors c on c.consumer = 'serving'
        where (i.entity, i.record_id) = (d.entity, d.record_id) and (i.xid, i.id) > (c.xid, c.event_id))"""
"""Documents that the serving space lacks and that no event will bring (I2, and I3 in the activating transaction)."""
FOREIGN_CHUNKS = f"""{TAG} select c.phase || ' chunk ' || c.seq || ' of epoch ' || c.epoch
    from switch_chunks c join switches s on s.id = c.switch_id
    where c.{WRITTEN} and c.status <> 'pending' and (c.epoch <> s.epoch or s.status <> 'running')"""
"""A chunk that this transaction wrote under an epoch that is over (I5: one writer per epoch)."""


@dataclass
class History:
    """All of it, in the order of commits as far as one process can know it."""

    states: list[State] = field(default_factory=list)
    serving: list[Serving] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def look(self, session: Session) -> Looked | None:
        """What this transaction wrote, as it is about to commit; None when it wrote nothing."""
        session.flush()
        xid = session.scalar(text(f"{TAG} select pg_current_xact_id_if_assigned()::text"))
        if xid is None:
            return None
        rows = session.execute(
            text(f"{TAG} select id, epoch, step, status, phase, kind, to_space_id from switches where {WRITTEN}")
        )
        states = [State(*row) for row in rows]
        activated = next((state.to_space for state in states if state.status == "activated"), None)
        rows = session.execute(
            text(f"{TAG} select epoch, space_id, suspended_reason is not null from serving where {WRITTEN}")
        )
        serving = [Serving(*row, activated) for row in rows]
        problems = [f"I5 written in an epoch that is over: {name}" for name in session.scalars(text(FOREIGN_CHUNKS))]
        if activated is not None:
            problems += [f"I3 activated without: {name}" for name in session.scalars(text(UNCOVERED))]
        return Looked(str(xid), states, serving, problems)

    def add(self, looked: Looked) -> None:
        """This transaction has committed."""
        with self._lock:
            self.states += looked.states
            self.serving += looked.serving
            self.problems += looked.problems

    def violations(self) -> list[str]:
        """Illegal transitions of switches and of the serving row, and what was seen inside transactions."""
        return [*self.problems, *self._switches(), *self._serving()]

    def _switches(self) -> Iterator[str]:
        last: State | None = None
        for state in sorted(set(self.states), key=lambda state: (state.id, state.epoch, state.step)):
            if last is None or last.id != state.id:
                if (state.epoch, state.step, state.phase) != (1, 0, "preflight"):
                    yield f"I5 a switch began as {state}"
            elif not legal(last, state):
                yield f"I5 illegal: {last} → {state}"
            last = state

    def _serving(self) -> Iterator[str]:
        rows = sorted(set(self.serving), key=lambda row: row.epoch)
        for before, after in pairwise(rows):
            if after.epoch != before.epoch + 1:
                yield f"I5 serving epochs {before.epoch}, {after.epoch}"
            if after.space != before.space and after.activated != after.space:
                yield f"I2 served another space without an activation: {after}"


def legal(before: State, after: State) -> bool:
    """Whether one transaction may turn ``before`` into ``after`` (`switch.md`)."""
    if before.status not in ("running", "failed"):
        return False
    if after.epoch == before.epoch:
        return after.step == before.step + 1 and before.status == "running" and _step(before, after)
    if after.epoch != before.epoch + 1 or after.step != before.step:
        return False
    if after.status == "running":
        resumed = before.phase if before.phase in ("preflight", "embeddings") else "embeddings"
        return after.phase == resumed
    if after.status == "failed":
        return before.status == "running" and after.phase == before.phase
    return after.status in ("abandoned", "cleared") and before.kind == "switch" and after.phase == before.phase


def _step(before: State, after: State) -> bool:
    if after.status == "running":
        return after.phase in MOVES[before.phase]
    if after.status == "activated":
        return before.phase == after.phase == "activate"
    return after.status == "failed" and after.phase == before.phase


class RecordedUnits(Units):
    """Units that tell the history what they commit. The dead open none."""

    def __init__(self, engine: Any, queue: Any, history: History, alive: Any) -> None:
        super().__init__(engine, queue)
        self.history = history
        self.alive = alive

    @contextmanager
    def __call__(
        self, isolation: Isolation = "READ COMMITTED", origin: Origin | None = None, begin: str | None = None
    ) -> Iterator[Unit]:
        self.alive()
        looked: Looked | None = None
        try:
            with super().__call__(isolation, origin, begin) as unit:
                yield unit
                looked = self.history.look(unit.session)
        except BaseException:
            if looked is not None and self._committed(looked.xid):
                self.history.add(looked)
            raise
        if looked is not None:
            self.history.add(looked)

    def _committed(self, xid: str) -> bool:
        """Whether a commit that broke off had taken place."""
        with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            statement = text(f"{TAG} select pg_xact_status(cast(:xid as xid8))")
            return connection.scalar(statement, {"xid": xid}) == "committed"
