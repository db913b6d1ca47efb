"""Values of conditions in the form of their field. Pure; texts are cleaned as stored ones are (`documents/text.py`)."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection
from datetime import UTC, datetime

from app.core.documents.text import LIMIT, clean_text
from app.core.errors import Invalid
from app.core.registry import Field

TYPES: frozenset[type] = frozenset({str, int, bool, float, datetime})
"""Types of columns that can be compared."""
ESCAPE = "\\"
INSTANT = "2026-11-30T08:00:00Z"


def read_scalar(item: Field, python_type: type, value: object, path: str, *, choices: Collection[str] = ()) -> object:
    """One value, never None, as ``python_type``; one of ``choices`` when there are any. Raises :class:`Invalid`."""
    if python_type is bool:
        return _boolean(value, path)
    if python_type is int:
        return _integer(value, path)
    if python_type is float:
        return _number(value, path)
    if python_type is datetime:
        return _instant(value, path)
    return _text(item, value, path, choices)


def read_pattern(item: Field, value: object, path: str) -> str:
    """A pattern of ``like``: ``%`` any text, ``_`` any character, a backslash before either (or itself) that sign.

    A backslash at the end would escape nothing and is refused, as PostgreSQL does.
    """
    if not isinstance(value, str) or not _storable(value) or ends_in_escape(value):
        raise Invalid("input.type", path=path, expected="text%")
    limit = 2 * _limit(item)
    if len(value) > limit:
        raise Invalid("input.too_long", path=path, limit=limit)
    return unicodedata.normalize("NFC", value)


def _text(item: Field, value: object, path: str, choices: Collection[str]) -> str:
    if not isinstance(value, str):
        raise Invalid("input.type", path=path, expected="text")
    limit = _limit(item)
    text = clean_text(value, limit + 1)
    if item.kind != "text":
        text = " ".join(text.split())
    if len(text) > limit:
        raise Invalid("input.too_long", path=path, limit=limit)
    if choices and text not in choices:
        raise Invalid("input.choice", path=path, value=text[:40], allowed=", ".join(choices))
    return text


def _limit(item: Field) -> int:
    return LIMIT if item.kind == "text" else item.limit


def _storable(text: str) -> bool:
    """Whether PostgreSQL takes it: no NUL, no lone surrogate."""
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def ends_in_escape(pattern: str) -> bool:
    """Whether the last backslash of a pattern escapes nothing."""
    return (len(pattern) - len(pattern.rstrip(ESCAPE))) % 2 == 1


def _boolean(value: object, path: str) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("true", "false"):
        return value == "true"
    raise Invalid("input.type", path=path, expected="true, false")


def _integer(value: object, path: str) -> int:
    found = value
    if isinstance(value, str):
        text = value.strip()
        digits = text.removeprefix("-")
        found = int(text) if digits.isascii() and digits.isdigit() and len(digits) < 20 else None
    if isinstance(found, bool) or not isinstance(found, int) or not -(2**63) <= found < 2**63:
        raise Invalid("input.type", path=path, expected="integer")
    return found


def _number(value: object, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 2**1023:
        raise Invalid("input.type", path=path, expected="number")
    found = float(value)
    if not math.isfinite(found):
        raise Invalid("input.type", path=path, expected="number")
    return found


def _instant(value: object, path: str) -> datetime:
    """ISO 8601; without an offset it is UTC, as in what is written to a record."""
    try:
        found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value).strip())
        if not isinstance(value, datetime | str):
            raise ValueError
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise Invalid("input.type", path=path, expected=INSTANT) from None
