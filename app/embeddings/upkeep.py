"""Upkeep, derived from what stands (serving, open switch, retained) and repeatable: nothing here is needed for right
answers, only for room and speed (`switch.md`, "after")."""

from __future__ import annotations

import structlog

from app.core.contracts.checkpoints import Checkpoint
from app.core.contracts.copies import EngineCopies
from app.core.documents import events_store as events
from app.core.documents.events_store import Position
from app.core.errors import Conflict, ModelServerFailed, NotFound, Unavailable
from app.core.unit import Units
from app.embeddings import activation_store as activation
from app.embeddings import failures_store as failures
from app.embeddings import ledger_store as ledger
from app.embeddings import store
from app.embeddings.client import ModelServers
from app.embeddings.consumers import SERVING
from app.embeddings.identity import identity
from app.embeddings.indexes import pgvector
from app.embeddings.probe import probe
from app.embeddings.profiles import Profiles
from app.embeddings.repair import fill_space
from app.embeddings.spaces import Space
from app.embeddings.synchroniser import Outcome, Synchroniser

log = structlog.get_logger(__name__)

MODEL_CHANGED = "model_changed"
"""Why vector search is suspended when the server no longer answers from the model its vectors were made with."""
OTHER_MODEL = ("model", "dimensions")


class Upkeep:
    """Sets up the first model, keeps its indexes, and clears away what nobody reads any more."""

    def __init__(
        self,
        units: Units,
        profiles: Profiles,
        servers: ModelServers,
        synchroniser: Synchroniser,
        checkpoint: Checkpoint,
        memory_mb: int,
        copies: EngineCopies | None = None,
    ) -> None:
        self.units = units
        self.profiles = profiles
        self.servers = servers
        self.synchroniser = synchroniser
        self.checkpoint = checkpoint
        self.memory_mb = memory_mb
        self.copies = copies

    def set_up(self) -> bool:
        """Make the initial profile serve a new installation; returns whether there was anything to do.

        Raises what a start would refuse with, when the initial profile's server is away or is another model.
        """
        with self.units() as unit:
            if store.serving(unit.session) is not None:
                return False
        key = self.profiles.initial_key()
        profile = self.profiles.get(key)
        inspection = probe(self.servers, profile)
        with self.units() as unit:
            space = store.ensure_space(unit.session, profile, identity(profile, inspection), inspection.vector)
            activation.set_up(unit.session, space)
            events.begin_cursor(unit.session, SERVING, space.id, Position(0, 0))
        log.info("serving_set_up", space=space.id, model=key)
        return True

    def check_server(self) -> str | None:
        """Compare the serving model's server with its fixed text; returns ``ok``, a reason, or None before any serves.

        A server that answers from another model, or under another name, suspends vector search (the guard and a banner
        say so) until it answers as before: its vectors compare to plausible nonsense (`known-bugs.md` 16). A server
        that is away suspends nothing: each search says so by itself.
        """
        with self.units() as unit:
            row = store.serving(unit.session)
            if row is None:
                return None
            space = store.space(unit.session, row.space_id)
        result = self.compare_server(space)
        with self.units() as unit:
            activation.note_check(unit.session, space.id, result)
            if result in OTHER_MODEL and activation.suspend_for(unit.session, space.id, MODEL_CHANGED):
                log.error("serving_model_changed", space=space.id, reason=result)
            elif result == "ok" and activation.lift(unit.session, MODEL_CHANGED):
                log.info("serving_model_is_back", space=space.id)
        return result

    def compare_server(self, space: Space) -> str:
        """Compare a space's server with its fixed text: ``ok`` or a reason."""
        try:
            self.synchroniser.check_server(space)
        except ModelServerFailed as error:
            return error.reason
        return "ok"

    def missing_indexes(self) -> list[tuple[int, str]]:
        """(space, entity) of serving indexes that are missing or invalid while no switch is open.

        An entity that is being loaded waits: built at once, its index would take nearly all rows one by one, which
        costs some two milliseconds of a core each, many times what building it afterwards does.
        """
        with self.units() as unit:
            row = store.serving(unit.session)
            if row is None or ledger.open_switch(unit.session) is not None:
                return []
            valid = {index.name for index in pgvector.existing(unit.session) if index.valid}
            entities = store.loaded(unit.session, row.space_id)
            return [
                (row.space_id, entity) for entity in entities if pgvector.index_name(row.space_id, entity) not in valid
            ]

    def build_missing_indexes(self) -> int:
        """Build what :meth:`missing_indexes` says; returns how many."""
        built = 0
        for space_id, entity in self.missing_indexes():
            with self.units() as unit:
                space = store.space(unit.session, space_id)
            pgvector.build(
                self.units.engine, space.id, entity, space.dimensions, space.similarity, memory_mb=self.memory_mb
            )
            built += 1
        return built

    def tidy(self) -> None:
        """Drop indexes that no search reads, delete rows whose retention has ended, forget events all have passed."""
        with self.units() as unit:
            idle = set(activation.idle_spaces(unit.session))
            unread = {index.space_id for index in pgvector.existing(unit.session)} & idle
        for space_id in sorted(unread):
            self.checkpoint("tidy.before_drop")
            pgvector.drop_space(self.units.engine, space_id)
            self.checkpoint("tidy.dropped")
        while self._delete_expired():
            pass
        with self.units() as unit:
            events.prune_events(unit.session)
        self.tidy_copies()

    def tidy_copies(self) -> None:
        """Let an engine's aliases follow what serves, and drop its indexes that nobody reads; later when it is away."""
        if self.copies is None:
            return
        try:
            self.copies.tidy(self.checkpoint)
        except Unavailable as error:
            log.warning("copies_not_tidied", code=error.code)

    def _delete_expired(self) -> int:
        """One portion; the space's row stays locked, so that a switch towards it starts before or after, not amid."""
        deleted = 0
        with self.units() as unit:
            for space_id in activation.expired_spaces(unit.session):
                deleted += activation.delete_rows(unit.session, space_id)
                failures.forget_space_failures(unit.session, space_id)
        return deleted

    def prune(self, key: str) -> int:
        """Delete the rows and indexes of a model now. Refuses the serving one, and any while a switch is open."""
        with self.units() as unit:
            row = store.serving(unit.session)
            if ledger.open_switch(unit.session) is not None:
                raise Conflict("prune.switch_running")
            spaces = store.spaces_of(unit.session, key)
            others = [space.id for space in spaces if row is None or space.id != row.space_id]
            if not spaces:
                raise NotFound("prune.unknown", profile=key)
            if not others:
                raise Conflict("prune.serving", profile=key)
        deleted = 0
        for space_id in others:
            pgvector.drop_space(self.units.engine, space_id)
            while count := self._delete(space_id):
                deleted += count
        return deleted

    def _delete(self, space_id: int) -> int:
        with self.units() as unit:
            if ledger.open_switch(unit.session) is not None:
                raise Conflict("prune.switch_running")
            failures.forget_space_failures(unit.session, space_id)
            return activation.delete_rows(unit.session, space_id)

    def repair(self, entity: str | None = None) -> Outcome:
        """Embed whatever the serving model misses, for one entity or all."""
        with self.units() as unit:
            row = store.serving(unit.session)
        if row is None:
            self.set_up()
            with self.units() as unit:
                row = store.serving(unit.session)
        if row is None:
            raise NotFound("profile.unknown", profile="", known=", ".join(self.profiles.keys()))
        return fill_space(self.units, self.synchroniser, row.space_id, entity)
