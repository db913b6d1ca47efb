"""What a switch would cost, before anybody confirms it: numbers with their error, for both modes. Writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from sqlalchemy.orm import Session

from app.core.clock import Clock
from app.core.errors import ChangeoverError, ModelServerFailed
from app.core.unit import Units
from app.embeddings import store
from app.embeddings.client import ModelServers
from app.embeddings.indexes import pgvector
from app.embeddings.profiles import Profile
from app.embeddings.room import free_bytes
from app.embeddings.spaces import Space
from app.embeddings.store import Missing

Mode = Literal["side_by_side", "in_place"]
MODES: tuple[Mode, ...] = ("side_by_side", "in_place")
PROBE_SECONDS = 3.0
KEEP_SECONDS = 600.0
KEEP_FAILURE_SECONDS = 30.0
ERROR_SHARE = 0.4
"""How far a measured speed is off, as a share: a probe of a few passages on a machine that does other things too."""


@dataclass(frozen=True)
class ModeCost:
    """Room in bytes that one mode needs on top of what is used now, at its worst moment."""

    mode: Mode
    bytes_needed: int
    vectors_off: bool


@dataclass(frozen=True)
class Preview:
    """The figures of a confirmation. Documents are record × locale; seconds and rates are estimates with a range."""

    target: Profile
    current: Space | None
    serving_epoch: int
    change: Literal["first", "dimensions_differ", "dimensions_equal"]
    documents: int
    already_done: int
    to_embed: int
    passages: int
    set_aside: int
    blank: int
    rate: float | None
    seconds: tuple[float, float] | None
    bytes_free: int | None
    costs: Sequence[ModeCost]
    retain_days: int
    probe: ChangeoverError | None = None
    entities: dict[str, int] = field(default_factory=dict)


class Previews:
    """Makes previews; a profile's measured speed is kept for ten minutes, a failure for thirty seconds (seed 000)."""

    def __init__(self, units: Units, servers: ModelServers, clock: Clock) -> None:
        self.units = units
        self.servers = servers
        self.clock = clock
        self._speeds: dict[str, tuple[float, float | ModelServerFailed]] = {}

    def speed(self, profile: Profile, samples: Sequence[str]) -> float | ModelServerFailed:
        """Passages per second of one slot, measured on some real passages within three seconds."""
        kept = self._speeds.get(profile.key)
        if kept is not None and kept[0] > self.clock.monotonic():
            return kept[1]
        result: float | ModelServerFailed
        try:
            answer = self.servers.client(profile).embed(list(samples), "passage", timeout=PROBE_SECONDS)
            result = len(samples) / max(answer.seconds, 0.001)
            keep = KEEP_SECONDS
        except ModelServerFailed as error:
            result, keep = error, KEEP_FAILURE_SECONDS
        self._speeds[profile.key] = (self.clock.monotonic() + keep, result)
        return result

    def make(self, profile: Profile, slots: int, retain_days: int, done_space: Space | None) -> Preview:
        """The preview of a switch to ``profile``; ``done_space`` is its space if rows of it may stand already."""
        with self.units() as unit:
            session = unit.session
            serving = store.serving(session)
            current = None if serving is None else store.space(session, serving.space_id)
            entities = store.count_embeddable(session)
            documents = sum(entities.values())
            missing = Missing(documents, 0, 0) if done_space is None else store.count_missing(session, done_space.id)
            blank = store.count_blank(session)
            each = pgvector.passages_per_document(session)
            costs = _costs(session, profile, current, missing.open, documents)
            free = free_bytes(session)
            samples = store.sample_texts(session)
        to_embed = missing.open + missing.undecided
        passages = round(to_embed * each)
        speed = self.speed(profile, samples) if samples else 0.0
        rate = None if isinstance(speed, ModelServerFailed) or not speed else speed * slots
        return Preview(
            target=profile,
            current=current,
            serving_epoch=0 if serving is None else serving.epoch,
            change=_change(profile, current),
            documents=documents,
            already_done=documents - to_embed - missing.set_aside,
            to_embed=to_embed,
            passages=passages,
            set_aside=missing.set_aside,
            blank=blank,
            rate=rate,
            seconds=None if rate is None else _range(passages / rate + 5),
            bytes_free=free,
            costs=costs,
            retain_days=retain_days,
            probe=speed if isinstance(speed, ModelServerFailed) else None,
            entities=entities,
        )


def _change(profile: Profile, current: Space | None) -> Literal["first", "dimensions_differ", "dimensions_equal"]:
    if current is None:
        return "first"
    return "dimensions_equal" if current.dimensions == profile.dimensions else "dimensions_differ"


def _range(seconds: float) -> tuple[float, float]:
    return seconds * (1 - ERROR_SHARE), seconds * (1 + ERROR_SHARE)


def _costs(session: Session, profile: Profile, current: Space | None, to_embed: int, documents: int) -> list[ModeCost]:
    needed = pgvector.bytes_needed(session, profile.dimensions, to_embed, documents)
    freed = 0
    if current is not None:
        freed = sum(index.size for index in pgvector.existing(session) if index.space_id == current.id)
    return [
        ModeCost("side_by_side", needed, vectors_off=False),
        ModeCost("in_place", max(needed - freed, 0), vectors_off=True),
    ]
