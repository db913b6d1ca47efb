"""The state of the switch as one object, for page, API and command line alike. All counts come from the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from sqlalchemy.orm import Session

from app.core.queue import EMBEDDINGS, INDEX, SWITCH
from app.embeddings import failures_store as failures
from app.embeddings.ledger_store import ChunkTally
from app.embeddings.models import Switch, SwitchFailure
from app.embeddings.phases.ports import PHASES, consumer_of
from app.embeddings.status_store import Facts
from app.embeddings.status_store import facts as read_facts

WORKER_SECONDS = 15
QUEUE_OF = {
    "preflight": SWITCH,
    "embeddings": EMBEDDINGS,
    "indexes": INDEX,
    "verify": INDEX,
    "activate": SWITCH,
}


@dataclass(frozen=True)
class EntityProgress:
    """One entity: its documents, how many are done for the target, and the state of its index."""

    entity: str
    total: int
    done: int
    passages: int
    index: Literal["none", "waiting", "building", "built"]


@dataclass(frozen=True)
class Waiting:
    """Why nothing moves just now: ``server`` or ``engine`` (since seconds), ``transactions`` (pid), ``worker`` (queue).

    ``horizon``: that pid's transaction holds the events' cursor where it is; events are applied all the same.
    """

    kind: Literal["server", "engine", "transactions", "worker", "horizon"]
    detail: str
    seconds: float | None = None


@dataclass(frozen=True)
class SwitchStatus:
    """What is known of a switch. ``status`` is idle, running or failed; the outcome of an ended one is in history."""

    status: Literal["idle", "running", "failed"]
    switch: Switch | None = None
    interrupted: bool = False
    phase: str | None = None
    done: int = 0
    total: int = 0
    passages: int = 0
    rate: float | None = None
    eta_seconds: float | None = None
    rounds: int = 0
    lag: int | None = None
    entities: Sequence[EntityProgress] = ()
    waiting: Sequence[Waiting] = ()
    failures: Sequence[SwitchFailure] = ()
    build: tuple[int, int] | None = None
    since_progress: float = 0.0
    now: datetime | None = None
    phases: Sequence[tuple[str, str]] = field(default_factory=list)


IDLE = SwitchStatus(status="idle", phases=[(phase, "waiting") for phase in PHASES])


def read_status(session: Session, switch: Switch | None, interrupted_seconds: int, now: datetime) -> SwitchStatus:
    """The status of ``switch`` as of this transaction; its cost grows with the number of chunks only."""
    if switch is None or switch.status not in ("running", "failed"):
        return IDLE
    facts = read_facts(session, switch, consumer_of(switch), WORKER_SECONDS)
    tallies = facts.tallies
    embedding = {part.entity: part for part in tallies if part.phase == "embeddings"}
    already: dict[str, int] = switch.actuals.get("already", {})
    totals: dict[str, int] = switch.actuals.get("total", {})
    builds, failed = facts.builds, facts.failed
    entities = [
        _entity(entity, totals, already, embedding, tallies, switch.phase, failed.get(entity, 0)) for entity in totals
    ]
    seconds = facts.seconds_without_progress
    done, total = sum(part.done for part in entities), sum(part.total for part in entities)
    rate = _rate(switch, embedding, now)
    running = switch.status == "running"
    return SwitchStatus(
        status="running" if running else "failed",
        switch=switch,
        interrupted=running and seconds > interrupted_seconds,
        phase=switch.phase,
        done=done,
        total=total,
        passages=sum(part.passages for part in embedding.values()),
        rate=rate,
        eta_seconds=(total - done) / rate if rate and running and switch.phase == "embeddings" else None,
        rounds=switch.rounds,
        lag=facts.lag,
        entities=entities,
        waiting=_waiting(switch, facts, now) if running else [],
        failures=failures.failures(session, switch.to_space_id) if switch.to_space_id and failed else [],
        build=(sum(build.done for build in builds), sum(build.total for build in builds)) if builds else None,
        since_progress=seconds,
        now=now,
        phases=_phases(switch),
    )


def _entity(
    entity: str,
    totals: dict[str, int],
    already: dict[str, int],
    embedding: dict[str, ChunkTally],
    tallies: Sequence[ChunkTally],
    phase: str,
    failed: int,
) -> EntityProgress:
    part = embedding.get(entity)
    index: Literal["none", "waiting", "building", "built"] = "none"
    for tally in tallies:
        if tally.phase == "indexes" and tally.entity == entity:
            index = "built" if tally.finished else "building" if tally.leased else "waiting"
    total = totals[entity]
    done = already.get(entity, 0) + (part.done if part else 0)
    if phase in ("indexes", "verify", "activate"):
        done = total
    done = max(min(done, total - failed), 0)
    return EntityProgress(entity, total, done, part.passages if part else 0, index)


def _rate(switch: Switch, embedding: dict[str, ChunkTally], now: datetime) -> float | None:
    """Documents per second since the embeddings phase began; None before there is anything to divide."""
    if switch.phase != "embeddings":
        return None
    done = sum(part.done for part in embedding.values())
    seconds = (now - switch.phase_at).total_seconds()
    return done / seconds if done and seconds > 1 else None


def _phases(switch: Switch) -> list[tuple[str, str]]:
    place = PHASES.index(switch.phase)
    state = "failed" if switch.status == "failed" else "current"
    return [
        (phase, "done" if number < place else state if number == place else "waiting")
        for number, phase in enumerate(PHASES)
    ]


def _waits_for_engine(switch: Switch, facts: Facts) -> bool:
    """While indexes are built or checked no model is asked: who is away is the engine that keeps copies."""
    checking = any(tally.phase == "verify" and tally.pending + tally.leased for tally in facts.tallies)
    return switch.phase == "indexes" or (switch.phase == "verify" and checking)


def _waiting(switch: Switch, facts: Facts, now: datetime) -> list[Waiting]:
    found: list[Waiting] = []
    if switch.waiting_since is not None:
        seconds = (now - switch.waiting_since).total_seconds()
        away = _waits_for_engine(switch, facts)
        found.append(Waiting("engine", "elasticsearch", seconds) if away else Waiting("server", switch.to_key, seconds))
    for build in facts.builds:
        if build.waits_for is not None:
            found.append(Waiting("transactions", str(build.waits_for)))
    if facts.horizon is not None:
        found.append(Waiting("horizon", str(facts.horizon[0]), facts.horizon[1]))
    found += [Waiting("worker", queue) for queue in {SWITCH, QUEUE_OF[switch.phase]} - facts.queues]
    return found
