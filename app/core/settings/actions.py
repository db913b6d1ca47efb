"""What follows a change: the setting's job, sent after the commit, and never for a value that stayed the same."""

from __future__ import annotations

from app.core.settings.schema import SettingDefinition
from app.core.unit import Unit


def send(unit: Unit, definition: SettingDefinition) -> bool:
    """Ask for the setting's job; returns whether it has one. The job reads the value itself: it may be late."""
    if definition.action is None:
        return False
    unit.wake(definition.action.job, definition.action.queue, setting=definition.name)
    return True
