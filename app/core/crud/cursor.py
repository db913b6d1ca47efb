"""The cursor that continues a list: the sort keys of the last row seen, bound to the list that it belongs to. Pure.

It holds only values of fields that its reader may sort by, so it is not signed: another one reads nothing more.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from app.core.registry import Kind

Key = str | int | datetime
LONGEST = 8_000


@dataclass(frozen=True)
class Cursor:
    """``keys`` are the sort keys of the last row, the id being the last of them."""

    keys: tuple[Key, ...]


def digest(*parts: object) -> str:
    """What a list is: equal for the same entity, words, filter, order and language."""
    return sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def write_cursor(keys: Sequence[Key], list_digest: str) -> str:
    """The text of a cursor, for the row that a page ended with."""
    told = [key.isoformat() if isinstance(key, datetime) else key for key in keys]
    return base64.urlsafe_b64encode(json.dumps([list_digest, *told]).encode()).decode("ascii")


def read_cursor(raw: str, kinds: Sequence[Kind], list_digest: str) -> Cursor | None:
    """The cursor of :func:`write_cursor`; None for anything else, one of another list among it."""
    try:
        found = json.loads(base64.b64decode(raw[:LONGEST].encode("ascii"), altchars=b"-_", validate=True))
        if not isinstance(found, list) or len(found) != len(kinds) + 1 or found[0] != list_digest:
            return None
        return Cursor(tuple(_key(kind, value) for kind, value in zip(kinds, found[1:], strict=True)))
    except (ValueError, TypeError, RecursionError):
        return None


def _key(kind: Kind, value: object) -> Key:
    if kind == "integer":
        if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**63:
            raise ValueError
        return value
    if not isinstance(value, str) or "\0" in value:
        raise ValueError
    value.encode()
    if kind != "datetime":
        return value
    found = datetime.fromisoformat(value)
    if found.tzinfo is None:
        raise ValueError
    return found
