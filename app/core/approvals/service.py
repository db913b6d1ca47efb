"""Approvals: a write of a person who needs approval is captured, voted on, and applied exactly once.

- The author never votes; one disapproval ends the modification, so many approvals as it needs apply it.
- Applying happens in the unit of the deciding vote, as the author is *then*: permission, row rules and validation are
  asked again. A captured field that has changed since makes it a conflict; nothing is written then.
- Who votes looks at a round. An author's edit begins the next one, in which earlier votes count no more.
- Only a person at a browser votes: no token, no guest, no administrator in somebody's name (`core.md`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from app.core.access.actor import require
from app.core.approvals import store
from app.core.approvals.inbox import Inbox
from app.core.approvals.models import Modification
from app.core.approvals.parts import (
    DISAPPROVED,
    EXPIRED,
    PENDING,
    RECORD,
    SETTING,
    WITHDRAWN,
    Parts,
    state_of,
)
from app.core.approvals.ports import Diff
from app.core.approvals.rights import hidden, needed, require_person
from app.core.approvals.settling import Settling
from app.core.contracts.actor import SYSTEM, Actor
from app.core.documents.text import clean_text
from app.core.errors import Conflict, Forbidden, Invalid, NotFound
from app.core.registry import Entity
from app.core.settings.schema import EXPIRE_DAYS, SettingDefinition
from app.core.unit import Unit

REASON_LIMIT = 1000


class Approvals:
    """Every method runs in the caller's unit; none of them commits."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.settling = Settling(parts)
        self.inbox = Inbox(parts)

    def captures(self, actor: Actor, entity: Entity) -> bool:
        """Whether a write of ``actor`` to ``entity`` is captured instead of done."""
        return actor.needs_approval and entity.votes > 0

    def capture(
        self,
        unit: Unit,
        actor: Actor,
        entity: Entity,
        operation: str,
        record_id: int | None,
        base_revision: int | None,
        diff: Diff,
    ) -> Modification:
        """Keep a write that was checked and not done. ``operation`` is insert, update, delete, restore or forceDelete.

        ``diff`` as in `ports.Diff`; the caller has checked permission, rows and values. The same capture again, while
        the first is pending, is the first: a double click makes one.
        """
        return self._keep(
            unit,
            actor,
            Modification(
                kind=RECORD,
                subject=entity.name,
                record_id=record_id,
                operation=operation,
                base_revision=base_revision,
                diff=dict(diff),
                votes_needed=entity.votes,
            ),
        )

    def capture_setting(
        self, unit: Unit, actor: Actor, definition: SettingDefinition, old: object, new: object
    ) -> Modification:
        """Keep the change of a setting by a person who needs approval."""
        return self._keep(
            unit,
            actor,
            Modification(
                kind=SETTING,
                subject=definition.name,
                operation="update",
                diff={"value": [old, new]},
                votes_needed=definition.votes,
            ),
        )

    def vote(
        self, unit: Unit, actor: Actor, modification_id: int, approves: bool, reason: str = "", seen: int | None = None
    ) -> Modification:
        """Vote, and with the deciding vote apply; the modification's status says what became of it.

        ``seen`` is the round that the voter looked at. The same vote again returns the first outcome. Raises
        :class:`Forbidden`, :class:`NotFound`, :class:`Invalid` (a disapproval needs a reason), and
        :class:`Conflict` when it is pending no more, has expired or was edited meanwhile.
        """
        require_person(actor)
        seen_one = self.get(unit, actor, modification_id)
        if seen_one.author_id == actor.id:
            raise Forbidden("approval.own")
        require(actor, needed(seen_one))
        reason = self._reason(reason, needed=not approves)
        modification = self._locked(unit, modification_id)
        if modification.status != PENDING and self._is_repeated(unit, modification, actor, approves):
            return modification
        self._open(modification, seen)
        if approves and hidden(self.parts.registry, actor, modification):
            raise Forbidden("approval.hidden")
        now = self.parts.clock.now()
        if store.vote(unit.session, modification, int(actor.id or 0), approves, reason, now):
            self.parts.note(unit, actor, "approve" if approves else "disapprove", modification)
        if not approves:
            store.close(unit.session, modification, DISAPPROVED, now, reason=reason)
        elif store.approvals(unit.session, modification) >= modification.votes_needed:
            self.settling.apply(unit, modification)
        return modification

    def withdraw(self, unit: Unit, actor: Actor, modification_id: int) -> Modification:
        """The author takes it back. Doing so twice is no error."""
        modification = self._own(unit, actor, modification_id)
        if modification.status == WITHDRAWN:
            return modification
        self._open(modification, None)
        store.close(unit.session, modification, WITHDRAWN, self.parts.clock.now())
        self.parts.note(unit, actor, "withdraw", modification)
        return modification

    def edit(
        self,
        unit: Unit,
        actor: Actor,
        modification_id: int,
        values: Mapping[str, object],
        seen: int | None = None,
    ) -> Modification:
        """The author gives other values, as for an insert or update; votes are reset and the time begins anew.

        Raises what a write would; :class:`Invalid` when nothing would change, :class:`Conflict` when it is not
        pending, and for an operation without values.
        """
        modification = self._own(unit, actor, modification_id)
        self._open(modification, seen)
        if modification.operation not in ("insert", "update"):
            raise Conflict("approval.no_values")
        plan = self.parts.appliers[modification.kind].plan(unit, actor, modification, values)
        if not plan.diff:
            raise Invalid("approval.changes_nothing")
        store.replace(unit.session, modification, plan.base_revision, dict(plan.diff), self._expires(unit))
        self.parts.note(unit, actor, "edit_capture", modification)
        return modification

    def get(self, unit: Unit, actor: Actor, modification_id: int) -> Modification:
        """A modification of the actor's own, or one that they may vote on. Raises :class:`NotFound`."""
        found = store.find(unit.session, modification_id, store.visible(self.parts.registry, actor))
        if found is None:
            raise NotFound("approval.not_found")
        return found

    def tidy(self, unit: Unit) -> int:
        """Close what has expired; returns how many."""
        overdue = store.overdue(unit.session, self.parts.clock.now())
        for modification in overdue:
            if store.close(unit.session, modification, EXPIRED, self.parts.clock.now()):
                self.parts.note(unit, SYSTEM, "expire", modification)
        return len(overdue)

    def _keep(self, unit: Unit, actor: Actor, modification: Modification) -> Modification:
        if actor.id is None:
            raise Forbidden("access.needs_approval")
        modification.author_id = actor.id
        store.one_capture(unit.session, actor.id)
        now = self.parts.clock.now()
        with unit.session.no_autoflush:
            before = store.same_pending(unit.session, modification, now)
        if before is not None:
            return before
        modification.created_at = now
        modification.expires_at = self._expires(unit)
        unit.session.add(modification)
        unit.session.flush()
        unit.session.refresh(modification)
        self.parts.note(unit, actor, "capture", modification)
        return modification

    def _expires(self, unit: Unit) -> datetime:
        days = int(self.parts.settings.value(unit, EXPIRE_DAYS) or 0)
        return self.parts.clock.now() + timedelta(days=days)

    def _locked(self, unit: Unit, modification_id: int) -> Modification:
        modification = store.locked(unit.session, modification_id)
        if modification is None:
            raise NotFound("approval.not_found")
        return modification

    def _own(self, unit: Unit, actor: Actor, modification_id: int) -> Modification:
        """The actor's own modification, locked. Raises :class:`NotFound`, :class:`Forbidden` for somebody else's."""
        if self.get(unit, actor, modification_id).author_id != actor.id:
            raise Forbidden("approval.not_own")
        return self._locked(unit, modification_id)

    def _open(self, modification: Modification, seen: int | None) -> None:
        state = state_of(modification, self.parts.clock.now())
        if state == EXPIRED:
            raise Conflict("approval.expired")
        if state != PENDING:
            raise Conflict("approval.resolved", status=state)
        if seen is not None and seen != modification.round:
            raise Conflict("approval.edited")

    def _is_repeated(self, unit: Unit, modification: Modification, actor: Actor, approves: bool) -> bool:
        before = store.vote_of(unit.session, modification, int(actor.id or 0))
        return before is not None and before.approves == approves

    def _reason(self, reason: str, *, needed: bool) -> str:
        reason = clean_text(reason, REASON_LIMIT + 1)
        if needed and not reason:
            raise Invalid("input.invalid", fields=[Invalid("input.required", path="reason")])
        if len(reason) > REASON_LIMIT:
            problem = Invalid("input.too_long", path="reason", limit=REASON_LIMIT)
            raise Invalid("input.invalid", fields=[problem])
        return reason
