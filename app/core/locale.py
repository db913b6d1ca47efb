"""The locales of records and of the interface. Adding one is an entry here, a catalogue and a text configuration."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Locale:
    """``code`` is ISO 639-1; ``text_search`` is the PostgreSQL configuration that stems it."""

    code: str
    name: str
    text_search: str


LOCALES = {
    "en": Locale("en", "English", "english"),
    "it": Locale("it", "Italiano", "italian"),
}
DEFAULT_LOCALE = "en"
