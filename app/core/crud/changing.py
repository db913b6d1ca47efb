"""What a write would make of a record: worked out before anything is written, then written to the mapped row.

A state is flat: a field's name to its value, ``translations.it.title`` to a text (`core/approvals/diff.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.core.approvals.diff import difference, field_of, flat
from app.core.crud.validation import Clean, Scalar, missing_texts
from app.core.errors import Invalid
from app.core.registry import Entity

Difference = dict[str, list[object]]
"""Path to ``[old, new]``, as JSON."""
AUDITED = 2_000
"""Characters of a text that the audit keeps."""


def texts_of_row(entity: Entity, row: Any) -> dict[str, dict[str, str]]:
    """The translations of a mapped row by locale."""
    if entity.translation_model is None:
        return {}
    return {
        text.locale: {item.name: getattr(text, item.name) for item in entity.translated_fields}
        for text in getattr(row, entity.translations_field)
    }


def columns_of_row(entity: Entity, row: Any) -> dict[str, Any]:
    """The columns of a mapped row by name."""
    return {column.name: getattr(row, column.name) for column in entity.model.__table__.columns}


def state(entity: Entity, row: Any) -> dict[str, object]:
    """All values of a mapped row, flat."""
    return flat({item.name: getattr(row, item.name) for item in entity.plain_fields}, texts_of_row(entity, row))


def planned(entity: Entity, row: Any, clean: Clean) -> Difference:
    """What ``clean`` would change of ``row``; empty when nothing.

    Raises :class:`Invalid` when the record would be left without a translation, or one without what is required.
    """
    check_texts(entity, row, clean)
    fields: dict[str, Scalar] = {item.name: getattr(row, item.name) for item in entity.plain_fields}
    after = flat(fields | clean.fields, merged_texts(entity, row, clean))
    return difference(state(entity, row), after)


def merged_texts(entity: Entity, row: Any, clean: Clean) -> dict[str, dict[str, str]]:
    """The translations as they would be."""
    blank = {item.name: "" for item in entity.translated_fields}
    merged = texts_of_row(entity, row)
    for code, values in clean.translations.items():
        if values is None:
            merged.pop(code, None)
        else:
            merged[code] = blank | merged.get(code, {}) | values
    return merged


def check_texts(entity: Entity, row: Any, clean: Clean) -> None:
    """A record would keep at least one translation, each with what is required; else :class:`Invalid`.

    Asked before anything is written to the row, so that a refusal leaves nothing to be committed.
    """
    if entity.translation_model is None:
        return
    merged = merged_texts(entity, row, clean)
    problems = [problem for code, texts in merged.items() for problem in missing_texts(entity, code, texts)]
    if not merged:
        problems.append(Invalid("input.required", path="translations"))
    if problems:
        raise Invalid("input.invalid", fields=problems)


def write_fields(row: Any, clean: Clean) -> bool:
    """Set the plain fields; whether one of them differs from before."""
    changed = {name: value for name, value in clean.fields.items() if getattr(row, name) != value}
    for name, value in changed.items():
        setattr(row, name, value)
    return bool(changed)


def write_texts(entity: Entity, row: Any, clean: Clean) -> bool:
    """Set, add and remove translations; whether one of them differs from before."""
    if entity.translation_model is None:
        return False
    texts = getattr(row, entity.translations_field)
    present = {text.locale: text for text in texts}
    changed = False
    for code, values in sorted(clean.translations.items()):
        text = present.get(code)
        if values is None:
            if text is not None:
                texts.remove(text)
                changed = True
            continue
        if text is None:
            blank = {item.name: "" for item in entity.translated_fields}
            texts.append(entity.translation_model(locale=code, **(blank | values)))
            changed = True
            continue
        for name, value in values.items():
            if getattr(text, name) != value:
                setattr(text, name, value)
                changed = True
    return changed


def audited(entity: Entity, changes: Mapping[str, list[object]]) -> dict[str, object]:
    """The changes as the audit keeps them: a protected field by its name alone, a long text by its beginning."""
    protected = {item.name for item in entity.fields if item.protected}
    return {
        path: None if field_of(path) in protected else [_short(value) for value in change]
        for path, change in changes.items()
    }


def _short(value: object) -> object:
    return f"{value[:AUDITED]}…" if isinstance(value, str) and len(value) > AUDITED else value
