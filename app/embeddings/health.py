"""Vector health: what is wrong with the vectors of each space, and the repairs, with what runs the switch anyway.

A repair either deletes rows that can't be right, under the locks of those who write, or asks the serving model's
consumer by index events to embed what is missing. Nothing here writes a vector, so nothing here can mix them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from app.core.audit.service import Audit
from app.core.clock import Clock
from app.core.contracts.actor import Actor
from app.core.errors import Conflict, Forbidden, Invalid, ModelServerFailed, NotFound, Unavailable
from app.core.unit import Unit, Units
from app.embeddings import activation_store as activation
from app.embeddings import failures_store as failures
from app.embeddings import health_store, store
from app.embeddings import ledger_store as ledger
from app.embeddings.client import ModelServers
from app.embeddings.health_store import CONDITIONS, Checked, Counts
from app.embeddings.indexes import pgvector
from app.embeddings.models import Switch
from app.embeddings.sampling import Sample, compare
from app.embeddings.spaces import Space
from app.embeddings.switch import PERMISSION
from app.embeddings.synchroniser import Synchroniser
from app.embeddings.upkeep import OTHER_MODEL, Upkeep

T = TypeVar("T")
Role = Literal["serving", "target", "kept"]
IndexWord = Literal["ready", "invalid", "missing", "building", "not_needed"]

PATIENCE_SECONDS = 3.0
"""How long the counts of all spaces together may take on a page."""
LONGEST_SECONDS = 60.0
REPAIR_SECONDS = 5.0
"""A repair stops between two portions after so long; what is left is named, and the next one goes on."""
DOCUMENTS = 500
EVENTS = 10_000
SAMPLE = 20
LARGEST_SAMPLE = 1000
CANCELLED = "57014"
KINDS = ("missing", "failed", *CONDITIONS, "index", "probe", "differing")
"""Every repair: see :meth:`VectorHealth.repair`."""


@dataclass(frozen=True)
class IndexState:
    """The index of one entity; ``size`` in bytes."""

    entity: str
    name: str
    state: IndexWord
    size: int


@dataclass(frozen=True)
class SpaceHealth:
    """One space. ``entities`` is None when they were not counted in time; ``problems`` are kinds of :data:`KINDS` or
    ``sample``."""

    space: Space
    role: Role
    entities: Sequence[Counts] | None
    indexes: Sequence[IndexState]
    noted: Checked
    switch_status: str | None

    def total(self, name: str) -> int:
        """The sum of one field of :class:`Counts` over all entities."""
        return sum(int(getattr(part, name)) for part in self.entities or ())

    def number(self, kind: str) -> int:
        """How much a repair of this kind would see to: documents, passages or indexes."""
        if kind == "missing":
            return self.total("stale") + self.total("missing")
        if kind == "index":
            return sum(index.state in ("invalid", "missing") for index in self.indexes)
        if kind == "probe":
            return int(self.noted.check_result not in (None, "ok"))
        if kind == "differing":
            return len((self.noted.sample or {}).get("differing", ()))
        return self.total(kind)

    @property
    def tolerance(self) -> float:
        """How far the length of a vector may be from 1."""
        return health_store.tolerance(self.space)

    @property
    def problems(self) -> list[str]:
        """What is wrong. Missing and stale documents are expected in a space that does not serve."""
        expected = () if self.role == "serving" else ("missing", "failed")
        found = [kind for kind in KINDS if kind not in expected and kind != "differing" and self.number(kind)]
        return [*found, *(["sample"] if (self.noted.sample or {}).get("verdict") in ("differs", "other") else [])]


@dataclass(frozen=True)
class Repaired:
    """What a repair did: ``count`` of documents, passages or indexes; ``more`` when it stopped before the end."""

    kind: str
    count: int
    more: bool = False
    result: str | None = None


class VectorHealth:
    """Counts and repairs. ``wake_consumer`` wakes the serving consumer, ``wake_index`` the rebuilding of a space."""

    def __init__(
        self,
        units: Units,
        clock: Clock,
        servers: ModelServers,
        synchroniser: Synchroniser,
        upkeep: Upkeep,
        wake_consumer: Callable[[Unit], None],
        wake_index: Callable[[Unit, int], None],
    ) -> None:
        self.units = units
        self.clock = clock
        self.servers = servers
        self.synchroniser = synchroniser
        self.upkeep = upkeep
        self.audit = Audit(clock)
        self.wake_consumer = wake_consumer
        self.wake_index = wake_index

    # --- looking -------------------------------------------------------------------------------------------------

    def report(self, patience: float = PATIENCE_SECONDS) -> list[SpaceHealth]:
        """Every space that matters, the serving one first. No model server is asked, and no statement outlasts what is
        left of ``patience`` (seconds): what could not be counted in time says so."""
        until = self.clock.monotonic() + (patience if 0 <= patience <= LONGEST_SECONDS else LONGEST_SECONDS)
        keys = self._in_time(health_store.held_spaces, patience)
        with self.units() as unit:
            keys = health_store.named_spaces(unit.session) if keys is None else keys
            spaces = [store.space(unit.session, key) for key in keys]
        return [self._space(space, max(until - self.clock.monotonic(), 0.05)) for space in spaces]

    def _space(self, space: Space, seconds: float) -> SpaceHealth:
        counts = self._in_time(lambda session: health_store.count(session, space), seconds)
        entities = None if counts is None else [part.entity for part in counts if part.passages]
        with self.units() as unit:
            switch = ledger.open_switch(unit.session)
            role = _role(unit, space.id, switch)
            return SpaceHealth(
                space,
                role,
                counts,
                _indexes(unit, space.id, entities, role == "serving" and not _takes_indexes(switch)),
                health_store.checked(unit.session, space.id),
                switch.status if switch is not None and switch.to_space_id == space.id else None,
            )

    def _in_time(self, read: Callable[[Session], list[T]], seconds: float) -> list[T] | None:
        """What ``read`` finds, or None when its statement was cancelled after ``seconds``."""
        try:
            with self.units() as unit:
                health_store.limit_time(unit.session, seconds)
                return read(unit.session)
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", None) != CANCELLED:
                raise
            return None

    # --- repairing -----------------------------------------------------------------------------------------------

    def refusal(self, health: SpaceHealth, kind: str) -> Conflict | None:
        """Why this repair can't be done now, or None; the same rules as :meth:`repair`, for pages."""
        with self.units() as unit:
            return _refusal(health.space, health.role, ledger.open_switch(unit.session), health.noted, kind)

    def repair(self, actor: Actor, space_id: int, kind: str) -> Repaired:
        """Do one repair; doing it twice does no harm.

        ``missing`` asks for stale and missing documents, ``failed`` for those that await a decision; ``orphaned``,
        ``surplus``, ``wrong_length``, ``not_finite``, ``norm_off`` and ``differing`` (what the last sample found)
        delete rows and ask for their documents; ``index`` has missing and invalid indexes rebuilt; ``probe`` asks the
        server. Raises Forbidden, Invalid for another kind, NotFound for an unknown space, Conflict while a
        switch sees to it itself.
        """
        self._permit(actor)
        if kind not in KINDS:
            raise Invalid("input.choice", path="kind", value=kind, allowed=", ".join(KINDS))
        if kind == "probe":
            return self._probe(space_id)
        with self.units() as unit:  # before its portions, each of which has a unit of its own
            self._admit(unit, space_id, kind)
            self.audit.write(unit, actor, "repair", "spaces", space_id, changes={"kind": [None, kind]})
        if kind == "index":
            return self._ask_for_indexes(space_id)
        if kind in ("missing", "failed"):
            return self._ask_for_documents(actor, space_id, kind)
        return self._delete(space_id, kind)

    def rebuild_indexes(self, space_id: int) -> int:
        """Drop what is invalid and build what is missing of the serving space; returns how many. For a job: what a
        switch has taken over meanwhile is left to it."""
        built = 0
        try:
            broken = self._broken(space_id)
        except (Conflict, NotFound):
            return 0
        for index in broken:
            with self.units() as unit:
                space = store.space(unit.session, space_id)
                if _takes_indexes(ledger.open_switch(unit.session)):
                    return built
            pgvector.build(
                self.units.engine,
                space.id,
                index.entity,
                space.dimensions,
                space.similarity,
                memory_mb=self.upkeep.memory_mb,
            )
            built += 1
        return built

    def _broken(self, space_id: int) -> list[IndexState]:
        with self.units() as unit:
            self._admit(unit, space_id, "index")
            entities = store.entities_with_rows(unit.session, space_id)
            found = _indexes(unit, space_id, entities, True)
        return [index for index in found if index.state in ("invalid", "missing")]

    def _ask_for_indexes(self, space_id: int) -> Repaired:
        broken = self._broken(space_id)
        if broken:
            with self.units() as unit:
                self.wake_index(unit, space_id)
        return Repaired("index", len(broken))

    def _ask_for_documents(self, actor: Actor, space_id: int, kind: str) -> Repaired:
        count, until = 0, self.clock.monotonic() + REPAIR_SECONDS
        with self.units() as unit:
            self._admit(unit, space_id, kind)
            if kind == "failed":
                waiting = health_store.undecided(unit.session, space_id)
                failures.resolve(unit.session, space_id, waiting, "retry", None, actor.login)
                count = len(waiting)
        while True:
            with self.units() as unit:
                self._admit(unit, space_id, kind)
                asked = health_store.ask_for(unit.session, space_id, EVENTS)
                self.wake_consumer(unit)
            count += asked if kind == "missing" else 0
            more = asked == EVENTS
            if not more or self.clock.monotonic() > until:
                return Repaired(kind, count, more)

    def _delete(self, space_id: int, kind: str) -> Repaired:
        count, until = 0, self.clock.monotonic() + REPAIR_SECONDS
        while True:
            with self.units() as unit:
                space, role, noted = self._admit(unit, space_id, kind)
                if kind == "differing":
                    found = [(str(entity), int(key), str(locale)) for entity, key, locale in _differing(noted)]
                    health_store.note_sample(unit.session, space_id, {**(noted.sample or {}), "differing": []})
                else:
                    found = health_store.wrong_documents(unit.session, space, kind, DOCUMENTS)
                deleted, records = health_store.delete_rows_of(unit.session, space, found, CONDITIONS.get(kind, "true"))
                if role == "serving" and records:
                    health_store.add_events(unit.session, records)
                    self.wake_consumer(unit)
            count += deleted
            if not found or kind == "differing":
                return Repaired(kind, count)
            if self.clock.monotonic() > until:
                return Repaired(kind, count, more=True)

    def _probe(self, space_id: int) -> Repaired:
        with self.units() as unit:
            space, role, _ = self._admit(unit, space_id, "probe")
        if role == "serving":
            result = self.upkeep.check_server() or "ok"
        else:
            result = self.upkeep.compare_server(space)
            with self.units() as unit:
                activation.note_check(unit.session, space_id, result)
        return Repaired("probe", 1, result=result)

    def sample(self, actor: Actor, space_id: int, size: int = SAMPLE) -> Sample:
        """Compare up to ``size`` stored vectors with fresh ones, and note the outcome. Costs the model server as much
        as embedding so many passages. Raises ModelServerFailed, or Unavailable when the server keeps one waiting."""
        self._permit(actor)
        if not 1 <= size <= LARGEST_SAMPLE:
            raise Invalid("input.range", path="size", least=1, most=LARGEST_SAMPLE)
        with self.units() as unit:
            space, _, _ = self._admit(unit, space_id, "sample")
            health_store.limit_time(unit.session, LONGEST_SECONDS)
            stored = health_store.sample(unit.session, space_id, size)
        try:
            found = compare(stored, self.servers.batcher(space.profile, _impatient(space)), space.profile.window)
        except ModelServerFailed as error:
            if error.reason not in OTHER_MODEL:
                raise
            found = Sample(len(stored), 0, None, None, "other", ())
        with self.units() as unit:
            health_store.note_sample(unit.session, space_id, found.note())
        return found

    # --- rules ---------------------------------------------------------------------------------------------------

    def _permit(self, actor: Actor) -> None:
        if not actor.may(PERMISSION):
            raise Forbidden("access.forbidden", permission=PERMISSION)

    @staticmethod
    def _admit(unit: Unit, space_id: int, kind: str) -> tuple[Space, Role, Checked]:
        """The space, if this repair of it is allowed; an open switch towards it stays locked, so that it can't start
        to run amid a portion."""
        if not health_store.is_space(unit.session, space_id):
            raise NotFound("health.unknown_space", space=space_id)
        switch = ledger.open_switch(unit.session)
        if switch is not None and switch.to_space_id == space_id:
            switch = ledger.lock_open_switch(unit.session)
        space, role = store.space(unit.session, space_id), _role(unit, space_id, switch)
        noted = health_store.checked(unit.session, space_id)
        refused = _refusal(space, role, switch, noted, kind)
        if refused is not None:
            raise refused
        return space, role, noted


