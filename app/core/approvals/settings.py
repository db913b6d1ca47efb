"""Captured settings, applied. Approving one never starts what a change by hand would ask to confirm."""

from __future__ import annotations

from collections.abc import Mapping

from app.core.approvals.diff import new_of
from app.core.approvals.models import Modification
from app.core.approvals.ports import Applied, Plan
from app.core.contracts.actor import Actor
from app.core.errors import Invalid
from app.core.settings.service import Settings
from app.core.unit import Unit

VALUE = "value"


class SettingApplier:
    """The applier (`ports.py`) of the kind ``setting``."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def apply(self, unit: Unit, author: Actor, modification: Modification) -> Applied:
        self.settings.apply(unit, author, modification.subject, new_of(modification.diff[VALUE]))
        return Applied()

    def plan(self, unit: Unit, author: Actor, modification: Modification, values: Mapping[str, object]) -> Plan:
        unknown = [name for name in values if name != VALUE]
        if unknown or VALUE not in values:
            path = unknown[0][:100] if unknown else VALUE
            code = "input.unknown_field" if unknown else "input.required"
            raise Invalid("input.invalid", fields=[Invalid(code, path=path, field=path)])
        old, new = self.settings.plan(unit, author, modification.subject, values[VALUE])
        return Plan(None, {VALUE: [old, new]} if old != new else {})

    def current(self, unit: Unit, modification: Modification, *, lock: bool = False) -> Mapping[str, object] | None:
        if modification.subject not in self.settings.definitions:
            return None
        return {VALUE: self.settings.current(unit, modification.subject, lock=lock)}
