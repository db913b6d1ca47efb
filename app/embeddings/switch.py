"""The switch, from outside: preview, start, resume, abandon, decide on failures (`switch.md`; seed 000).

Refusals come in the seed's order (`seed-facts.md` 2.5) and change nothing: unknown profile, already active, another
start, a switch that is open, no server, probe and dimensions, identity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy.exc import IntegrityError

from app.core.audit.service import Audit
from app.core.clock import Clock
from app.core.contracts.actor import Actor
from app.core.contracts.checkpoints import Checkpoint
from app.core.documents import events_store as events
from app.core.errors import ChangeoverError, Conflict, Forbidden, Invalid
from app.core.unit import Unit, Units
from app.embeddings import activation_store as activation
from app.embeddings import dry_run_store as dry_runs
from app.embeddings import failures_store as failures
from app.embeddings import ledger_store as ledger
from app.embeddings import store
from app.embeddings.client import ModelServers
from app.embeddings.consumers import TARGET
from app.embeddings.identity import Inspection, declared_identity, identity
from app.embeddings.indexes import pgvector
from app.embeddings.models import Serving, Switch
from app.embeddings.preview import MODES, Preview, Previews
from app.embeddings.probe import probe
from app.embeddings.profiles import Profile, Profiles
from app.embeddings.spaces import Space
from app.embeddings.status import SwitchStatus, read_status

PERMISSION = "embeddings.switch"
PROBE_SECONDS = 3.0


class SettingsOfSwitch(Protocol):
    """What the switch needs of the settings (wired to `core/settings`)."""

    def retain_days(self, unit: Unit) -> int: ...

    def model_chosen(self, unit: Unit, key: str, by: Actor) -> None:
        """The operator's choice (``features.embeddings.model``) is now ``key``."""
        ...


@dataclass(frozen=True)
class Wakes:
    """How the parts of the switch are woken; jobs by name, after the commit."""

    step: Callable[[Unit, int], None]
    chunks: Callable[[Unit, int], None]
    indexes: Callable[[Unit, int], None]
    consumer: Callable[[Unit, str], None]
    tidy: Callable[[Unit], None]


