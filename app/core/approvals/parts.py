"""What the files of this package share: the states of a modification, and what approvals work with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from app.core.approvals.models import Modification
from app.core.approvals.ports import Applier
from app.core.audit.service import Audit
from app.core.clock import Clock
from app.core.contracts.actor import Actor
from app.core.registry import Registry
from app.core.settings.service import Settings
from app.core.unit import Unit

RECORD, SETTING = "record", "setting"
PENDING, APPLIED, DISAPPROVED, WITHDRAWN, EXPIRED, CONFLICT, FAILED = STATES = (
    "pending",
    "applied",
    "disapproved",
    "withdrawn",
    "expired",
    "conflict",
    "failed",
)
SETTINGS = "settings"
"""What the audit calls the entity of a setting."""
Authors = Callable[[Unit, int], Actor | None]
"""The author as an actor of now, without any token's scopes; None when the account is disabled or gone."""


def state_of(modification: Modification, now: datetime) -> str:
    """The status as it holds now: what is past its date is expired, before the clean-up says so too."""
    overdue = modification.status == PENDING and modification.expires_at <= now
    return EXPIRED if overdue else modification.status


@dataclass(frozen=True)
class Parts:
    """What approvals work with. ``appliers`` holds who writes, by kind (record, setting)."""

    clock: Clock
    audit: Audit
    registry: Registry
    settings: Settings
    authors: Authors
    appliers: Mapping[str, Applier]

    def note(self, unit: Unit, actor: Actor, action: str, modification: Modification) -> None:
        """Audit what happened to a modification, at the record or setting that it is about."""
        entity = SETTINGS if modification.kind == SETTING else modification.subject
        changes: dict[str, object] = {"modification": [None, modification.id]}
        if modification.kind == SETTING:
            changes["setting"] = [None, modification.subject]
        record_id = modification.record_id or modification.applied_record_id
        self.audit.write(unit, actor, action, entity, record_id, changes=changes)
