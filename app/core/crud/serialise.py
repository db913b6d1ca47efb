"""A stored record as the rest of the product sees it, and as JSON. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from app.core.crud.query import Ask
from app.core.crud.validation import Scalar
from app.core.locale import LOCALES
from app.core.registry import Entity

JsonValue = str | int | None | dict[str, str] | dict[str, dict[str, str]]
Translations = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Record:
    """One record, with the fields that its reader may see and asked for.

    ``title`` is in ``locale``; ``reference`` is how people name it (SAO-12), else empty. ``locale`` is the one asked
    for when the record has it, else the first of `LOCALES` that it has (the declared fallback). ``has_title`` is false
    for a reader who may not see the title.
    """

    entity: str
    id: int
    revision: int
    title: str
    locale: str
    has_title: bool = True
    reference: str = ""
    fields: Mapping[str, Scalar] = field(default_factory=dict)
    translations: Translations = field(default_factory=dict)
    created_at: datetime | None = None
    updated_at: datetime | None = None
    deleted_at: datetime | None = None


class Shape:
    """How records of one answer look to someone who may see the fields ``readable``.

    ``fields`` are those to answer with (None: all readable ones); title and reference are answered whenever they may be
    seen. Made once per answer: what it looks up is the same for all of its records.
    """

    def __init__(
        self, entity: Entity, locale: str, readable: Collection[str], fields: Collection[str] | None = None
    ) -> None:
        shown = readable if fields is None else frozenset(fields) & frozenset(readable)
        self.entity = entity
        self.locale = locale
        self.has_title = entity.title_field in readable
        self.reference = entity.reference_field if entity.reference_field in readable else None
        self.own_locale = "locale" in readable
        self.plain = [item.name for item in entity.plain_fields if item.name in shown]
        self.texts = [item.name for item in entity.translated_fields if item.name in shown]

    def record(self, row: Mapping[str, Any], translations: Translations) -> Record:
        """The view of a row's columns and its texts."""
        used = shown_locale(row.get("locale") if self.own_locale else None, translations, self.locale)
        title: object = ""
        if self.has_title:
            name = self.entity.title_field
            title = translations[used].get(name) if translations else row.get(name)
        number = None if self.reference is None else row.get(self.reference)
        return Record(
            entity=self.entity.name,
            id=row["id"],
            revision=row["revision"],
            title=str(title or ""),
            locale=used,
            has_title=self.has_title,
            reference="" if number is None else f"{self.entity.reference_prefix}{number}",
            fields={name: row[name] for name in self.plain},
            translations=self._texts(translations),
            created_at=row.get("created_at"),
            updated_at=row.get("updated_at"),
            deleted_at=row.get("deleted_at"),
        )

    def _texts(self, translations: Translations) -> Translations:
        if not self.texts:
            return {}
        return {code: {name: translations[code][name] for name in self.texts} for code in sorted(translations)}


def records_of(
    entity: Entity, ask: Ask, rows: Iterable[Mapping[str, Any]], texts: Mapping[int, Translations]
) -> tuple[Record, ...]:
    """The records of a list's rows, with the texts of each by id."""
    shape = Shape(entity, ask.locale, ask.searched, ask.fields)
    return tuple(shape.record(row, texts.get(row["id"], {})) for row in rows)


def shown_locale(own: object, translations: Translations, locale: str) -> str:
    """Which language a record is shown in; ``own`` is that of a record without translations, when it has one."""
    if not translations:
        return str(own or locale)
    if locale in translations:
        return locale
    return next((code for code in LOCALES if code in translations), next(iter(sorted(translations))))


def to_json(record: Record) -> dict[str, JsonValue]:
    """The JSON of a record: its own fields at the top, instants in ISO 8601 with their offset."""
    shape: dict[str, JsonValue] = {
        "id": record.id,
        "entity": record.entity,
        "revision": record.revision,
        **({"reference": record.reference} if record.reference else {}),
        **({"title": record.title} if record.has_title else {}),
        "locale": record.locale,
        **{name: json_value(value) for name, value in record.fields.items()},
    }
    if record.translations:
        shape["translations"] = {code: dict(texts) for code, texts in record.translations.items()}
    for name in ("created_at", "updated_at", "deleted_at"):
        shape[name] = json_value(getattr(record, name))
    return shape


def json_value(value: Scalar) -> str | int | None:
    """A value of a field as JSON has it."""
    return value.isoformat() if isinstance(value, datetime) else value


def etag(record: Record) -> str:
    """The entity tag of a record: its one revision across all locales (`core.md`, Concurrency)."""
    return f'"{record.revision}"'