class Switching:
    """What an administrator may do with the embedding model."""

    def __init__(
        self,
        units: Units,
        clock: Clock,
        profiles: Profiles,
        servers: ModelServers,
        settings: SettingsOfSwitch,
        wakes: Wakes,
        checkpoint: Checkpoint,
        interrupted_seconds: int,
        slots: Callable[[Profile], int],
    ) -> None:
        self.units = units
        self.clock = clock
        self.profiles = profiles
        self.servers = servers
        self.settings = settings
        self.wakes = wakes
        self.checkpoint = checkpoint
        self.interrupted_seconds = interrupted_seconds
        self.slots = slots
        self.audit = Audit(clock)
        self.previews = Previews(units, servers, clock)

    # --- reading -------------------------------------------------------------------------------------------------

    def permit_reading(self, actor: Actor) -> None:
        """Who may look at models and switches: whoever may read the settings, or start a switch."""
        if not actor.may("settings.select") and not actor.may(PERMISSION):
            raise Forbidden("access.forbidden", permission="settings.select")

    def probe(self, key: str) -> Inspection:
        """Measure a profile's vectors. Raises what a start would refuse with."""
        profile = self.profiles.get(key)
        self._refuse_unconfigured(profile)
        return probe(self.servers, profile, timeout=PROBE_SECONDS)

    def status(self) -> SwitchStatus:
        """The switch that is running or has failed, or idle."""
        with self.units() as unit:
            return read_status(
                unit.session, ledger.open_switch(unit.session), self.interrupted_seconds, self.clock.now()
            )

    def history(self, limit: int = 50) -> Sequence[Switch]:
        """Switches, the latest first."""
        with self.units() as unit:
            return ledger.history(unit.session, limit)

    def find(self, switch_id: int) -> Switch | None:
        """One switch by id."""
        with self.units() as unit:
            return ledger.switch(unit.session, switch_id)

    def left_of_dry_run(self, switch_id: int) -> int:
        """Rows and indexes of an ended dry run that are still to be removed."""
        with self.units() as unit:
            return dry_runs.left(unit.session, switch_id)

    def serving(self) -> tuple[Serving, Space] | None:
        """The serving row and its space."""
        with self.units() as unit:
            row = store.serving(unit.session)
            return None if row is None else (row, store.space(unit.session, row.space_id))

    def retained(self) -> list[dict[str, Any]]:
        """Models whose rows are kept for a way back: key, space, rows, until when."""
        with self.units() as unit:
            return activation.retained(unit.session)

    def record(self, entity: str, record_id: int) -> list[store.RecordState]:
        """How one record stands in the serving model, per locale."""
        with self.units() as unit:
            row = store.serving(unit.session)
            return [] if row is None else store.record_states(unit.session, row.space_id, entity, record_id)

    def coverage(self) -> tuple[int, int]:
        """(documents with vectors of the serving model at their current text, documents with a text)."""
        with self.units() as unit:
            row = store.serving(unit.session)
            total = sum(store.count_embeddable(unit.session).values())
            return (0 if row is None else sum(store.count_done(unit.session, row.space_id).values())), total

    def preview(self, actor: Actor, target: str) -> Preview:
        """What a switch to ``target`` would cost. Raises the refusals 1, 2 and 4 and *not configured*."""
        self._permit(actor)
        with self.units() as unit:
            profile = self._refuse_early(unit, target)
            done = store.space_by_fingerprint(unit.session, profile.fingerprint(declared_identity(profile)))
            days = self.settings.retain_days(unit)
        self._refuse_unconfigured(profile)
        return self.previews.make(profile, self.slots(profile), days, done)

    # --- start ---------------------------------------------------------------------------------------------------

    def start(
        self,
        actor: Actor,
        target: str,
        mode: str = "side_by_side",
        epoch: int | None = None,
        report: bool = False,
        dry_run: bool = False,
        within: Callable[[Unit, int], None] | None = None,
    ) -> Switch:
        """Refuse, or store a running switch and wake it. ``epoch`` is the preview's: changed since means 409.

        ``report`` stores a refusal of the server's as a failed switch in preflight (`--report-failure`). A ``dry_run``
        takes every step but the activation, and is undone; nothing that serves changes, so there is only one way.
        ``within`` is called with the new switch's id in the unit that stores it.
        """
        self._permit(actor)
        if actor.needs_approval:
            raise Forbidden("access.needs_approval", path="target")
        if mode not in MODES:
            raise Invalid("switch.mode", path="mode")
        if dry_run and mode != "side_by_side":
            raise Invalid("switch.dry_run_mode", path="mode")
        with self.units() as unit:
            profile = self._refuse_early(unit, target, epoch)
        try:
            self._refuse_unconfigured(profile)
            inspection = probe(self.servers, profile, timeout=PROBE_SECONDS)
        except ChangeoverError as refusal:
            if report:
                self._store_refusal(actor, profile, mode, refusal)
            raise
        self.checkpoint("start.before_insert")
        estimate = self._estimate(actor, target)
        try:
            with self.units() as unit:
                profile = self._refuse_early(unit, target, epoch)
                space = store.ensure_space(unit.session, profile, identity(profile, inspection), inspection.vector)
                kind = dry_runs.DRY_RUN if dry_run else "switch"
                switch = self._insert(unit, actor, profile, space, mode, estimate, kind)
                self.wakes.step(unit, switch.id)
                self._note(unit, actor, "start", switch, mode=mode, kind=kind)
                if within is not None:
                    within(unit, switch.id)
                self.checkpoint("start.before_commit")
        except IntegrityError:
            raise Conflict("switch.being_started") from None
        self.checkpoint("start.committed")
        return switch

    def _estimate(self, actor: Actor, target: str) -> dict[str, Any]:
        preview = self.preview(actor, target)
        return {
            "documents": preview.to_embed,
            "already_done": preview.already_done,
            "passages": preview.passages,
            "rate": preview.rate,
            "seconds": list(preview.seconds) if preview.seconds else None,
            "bytes": {cost.mode: cost.bytes_needed for cost in preview.costs},
        }

    def _insert(
        self, unit: Unit, actor: Actor, profile: Profile, space: Space, mode: str, estimate: dict[str, Any], kind: str
    ) -> Switch:
        session = unit.session
        serving = store.serving(session)
        dry_run = kind == dry_runs.DRY_RUN
        switch = Switch(
            kind=kind,
            status="running",
            phase="preflight",
            mode=mode,
            from_space_id=None if serving is None else serving.space_id,
            to_space_id=space.id,
            from_key="" if serving is None else serving.model_key,
            to_key=profile.key,
            started_by=actor.login,
            retain_days=self.settings.retain_days(unit),
            estimate=estimate,
            actuals={"before": dry_runs.before(session, space.id)} if dry_run else {},
        )
        session.add(switch)
        session.flush()
        activation.keep_for_switch(session, space.id)
        events.begin_cursor(session, TARGET, space.id, events.now(session))
        if mode == "in_place":
            activation.suspend(session, activation.SWITCHING)
        if not dry_run:
            self.settings.model_chosen(unit, profile.key, actor)
        return switch

    def _store_refusal(self, actor: Actor, profile: Profile, mode: str, refusal: ChangeoverError) -> None:
        with self.units() as unit:
            if ledger.open_switch(unit.session) is not None:
                return
            serving = store.serving(unit.session)
            switch = Switch(
                status="failed",
                phase="preflight",
                mode=mode,
                from_space_id=None if serving is None else serving.space_id,
                from_key="" if serving is None else serving.model_key,
                to_key=profile.key,
                started_by=actor.login,
                error_code=refusal.code,
                error_values={name: str(value) for name, value in refusal.values.items()},
                estimate={},
                actuals={},
            )
            unit.session.add(switch)
            unit.session.flush()
            self._note(unit, actor, "start", switch, mode=mode, refused=refusal.code)

    def _note(self, unit: Unit, actor: Actor, action: str, switch: Switch, **said: object) -> None:
        """Audit what a person did to a switch."""
        changes = {"model": [switch.from_key, switch.to_key], **{name: [None, value] for name, value in said.items()}}
        self.audit.write(unit, actor, action, "switches", switch.id, changes=changes)

    # --- resume, abandon, decide ---------------------------------------------------------------------------------

    def resume(self, actor: Actor) -> Switch:
        """Continue a switch that failed or stands still: a new epoch, the same phase, done chunks stay done."""
        self._permit(actor)
        with self.units() as unit:
            switch = self._stopped(unit)
            if switch.to_space_id is None:
                raise Conflict("switch.nothing_running")
            if switch.phase in ("indexes", "verify", "activate"):
                switch.phase = "embeddings"
                ledger.reopen_chunks(unit.session, switch.id, "embeddings")
                ledger.drop_chunks(unit.session, switch.id, ["indexes", "verify"])
            elif switch.phase == "embeddings":
                ledger.reopen_unfinished(unit.session, switch.id)
            switch.status, switch.rounds, switch.epoch = "running", 1, switch.epoch + 1
            switch.error_code = switch.error_values = None
            switch.troubles = 0
            self._unlease(switch)
            unit.session.flush()
            ledger.note_progress(unit.session, switch.id)
            self.wakes.step(unit, switch.id)
            self._note(unit, actor, "resume", switch, phase=switch.phase)
            self.checkpoint("resume.before_commit")
        return switch

    def abandon(self, actor: Actor) -> Switch:
        """Give up. The epoch is raised first, which fences the workers; in place from `indexes` on leads back."""
        self._permit(actor)
        with self.units() as unit:
            switch = self._stopped(unit, running_too=True)
            if switch.kind == "return":
                raise Conflict("switch.return_cannot_stop", target=switch.to_key)
            switch.epoch += 1
            unit.session.flush()
            for pid in ledger.backends(unit.session, switch.id):
                pgvector.end_backend(unit.session, pid)
            refused = switch.to_space_id is None
            switch.status = "cleared" if refused else "abandoned"
            switch.finished_at = self.clock.now()
            self._unlease(switch)
            if switch.kind != dry_runs.DRY_RUN:
                self.settings.model_chosen(unit, switch.from_key, actor)
            unit.session.flush()
            if not refused:
                self._leave(unit, switch, actor)
            self._note(unit, actor, "abandon", switch, phase=switch.phase)
            self.checkpoint("abandon.before_commit")
        self.checkpoint("abandon.committed")
        return switch

    def _leave(self, unit: Unit, switch: Switch, actor: Actor) -> None:
        session = unit.session
        assert switch.to_space_id is not None
        self.wakes.tidy(unit)
        if switch.kind == dry_runs.DRY_RUN:
            dry_runs.undo(session, switch.id)
            return
        events.end_cursor(session, TARGET)
        activation.retain(session, switch.to_space_id, switch.retain_days)
        if switch.mode == "in_place" and self._serving_lost_indexes(unit, switch):
            back = Switch(
                kind="return",
                status="running",
                phase="preflight",
                mode="in_place",
                from_space_id=switch.to_space_id,
                to_space_id=switch.from_space_id,
                from_key=switch.to_key,
                to_key=switch.from_key,
                started_by=actor.login,
                retain_days=switch.retain_days,
                estimate={},
                actuals={},
            )
            session.add(back)
            session.flush()
            self.wakes.step(unit, back.id)
        else:
            activation.lift(session, activation.SWITCHING)

    @staticmethod
    def _serving_lost_indexes(unit: Unit, switch: Switch) -> bool:
        """In place, they go in phase `indexes`; a resume after that re-enters at `embeddings`, without them."""
        if switch.phase in ("indexes", "verify", "activate"):
            return True
        valid = {index.name for index in pgvector.existing(unit.session) if index.valid}
        entities = store.count_embeddable(unit.session)
        return not {pgvector.index_name(switch.from_space_id or 0, entity) for entity in entities} <= valid

    def decide(self, actor: Actor, ids: Sequence[int] | None, resolution: str, note: str | None) -> int:
        """Retry failed documents, or set them aside with a reason; returns how many. Resume goes on afterwards."""
        self._permit(actor)
        if resolution not in ("retry", "set_aside"):
            raise Invalid("input.choice", path="resolution", value=resolution, allowed="retry, set_aside")
        if resolution == "set_aside" and not (note or "").strip():
            raise Invalid("input.required", path="note")
        with self.units() as unit:
            switch = ledger.open_switch(unit.session)
            if switch is None or switch.to_space_id is None:
                raise Conflict("switch.nothing_running")
            count = failures.resolve(unit.session, switch.to_space_id, ids, resolution, note, actor.login)
            if count:
                self._note(unit, actor, "decide", switch, resolution=resolution, note=note or "", documents=count)
            return count

    # --- refusals ------------------------------------------------------------------------------------------------

    def _permit(self, actor: Actor) -> None:
        if not actor.may(PERMISSION):
            raise Forbidden("access.forbidden", permission=PERMISSION)

    def _refuse_early(self, unit: Unit, target: str, epoch: int | None = None) -> Profile:
        profile = self.profiles.get(target)
        row = store.serving(unit.session)
        if row is not None:
            current = store.space(unit.session, row.space_id)
            if current.profile.fingerprint(current.server_identity) == profile.fingerprint(declared_identity(profile)):
                raise Conflict("switch.already_active", profile=target)
        switch = ledger.open_switch(unit.session)
        if switch is not None:
            raise Conflict("switch.not_idle", target=switch.to_key, status=switch.status, phase=switch.phase)
        if epoch is not None and row is not None and row.epoch != epoch:
            raise Conflict("switch.changed_since_preview")
        return profile

    def _refuse_unconfigured(self, profile: Profile) -> None:
        if not self.profiles.configured(profile.key):
            variable = self.profiles.server_variable(profile.key)
            raise Conflict("switch.not_configured", profile=profile.key, variable=variable)

    def _stopped(self, unit: Unit, running_too: bool = False) -> Switch:
        """The open switch, locked; resume takes one that failed or stands still, abandon also a running one."""
        switch = ledger.lock_open_switch(unit.session)
        if switch is None:
            last = ledger.latest(unit.session)
            if running_too and last is not None and last.status == "activated":
                raise Conflict("switch.already_activated", target=last.to_key)
            raise Conflict("switch.nothing_running")
        if switch.status == "running" and not running_too:
            seconds = ledger.seconds_without_progress(unit.session, switch.id)
            if seconds <= self.interrupted_seconds:
                raise Conflict("switch.runs_normally")
        return switch

    @staticmethod
    def _unlease(switch: Switch) -> None:
        switch.lease_token = switch.lease_until = switch.waiting_since = None
