"""What may be written to a record, by its entity's fields: values are cleaned here, or refused with their path.

Every text passes the one rule of `core/documents/text.py` before it is stored: PostgreSQL refuses NUL bytes and lone
surrogates (`faults.md` 65, 66).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from app.core.documents.text import LIMIT, clean_text
from app.core.errors import Invalid
from app.core.locale import LOCALES
from app.core.registry import Entity, Field, Values

Scalar = str | int | datetime | None

EXPECTED = {"string": "text", "text": "text", "login": "text", "choice": "text"}


@dataclass
class Clean:
    """Values ready to be stored. A translation of None is to be removed. ``cut`` names what was shortened."""

    fields: dict[str, Scalar] = field(default_factory=dict)
    translations: dict[str, dict[str, str] | None] = field(default_factory=dict)
    cut: list[str] = field(default_factory=list)


class Rules:
    """The checks of one entity. ``writable`` are the fields that this writer may set; ``cap`` shortens what is too
    long (an import) where a person is asked to do it."""

    def __init__(self, entity: Entity, *, writable: Collection[str] | None = None, cap: bool = False) -> None:
        self.entity = entity
        self.cap = cap
        self.plain = {item.name: item for item in entity.plain_fields}
        self.translated = {item.name: item for item in entity.translated_fields}
        self.writable = (
            {item.name for item in entity.fields if item.editable} if writable is None else frozenset(writable)
        )

    def clean(self, values: Values, *, new: bool, locale: str) -> Clean:
        """``values`` cleaned; for a ``new`` record what is required must be there.

        Translated fields may also stand beside the others: they are then those of ``values["locale"]``, else of
        ``locale``. Raises :class:`Invalid` (``input.invalid``) whose ``fields`` carry one error per path.
        """
        problems: list[Invalid] = []
        clean = Clean()
        flat: dict[str, object] = {}
        for name, value in values.items():
            if name in self.translated:
                flat[name] = value
            elif name in self.plain:
                self._plain(name, value, clean, problems)
            elif not (self.translated and name in ("translations", "locale")):
                problems.append(Invalid("input.unknown_field", path=str(name)[:100], field=str(name)[:100]))
        if self.translated:
            self._translations(values, flat, locale, clean, problems)
        if new:
            self._missing(clean, locale, problems)
        if problems:
            raise Invalid("input.invalid", fields=problems)
        return clean

    def _plain(self, name: str, value: object, clean: Clean, problems: list[Invalid]) -> None:
        if name not in self.writable:
            problems.append(Invalid("input.read_only", path=name, field=name))
            return
        try:
            clean.fields[name] = self._value(self.plain[name], value, name, clean)
        except Invalid as problem:
            problems.append(problem)

    def _value(self, item: Field, value: object, path: str, clean: Clean) -> Scalar:
        limit = LIMIT if item.kind == "text" else item.limit
        if self.cap and isinstance(value, str) and item.kind in ("string", "text", "login") and len(value) > limit:
            shorter = clean_text(value, limit)
            if len(value) > len(shorter) + 1000 or len(clean_text(value[: limit + 1000], limit + 1)) > limit:
                clean.cut.append(path)
            value = shorter
        found = read_value(item, value, path)
        nullable = item.translated or self.entity.model.__table__.columns[item.name].nullable
        if found in (None, ""):
            if item.required or item.kind == "choice" or (item.kind == "integer" and not nullable):
                raise Invalid("input.required", path=path)
            return None if nullable and not item.translated else ""
        return found

    def _translations(
        self, values: Values, flat: Mapping[str, object], locale: str, clean: Clean, problems: list[Invalid]
    ) -> None:
        given: dict[str, object] = {}
        nested = values.get("translations", {})
        if isinstance(nested, Mapping):
            given.update({str(code): texts for code, texts in nested.items()})
        else:
            problems.append(Invalid("input.type", path="translations", expected="{locale: {field: text}}"))
        if flat:
            given[str(values.get("locale") or locale)] = flat
        for code, texts in given.items():
            inside = "" if texts is flat else f"translations.{code[:20]}."
            if code not in LOCALES:
                known = ", ".join(LOCALES)
                path = "locale" if texts is flat else f"translations.{code[:20]}"
                problems.append(Invalid("input.choice", path=path, value=code[:20], allowed=known))
            elif texts is None:
                self._removed(code, clean, problems)
            elif isinstance(texts, Mapping):
                clean.translations[code] = self._texts(texts, inside, clean, problems)
            else:
                problems.append(Invalid("input.type", path=f"translations.{code}", expected="{field: text}"))

    def _removed(self, code: str, clean: Clean, problems: list[Invalid]) -> None:
        """Removing a translation changes each of its fields."""
        if self.translated.keys() <= self.writable:
            clean.translations[code] = None
        else:
            path = f"translations.{code}"
            problems.append(Invalid("input.read_only", path=path, field=path))

    def _texts(self, texts: Mapping[str, object], inside: str, clean: Clean, problems: list[Invalid]) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, value in texts.items():
            path = f"{inside}{str(name)[:100]}"
            item = self.translated.get(str(name))
            if item is None:
                problems.append(Invalid("input.unknown_field", path=path, field=str(name)[:100]))
                continue
            if item.name not in self.writable:
                problems.append(Invalid("input.read_only", path=path, field=item.name))
                continue
            try:
                found[item.name] = str(self._value(item, value, path, clean) or "")
            except Invalid as problem:
                problems.append(problem)
        return found

    def _missing(self, clean: Clean, locale: str, problems: list[Invalid]) -> None:
        told = {problem.path for problem in problems}
        columns = self.entity.model.__table__.columns
        for item in self.plain.values():
            if item.name in clean.fields or item.name in told or columns[item.name].server_default is not None:
                continue
            if item.required:
                problems.append(Invalid("input.required", path=item.name))
            elif item.kind in ("string", "text", "login") and not columns[item.name].nullable:
                clean.fields[item.name] = ""
        if not self.translated:
            return
        present = {code: texts for code, texts in clean.translations.items() if texts is not None}
        if not present and not problems:
            problems.append(Invalid("input.required", path=f"translations.{locale}"))
        for code, texts in present.items():
            problems += missing_texts(self.entity, code, texts, told)


def missing_texts(
    entity: Entity, locale: str, texts: Mapping[str, object], told: Collection[str | None] = ()
) -> list[Invalid]:
    """One error per required translated field that ``texts`` lacks."""
    return [
        Invalid("input.required", path=f"translations.{locale}.{item.name}")
        for item in entity.translated_fields
        if item.required
        and not texts.get(item.name)
        and f"translations.{locale}.{item.name}" not in told
        and item.name not in told
    ]


def read_value(item: Field, value: object, path: str) -> Scalar:
    """One value in the form of its field; None stays None. Raises :class:`Invalid` with ``path``."""
    if value is None:
        return None
    if item.kind == "integer":
        return _integer(value, path)
    if item.kind == "datetime":
        return _instant(value, path)
    if not isinstance(value, str):
        raise Invalid("input.type", path=path, expected=EXPECTED[item.kind])
    limit = LIMIT if item.kind == "text" else item.limit
    text = clean_text(value, limit + 1)
    if item.kind != "text":
        text = " ".join(text.split())
    if len(text) > limit:
        raise Invalid("input.too_long", path=path, limit=limit)
    if item.kind == "choice" and text and text not in item.choices:
        raise Invalid("input.choice", path=path, value=text[:40], allowed=", ".join(item.choices))
    return text


def _integer(value: object, path: str) -> int | None:
    if isinstance(value, str) and not value.strip():
        return None
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise Invalid("input.type", path=path, expected="integer")
    text = str(value).strip()
    if not (text.isascii() and text.lstrip("-").isdigit() and len(text) < 19):
        raise Invalid("input.type", path=path, expected="integer")
    return int(text)


def _instant(value: object, path: str) -> datetime | None:
    """ISO 8601; without an offset it is UTC. A form's empty field is None."""
    if isinstance(value, datetime):
        found = value
    elif isinstance(value, str):
        if not value.strip():
            return None
        try:
            found = datetime.fromisoformat(value.strip())
        except ValueError:
            raise Invalid("input.type", path=path, expected="2026-11-30T08:00:00Z") from None
    else:
        raise Invalid("input.type", path=path, expected="2026-11-30T08:00:00Z")
    try:
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:
        raise Invalid("input.type", path=path, expected="2026-11-30T08:00:00Z") from None
