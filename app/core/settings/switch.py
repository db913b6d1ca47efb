"""What the embedding switch reads and writes of the settings."""

from __future__ import annotations

from app.core.contracts.actor import Actor
from app.core.settings.schema import EMBEDDING_MODEL, RETAIN_PREVIOUS_DAYS
from app.core.settings.service import Settings
from app.core.unit import Unit


class SwitchSettings:
    """What the switch reads and writes of the settings."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def retain_days(self, unit: Unit) -> int:
        return int(self.settings.value(unit, RETAIN_PREVIOUS_DAYS) or 0)

    def model_chosen(self, unit: Unit, key: str, by: Actor) -> None:
        if key:
            self.settings.write_system(unit, EMBEDDING_MODEL, key, by.id)