def _role(unit: Unit, space_id: int, switch: Switch | None) -> Role:
    row = store.serving(unit.session)
    if row is not None and row.space_id == space_id:
        return "serving"
    return "target" if switch is not None and switch.to_space_id == space_id else "kept"


def _indexes(unit: Unit, space_id: int, entities: Sequence[str] | None, needed: bool) -> list[IndexState]:
    """One for each entity; without ``entities`` those that are there, for the catalogue is always quick."""
    built = {index.name: index for index in pgvector.existing(unit.session) if index.space_id == space_id}
    building = {build.index for build in pgvector.progress(unit.session)}
    wanted = {pgvector.index_name(space_id, entity): entity for entity in entities or ()}
    if entities is None:
        wanted = {name: name.removeprefix(f"{pgvector.PREFIX}{space_id}_") for name in built}
    shown = []
    for name, entity in wanted.items():
        index = built.get(name)
        state: IndexWord = "missing" if needed else "not_needed"
        if name in building:
            state = "building"
        elif index is not None:
            state = "ready" if index.valid else "invalid"
        shown.append(IndexState(entity, name, state, index.size if index else 0))
    return shown


def _refusal(space: Space, role: Role, switch: Switch | None, noted: Checked, kind: str) -> Conflict | None:
    held = switch is not None and switch.to_space_id == space.id
    if kind in ("probe", "sample", "orphaned"):
        return None
    if held and switch is not None and switch.status == "running":
        return Conflict("health.switch_runs", target=space.key)
    if kind == "index":
        if role != "serving":
            return Conflict("health.no_index_needed", profile=space.key)
        return Conflict("health.indexes_by_switch") if _takes_indexes(switch) else None
    if kind in ("missing", "failed") and held:
        return Conflict("health.resume_switch", target=space.key)
    if kind in ("missing", "failed") and role == "kept":
        return Conflict("health.kept", profile=space.key)
    if kind == "differing" and (noted.sample or {}).get("verdict") != "differs":
        return Conflict("health.sample_first")
    return None


def _takes_indexes(switch: Switch | None) -> bool:
    """A switch in place makes room by dropping the serving model's indexes, and brings them back itself."""
    return switch is not None and switch.mode == "in_place"


def _differing(noted: Checked) -> Sequence[Sequence[str | int]]:
    found = (noted.sample or {}).get("differing", ())
    return list(found)


def _impatient(space: Space) -> Callable[[float, str], None]:
    """A person waits for a sample: a server that is busy is not waited for."""

    def waiting(seconds: float, reason: str) -> None:
        raise Unavailable("health.server_waits", profile=space.key)

    return waiting
