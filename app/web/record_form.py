"""The pages of one record: reading, editing, creating (contexts of `templates/records/detail.html` and `edit.html`)."""

from __future__ import annotations

from collections.abc import Mapping

from flask import url_for
from flask_babel import gettext as _

from app.core.contracts.actor import Actor
from app.core.crud.serialise import Record
from app.core.locale import LOCALES
from app.core.registry import Entity, Field
from app.web.record_words import badge, form_value, from_form, kind, shown, word

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
    """``delete_action`` and ``restore_action`` are addresses for POST, present when permitted and sensible."""
    deleted = record.deleted_at is not None
    may_update = entity.editable and who.may(entity.permission("update"))
    may_delete = entity.editable and who.may(entity.permission("delete"))
    status = record.fields.get(STATUS)
    return {
        "entity": entity_context(entity),
        "record": {
            "id": record.id,
            "key": record.reference or None,
            "title": record.title or _("(without a title)"),
            "status": badge(status) if isinstance(status, str) else None,
            "deleted_at": record.deleted_at,
            "edit_href": _address("edit", entity, record) if may_update and not deleted else None,
            "delete_action": _address("delete", entity, record) if may_delete and not deleted else None,
            "restore_action": _address("restore", entity, record) if may_update and deleted else None,
            "facts": [_shown_field(item, record) for item in entity.plain_fields if _is_fact(entity, item)],
            "plain_fields": [_shown_field(item, record) for item in entity.plain_fields if item.kind == "text"],
            "translations": _shown_translations(entity, record),
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


def _shown_translations(entity: Entity, record: Record) -> list[dict[str, object]]:
    if not entity.translated_fields:
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
                for item in entity.translated_fields
            ],
        }
        for code in LOCALES
    ]


def stored_form(entity: Entity, record: Record | None) -> dict[str, str]:
    """Control to value, as the record stands; empty for a new one."""
    values: dict[str, str] = {}
    for item in _edited(entity):
        values[item.name] = form_value(item, record.fields.get(item.name)) if record else _first(item)
    for code in LOCALES if entity.translated_fields else ():
        texts = record.translations.get(code, {}) if record else {}
        for item in entity.translated_fields:
            values[f"{item.name}.{code}"] = texts.get(item.name, "")
    return values


def _edited(entity: Entity) -> list[Field]:
    return [item for item in entity.plain_fields if item.editable]


def _first(item: Field) -> str:
    """A new record's choice: the least it can be."""
    preferred = {"priority": "normal"}
    return preferred.get(item.name, item.choices[0]) if item.choices else ""


def read_form(entity: Entity, sent: Mapping[str, str], stored: Mapping[str, str]) -> dict[str, object]:
    """The values of a form: only controls that were sent and differ from ``stored``.

    A locale whose controls are all blank is no translation: it is removed when it was one.
    """
    values: dict[str, object] = {
        item.name: from_form(item, sent[item.name])
        for item in _edited(entity)
        if item.name in sent and _lines(sent[item.name]) != stored.get(item.name)
    }
    translations: dict[str, object] = {}
    for code in LOCALES if entity.translated_fields else ():
        names = {item.name: f"{item.name}.{code}" for item in entity.translated_fields}
        texts = {name: sent[control] for name, control in names.items() if control in sent}
        was = any(stored.get(control) for control in names.values())
        if len(texts) == len(names) and not any(text.strip() for text in texts.values()):
            if was:
                translations[code] = None
        elif any(_lines(text) != stored.get(names[name]) for name, text in texts.items()):
            translations[code] = texts
    return {**values, "translations": translations} if translations else values


def _lines(text: str) -> str:
    """Browsers send line ends as CR LF."""
    return text.replace("\r\n", "\n")


def edit_context(
    entity: Entity,
    record: Record | None,
    sent: Mapping[str, str],
    errors: Mapping[str, str],
    conflict: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """``sent`` are the values to show; ``errors`` are the service's, by path; ``record`` None while creating."""
    by_control = {_control(path): text for path, text in errors.items()}
    detail = _address("detail", entity, record) if record else None
    return {
        "entity": entity_context(entity),
        "record": {"title": record.title if record else "", "detail_href": detail, "is_new": record is None},
        "form": {
            "action": _address("edit", entity, record) if record else url_for("records.new", name=entity.name),
            "revision": record.revision if record else "",
            "cancel_href": detail or url_for("records.index", name=entity.name),
            "errors": [
                {"name": name, "label": _label(entity, name), "text": text} for name, text in by_control.items()
            ],
            "fields": [_form_field(item, item.name, sent, by_control) for item in _edited(entity)],
            "translations": [
                {
                    "locale": code,
                    "locale_label": word(code),
                    "fields": [
                        _form_field(item, f"{item.name}.{code}", sent, by_control) for item in entity.translated_fields
                    ],
                }
                for code in (LOCALES if entity.translated_fields else ())
            ],
        },
        "conflict": conflict,
    }


def conflict_context(entity: Entity, record: Record, sent: Mapping[str, str]) -> dict[str, object]:
    """What a second editor is told: where the record now differs from what they typed."""
    stored = stored_form(entity, record)
    names = [name for name, value in stored.items() if name in sent and _lines(sent[name]) != value]
    return {"by": _("Somebody else"), "at": record.updated_at, "fields": [_label(entity, name) for name in names]}


def _control(path: str) -> str:
    """``translations.it.title`` is the control ``title.it``."""
    parts = path.split(".")
    if parts[0] == "translations" and len(parts) > 1:
        return f"{parts[2] if len(parts) > 2 else 'title'}.{parts[1]}"
    return "title.en" if path == "translations" else path


def _label(entity: Entity, control: str) -> str:
    name, _dot, code = control.partition(".")
    label = next((_(item.label) for item in entity.fields if item.name == name), name)
    return f"{label} ({word(code)})" if code else label


def _form_field(item: Field, control: str, sent: Mapping[str, str], errors: Mapping[str, str]) -> dict[str, object]:
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
