"""How captured changes are shown: words for what they are, and their difference field by field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from flask import url_for
from flask_babel import gettext

from app.core.approvals.diff import field_of, locale_of, new_of, old_of
from app.core.approvals.inbox import Shown
from app.core.approvals.parts import SETTING
from app.core.messages import N_, sentence
from app.core.registry import Field
from app.edge.context import container
from app.web.filters import moment
from app.web.record_words import word
from app.web.word_diff import Piece, shortened, word_diff

OPERATIONS: Mapping[str, str] = {
    "insert": N_("Create"),
    "update": N_("Change"),
    "delete": N_("Delete"),
    "restore": N_("Restore"),
    "forceDelete": N_("Delete for good"),
}
STATES: Mapping[str, tuple[str, str, str]] = {
    "pending": ("primary", "clock", N_("Waits for votes")),
    "applied": ("success", "check", N_("Applied")),
    "disapproved": ("danger", "close", N_("Disapproved")),
    "withdrawn": ("", "arrow", N_("Withdrawn")),
    "expired": ("", "clock", N_("Expired")),
    "conflict": ("warning", "alert", N_("Conflict")),
    "failed": ("danger", "stop", N_("Not applied")),
}
"""Tone, icon and word of each state."""


@dataclass(frozen=True)
class Difference:
    """One field's change. ``pieces`` are for texts, else old and new stand beside each other.

    ``now`` is the value that somebody else has given it meanwhile, None when nobody has.
    """

    path: str
    label: str
    old: str
    new: str
    pieces: Sequence[Piece] = ()
    now: str | None = None


def state_chip(state: str) -> dict[str, str]:
    """What `ui.chip` takes."""
    tone, icon, label = STATES[state]
    return {"tone": tone, "icon": icon, "label": gettext(label)}


def title_of(shown: Shown) -> str:
    """The object of a change: a record by its title and number, a new one by its title, a setting by its label."""
    if shown.kind == SETTING:
        definition = container().settings.definitions.get(shown.subject)
        return gettext(definition.label) if definition else shown.subject
    label = subject_label(shown.subject)
    title = shown.title or _new_title(shown)
    if shown.record_id:
        return f"{title} ({label} {shown.record_id})" if title else f"{label} {shown.record_id}"
    return f"{title} ({label})" if title else label


def _new_title(shown: Shown) -> str:
    """The title that a new record would have, in the first language that it has one in."""
    registry = container().registry
    name = registry.get(shown.subject).title_field if shown.subject in registry else ""
    return next((str(new_of(change) or "") for path, change in shown.diff.items() if field_of(path) == name), "")


def subject_label(subject: str) -> str:
    """An entity's name for people."""
    return gettext(container().registry.get(subject).label) if subject in container().registry else subject


def address_of(shown: Shown) -> str | None:
    """Where the object is; None when there is no page of it."""
    if shown.kind == SETTING:
        return url_for("settings.index", _anchor=shown.subject)
    if shown.record_id is None:
        return None
    return url_for("records.detail", name=shown.subject, record_id=shown.record_id)


def summary(shown: Shown) -> str:
    """Which fields it touches, in a line."""
    names = dict.fromkeys(_label(shown, field_of(path)) for path in shown.diff)
    return ", ".join(names)


def differences(shown: Shown) -> tuple[list[Difference], list[tuple[str, list[Difference]]]]:
    """The changes of plain fields, and those of texts by locale, as (word for the locale, changes)."""
    plain: list[Difference] = []
    texts: dict[str, list[Difference]] = {}
    for path, change in shown.diff.items():
        found = _difference(shown, path, change)
        locale = locale_of(path)
        if locale is None:
            plain.append(found)
        else:
            texts.setdefault(locale, []).append(found)
    return plain, [(code, texts[code]) for code in sorted(texts)]


def why(shown: Shown) -> str | None:
    """Why it was not applied, as a sentence."""
    if shown.error_code is None:
        return None
    values = dict(shown.error_values)
    if shown.error_code == "approval.moved":
        values["fields"] = ", ".join(path_label(shown, path) for path in str(values.get("fields", "")).split(", "))
    told = [sentence(shown.error_code, values, gettext)]
    told += [
        f"{path_label(shown, each['path'] or '')}: {sentence(each['code'], each['values'], gettext)}"
        for each in values.get("refused", ())
    ]
    return " ".join(told)


def path_label(shown: Shown, path: str) -> str:
    """``Title (Italian)`` for ``translations.it.title``."""
    label, locale = _label(shown, field_of(path)), locale_of(path)
    return f"{label} ({word(locale)})" if locale else label


def _difference(shown: Shown, path: str, change: object) -> Difference:
    item = _field(shown, field_of(path))
    old, new = _text(item, old_of(change)), _text(item, new_of(change))
    is_text = locale_of(path) is not None or (item is not None and item.kind == "text") or "\n" in old + new
    now = _text(item, (shown.current or {}).get(path)) if path in shown.moved else None
    return Difference(
        path=path,
        label=_label(shown, field_of(path)),
        old=old,
        new=new,
        pieces=shortened(word_diff(old, new)) if is_text else (),
        now=now,
    )


def _field(shown: Shown, name: str) -> Field | None:
    if shown.kind == SETTING or shown.subject not in container().registry:
        return None
    return next((item for item in container().registry.get(shown.subject).fields if item.name == name), None)


def _label(shown: Shown, name: str) -> str:
    if shown.kind == SETTING:
        return str(gettext("Value"))
    item = _field(shown, name)
    return str(gettext(item.label)) if item else name


def _text(item: Field | None, value: object) -> str:
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return str(gettext("On") if value else gettext("Off"))
    if item is not None and item.kind == "choice":
        return word(str(value))
    if item is not None and item.kind == "datetime":
        return moment(datetime.fromisoformat(str(value)))
    return str(value)
