"""The one named rule that cleans a text before it is hashed, embedded, stored and indexed (`faults.md` 65, 66).

NUL bytes, lone surrogates and other control characters are refused late by PostgreSQL and by servers; invisible
characters make blank texts look filled. What the rule removed or cut is counted by the caller.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from hashlib import blake2b

LIMIT = 200_000
"""Characters of one document that are searchable; what is beyond is cut, and the record says so."""

_REMOVED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069]")
_BLANKS = re.compile("[ \t\u00a0]+")


def clean_text(text: str, limit: int = LIMIT) -> str:
    """``text`` in NFC, without control characters, surrogates, zero-width and direction marks, cut at ``limit``."""
    if len(text) > limit:
        text = text[: limit + 1000]
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n")
    text = unicodedata.normalize("NFC", _REMOVED.sub("", text))
    return _BLANKS.sub(" ", text).strip()[:limit]


def document_text(title: str, body: str) -> str:
    """What is embedded of a document and what passages' offsets count in: title, blank line, body."""
    return f"{title}\n\n{body}" if title and body else title or body


def is_embeddable(title: str, body: str) -> bool:
    """Whether anything but blanks and marks is left: some servers answer blanks with a valid vector (`models.md`)."""
    return any(character.isalnum() for character in document_text(title, body))


def text_hash(title: str, body: str, parts: Sequence[tuple[int, str]] = ()) -> bytes:
    """16 bytes over the text itself, and over where its author wants it cut."""
    cuts = "".join(f"\x00{start} {heading}" for start, heading in parts)
    return blake2b((document_text(title, body) + cuts).encode(), digest_size=16).digest()
