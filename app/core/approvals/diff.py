"""The difference that a modification holds, read and written. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from app.core.approvals.ports import Diff

TRANSLATIONS = "translations"


def field_of(path: str) -> str:
    """The field that a path belongs to: ``translations.it.title`` is of ``title``."""
    return path.rpartition(".")[2] if path.startswith(f"{TRANSLATIONS}.") else path


def locale_of(path: str) -> str | None:
    """The locale of a text's path, else None."""
    return path.split(".")[1] if path.startswith(f"{TRANSLATIONS}.") else None


def old_of(change: object) -> object:
    return change[0] if isinstance(change, list | tuple) else None


def new_of(change: object) -> object:
    return change[1] if isinstance(change, list | tuple) else None


def difference(before: Mapping[str, object], after: Mapping[str, object]) -> dict[str, list[object]]:
    """Path to ``[old, new]`` of what differs between two flat states; an absent path is None."""
    paths = list(dict.fromkeys((*before, *after)))
    found = {path: [as_json(before.get(path)), as_json(after.get(path))] for path in paths}
    return {path: change for path, change in found.items() if change[0] != change[1]}


def values_of(diff: Diff) -> dict[str, object]:
    """The new values as an insert or update takes them: fields, and ``translations`` by locale (None removes one)."""
    values: dict[str, object] = {}
    texts: dict[str, dict[str, object]] = {}
    for path, change in diff.items():
        locale = locale_of(path)
        if locale is None:
            values[path] = new_of(change)
        else:
            texts.setdefault(locale, {})[field_of(path)] = new_of(change)
    if texts:
        values[TRANSLATIONS] = {
            code: None if all(text is None for text in given.values()) else given for code, given in texts.items()
        }
    return values


def flat(fields: Mapping[str, object], translations: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    """A record's fields and texts by path."""
    texts = {
        f"{TRANSLATIONS}.{code}.{name}": text for code, given in translations.items() for name, text in given.items()
    }
    return {**fields, **texts}


def moved(diff: Diff, current: Mapping[str, object]) -> list[str]:
    """The paths whose value is no longer the one that the author saw."""
    return [path for path, change in diff.items() if as_json(current.get(path)) != old_of(change)]


def as_json(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value
