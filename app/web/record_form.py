"""The pages of one record: reading, editing, creating (contexts of `templates/records/detail.html` and `edit.html`)."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from hashlib import sha256

from flask import url_for
from flask_babel import gettext as _

from app.core.access.policy import readable, writable
from app.core.contracts.actor import Actor
from app.core.crud.serialise import Record
from app.core.locale import LOCALES
from app.core.registry import Ability, Entity, Field
from app.web.record_words import badge, form_value, from_form, kind, name_of, shown, word

CONTROLS: Mapping[str, str] = {
    "text": "textarea", "choice": "select", "datetime": "datetime-local", "integer": "number",
}  # fmt: skip
STATUS = "status"


def entity_context(entity: Entity) -> dict[str, object]:
    """What both pages say of the kind of record."""
    return {
        "name": entity.name,
        "label": _(entity.label_plural),
        "label_one": _(entity.label),
        "list_href": url_for("records.index", name=entity.name),
    }


def detail_context(entity: Entity, who: Actor, record: Record) -> dict[str, object]:
    """Only fields that ``who`` may read. ``delete_action``, ``restore_action`` and ``remove_action`` are addresses for
    POST, present when permitted and sensible."""
    names = readable(entity, who)
    deleted = record.deleted_at is not None

    def may(ability: Ability) -> bool:
        return entity.editable and who.may(entity.permission(ability))

    status = record.fields.get(STATUS)
    plain = [item for item in entity.plain_fields if item.name in names]
    return {
        "entity": entity_context(entity),
        "record": {
            "id": record.id,
            "key": record.reference or None,
            "title": name_of(entity, record),
            "locale": record.locale,
            "status": badge(status) if isinstance(status, str) and status else None,
            "deleted_at": record.deleted_at,
            "edit_href": _address("edit", entity, record) if may("update") and not deleted else None,
            "delete_action": _address("delete", entity, record) if may("delete") and not deleted else None,
            "restore_action": _address("restore", entity, record) if may("delete") and deleted else None,
            "remove_action": _address("remove", entity, record) if may("forceDelete") else None,
            "facts": [_shown_field(item, record) for item in plain if _is_fact(entity, item)],
            "plain_fields": [_shown_field(item, record) for item in plain if item.kind == "text"],
            "translations": _shown_translations(entity, record, names),
            "revision": record.revision,
            "updated_at": record.updated_at,
        },
    }


def _address(view: str, entity: Entity, record: Record) -> str:
    return url_for(f"records.{view}", name=entity.name, record_id=record.id)


def _is_fact(entity: Entity, item: Field) -> bool:
    return item.kind != "text" and item.name not in (STATUS, entity.title_field, entity.reference_field)


def _shown_field(item: Field, record: Record) -> dict[str, object]:
    value = record.fields.get(item.name)
    return {"label": _(item.label), "value": shown(item, value), "kind": kind(item), "long": item.kind == "text"}


def _shown_translations(entity: Entity, record: Record, names: Collection[str]) -> list[dict[str, object]]:
    fields = [item for item in entity.translated_fields if item.name in names]
    if not fields:
        return []
    return [
        {
            "locale": code,
            "locale_label": word(code),
            "missing": code not in record.translations,
            "fields": [
                {
                    "label": _(item.label),
                    "value": record.translations.get(code, {}).get(item.name),
                    "kind": "text",
                    "long": item.kind == "text",
                }
                for item in fields
            ],
        }
        for code in LOCALES
    ]


@dataclass(frozen=True)
class FormFields:
    """The fields of a form: those that the person sees in it (a new record's: those that they may write), and those
    of them that they may write. The others are shown and not taken."""

    entity: Entity
    seen: frozenset[str]
    written: frozenset[str]

    @property
    def plain(self) -> list[Field]:
        return [item for item in self.entity.plain_fields if item.editable and item.name in self.seen]

    @property
    def translated(self) -> list[Field]:
        return [item for item in self.entity.translated_fields if item.editable and item.name in self.seen]

    @property
    def locales(self) -> Collection[str]:
        return LOCALES if self.translated else ()


def form_fields(entity: Entity, who: Actor, *, new: bool) -> FormFields:
    """What the form of a record has for ``who``. What they may not read is not in the form of one that exists."""
    written = writable(entity, who)
    return FormFields(entity, written if new else readable(entity, who), written)


def stored_form(form: FormFields, record: Record | None) -> dict[str, str]:
    """Control to value, as the record stands; the first choices for a new one."""
    values: dict[str, str] = {}
    for item in form.plain:
        values[item.name] = form_value(item, record.fields.get(item.name)) if record else _first(item)
    for code in form.locales:
        texts = record.translations.get(code, {}) if record else {}
        for item in form.translated:
            values[f"{item.name}.{code}"] = texts.get(item.name, "")
    return values


def _first(item: Field) -> str:
    """A new record's choice: the least it can be."""
    preferred = {"priority": "normal"}
    return preferred.get(item.name, item.choices[0]) if item.choices else ""


def read_form(form: FormFields, sent: Mapping[str, str], stored: Mapping[str, str]) -> dict[str, object]:
    """The values of a form: only controls that were sent, may be written and differ from ``stored``.

    A locale whose controls are all blank is no translation: it is removed when it was one.
    """
    values: dict[str, object] = {
        item.name: from_form(item, sent[item.name])
        for item in form.plain
        if item.name in form.written and item.name in sent and lines(sent[item.name]) != stored.get(item.name)
    }
    translations: dict[str, object] = {}
    for code in form.locales:
        names = {item.name: f"{item.name}.{code}" for item in form.translated if item.name in form.written}
        texts = {name: sent[control] for name, control in names.items() if control in sent}
        was = any(stored.get(control) for control in names.values())
        is_blank = not any(text.strip() for text in texts.values())
        if is_blank and not was:
            continue
        if is_blank and len(texts) == len(form.entity.translated_fields):
            translations[code] = None
        elif any(lines(text) != stored.get(names[name]) for name, text in texts.items()):
            translations[code] = texts
    return {**values, "translations": translations} if translations else values


def lines(text: str) -> str:
    """Browsers send line ends as CR LF."""
    return text.replace("\r\n", "\n")


def edit_context(
    form: FormFields,
    record: Record | None,
    sent: Mapping[str, str],
    errors: Mapping[str, str],
    conflict: Mapping[str, object] | None = None,
    base: str | None = None,
) -> dict[str, object]:
    """``sent`` are the values to show; ``errors`` are the service's, by path; ``record`` None while creating.

    ``base`` marks the values that the form began with (`record_conflict.py`), those of the record when it is None.
    """
    entity = form.entity
    by_control = {_control(path): text for path, text in errors.items()}
    detail = _address("detail", entity, record) if record else None
    return {
        "entity": entity_context(entity),
        "record": {
            "title": name_of(entity, record) if record else "", "detail_href": detail, "is_new": record is None,
        },
        "form": {
            "action": _address("edit", entity, record) if record else url_for("records.new", name=entity.name),
            "revision": record.revision if record else "",
            "base": base if base is not None else marks(stored_form(form, record)),
            "cancel_href": detail or url_for("records.index", name=entity.name),
            "errors": [
                {"name": name, "label": label_of(entity, name), "text": text} for name, text in by_control.items()
            ],
            "fields": [_form_field(form, item, item.name, sent, by_control) for item in form.plain],
            "translations": [
                {
                    "locale": code,
                    "locale_label": word(code),
                    "fields": [
                        _form_field(form, item, f"{item.name}.{code}", sent, by_control) for item in form.translated
                    ],
                }
                for code in form.locales
            ],
        },
        "conflict": conflict,
    }  # fmt: skip


def marks(values: Mapping[str, str]) -> str:
    """What a form began with, as JSON of control to a short hash of its value."""
    return json.dumps({name: mark(value) for name, value in values.items()}, separators=(",", ":"))


def mark(value: str) -> str:
    return sha256(lines(value).encode(errors="replace")).hexdigest()[:12]


def _control(path: str) -> str:
    """``translations.it.title`` is the control ``title.it``."""
    parts = path.split(".")
    if parts[0] == "translations" and len(parts) > 1:
        return f"{parts[2] if len(parts) > 2 else 'title'}.{parts[1]}"
    return "title.en" if path == "translations" else path


def label_of(entity: Entity, control: str) -> str:
    """``Title (Italian)`` for the control ``title.it``."""
    name, _dot, code = control.partition(".")
    label = next((_(item.label) for item in entity.fields if item.name == name), name)
    return f"{label} ({word(code)})" if code else label


def _form_field(
    form: FormFields, item: Field, control: str, sent: Mapping[str, str], errors: Mapping[str, str]
) -> dict[str, object]:
    field = form_field(item, control, sent, errors)
    return field if item.name in form.written else {**field, "readonly": True, "required": False}


def form_field(item: Field, control: str, sent: Mapping[str, str], errors: Mapping[str, str]) -> dict[str, object]:
    """One field for `components/forms.html`."""
    return {
        "name": control,
        "label": _(item.label),
        "kind": CONTROLS.get(item.kind, "text"),
        "value": sent.get(control, ""),
        "error": errors.get(control),
        "required": (item.required or item.kind == "choice") and not item.translated,
        "maxlength": item.limit if item.kind in ("string", "login") else None,
        "options": [(choice, word(choice)) for choice in item.choices],
        "rows": 12,
    }
