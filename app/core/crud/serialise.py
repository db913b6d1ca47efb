"""A stored record as the rest of the product sees it, and as JSON. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from app.core.crud.validation import Scalar
from app.core.locale import DEFAULT_LOCALE, LOCALES
from app.core.registry import Entity

JsonValue = str | int | None | dict[str, str] | dict[str, dict[str, str]]


@dataclass(frozen=True)
class Record:
    """One record. ``title`` is in ``locale``; ``reference`` is how people name it (SAO-12), else empty."""

    entity: str
    id: int
    revision: int
    title: str
    locale: str
    reference: str = ""
    fields: Mapping[str, Scalar] = field(default_factory=dict)
    translations: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    created_at: datetime | None = None
    updated_at: datetime | None = None
    deleted_at: datetime | None = None


def to_record(entity: Entity, row: Any, locale: str = DEFAULT_LOCALE) -> Record:
    """The view of a mapped row; the title in ``locale``, else in the first locale that the record has."""
    translations = {
        text.locale: {item.name: getattr(text, item.name) for item in entity.translated_fields}
        for text in (getattr(row, entity.translations_field) if entity.translation_model else ())
    }
    shown = _shown_locale(row, translations, locale)
    texts = translations.get(shown, {})
    title = texts.get(entity.title_field, "") if translations else getattr(row, entity.title_field, "")
    reference = entity.reference_field and f"{entity.reference_prefix}{getattr(row, entity.reference_field)}"
    return Record(
        entity=entity.name,
        id=row.id,
        revision=row.revision,
        title=str(title or ""),
        locale=shown,
        reference=reference or "",
        fields={item.name: getattr(row, item.name) for item in entity.plain_fields},
        translations=translations,
        created_at=getattr(row, "created_at", None),
        updated_at=getattr(row, "updated_at", None),
        deleted_at=getattr(row, "deleted_at", None),
    )


def _shown_locale(row: Any, translations: Mapping[str, Mapping[str, str]], locale: str) -> str:
    if not translations:
        return str(getattr(row, "locale", locale))
    if locale in translations:
        return locale
    return next((code for code in LOCALES if code in translations), next(iter(translations)))


def to_json(record: Record) -> dict[str, JsonValue]:
    """The JSON of a record: its own fields at the top, instants in ISO 8601 with their offset."""
    shape: dict[str, JsonValue] = {
        "id": record.id,
        "entity": record.entity,
        "revision": record.revision,
        "reference": record.reference or None,
        "title": record.title,
        **{name: _json_value(value) for name, value in record.fields.items()},
    }
    if record.translations:
        shape["translations"] = {code: dict(texts) for code, texts in record.translations.items()}
    for name in ("created_at", "updated_at", "deleted_at"):
        shape[name] = _json_value(getattr(record, name))
    return shape


def _json_value(value: Scalar) -> str | int | None:
    return value.isoformat() if isinstance(value, datetime) else value


def etag(record: Record) -> str:
    """The entity tag of a record: its one revision across all locales (`core.md`, Concurrency)."""
    return f'"{record.revision}"'
