"""JSON Lines, read as a stream, and the foreign shapes of them that an import understands. Pure but for the reading.

===========  =======================================  ===========  ========  ====  ==========================
shape        recognised by                            key          title     text  ids are unique within
===========  =======================================  ===========  ========  ====  ==========================
`beir`       ``_id, text``                            ``_id``      `title`   text  their corpus: ``source:id``
`banking`    ``id, text, intent``                     ``id``       none      text  everywhere
`helpdesk`   ``id, text``                             ``id``       `title`   text  everywhere
===========  =======================================  ===========  ========  ====  ==========================

The seed's own shapes are known to the modules that own the records (`cms/entities.py`, `sao/entities.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from app.core.documents.text import clean_text
from app.core.errors import Invalid
from app.core.locale import LOCALES

LONGEST = 16 * 1024 * 1024
"""Bytes of one line; a longer one is refused without being held (`issue 3`, "What bad input gets")."""
TITLE = 80


@dataclass(frozen=True)
class Line:
    """One line: its number from 1, where it ends in the file in bytes, and its data (None when it is too long)."""

    number: int
    end: int
    data: bytes | None


@dataclass(frozen=True)
class Shape:
    """How one foreign shape is recognised and read."""

    name: str
    needs: frozenset[str]
    key: str
    title: str | None
    scoped: bool = False


SHAPES = (
    Shape("beir", frozenset({"_id", "text"}), "_id", "title", scoped=True),
    Shape("banking", frozenset({"id", "text", "intent"}), "id", None),
    Shape("helpdesk", frozenset({"id", "text"}), "id", "title"),
)


@dataclass(frozen=True)
class Source:
    """Where lines come from: ``name`` scopes ids that are unique there only; ``locale`` is that of lines that don't
    say theirs."""

    name: str
    locale: str


@dataclass(frozen=True)
class ImportLine:
    """What an entity's ``from_line`` gets: the JSON object and where it comes from."""

    raw: Mapping[str, object]
    source: Source


@dataclass(frozen=True)
class Foreign:
    """A recognised line of another system; ``extra`` is the line itself with its metadata spread out."""

    shape: str
    key: str
    title: str
    text: str
    locale: str
    extra: Mapping[str, object]


def read_lines(stream: BinaryIO, longest: int = LONGEST) -> Iterator[Line]:
    """Every line that is not blank; memory stays below ``longest`` bytes."""
    number, end = 0, 0
    while data := stream.readline(longest + 1):
        number += 1
        end += len(data)
        fits = len(data) <= longest or data.endswith(b"\n")
        while not data.endswith(b"\n") and not fits:
            rest = stream.readline(1024 * 1024)
            end += len(rest)
            if not rest or rest.endswith(b"\n"):
                break
        if number == 1:
            data = data.removeprefix(b"\xef\xbb\xbf")
        if not fits:
            yield Line(number, end, None)
        elif data.strip():
            yield Line(number, end, data)


def parse_line(line: Line, longest: int = LONGEST) -> dict[str, object]:
    """The JSON object of a line. Raises :class:`Invalid`: too long, no UTF-8, no JSON, no object."""
    if line.data is None:
        raise Invalid("import.line_too_long", limit=longest)
    try:
        value = json.loads(line.data.decode("utf-8"))
    except UnicodeDecodeError:
        raise Invalid("import.not_utf8") from None
    except (ValueError, RecursionError):
        raise Invalid("import.not_json") from None
    if not isinstance(value, dict):
        raise Invalid("import.not_json")
    return value


def read_foreign(raw: Mapping[str, object], source: Source) -> Foreign:
    """A line of one of :data:`SHAPES`.

    Raises :class:`Invalid`: ``import.unknown_shape``, ``import.no_id``, ``import.no_title`` (nothing but blanks).
    """
    shape = next((shape for shape in SHAPES if shape.needs <= raw.keys()), None)
    if shape is None:
        raise Invalid("import.unknown_shape")
    metadata = raw.get("metadata")
    extra = {**raw, **(metadata if isinstance(metadata, Mapping) else {})}
    key = _key(raw.get(shape.key))
    text = _text(raw, "text")
    title = _text(raw, shape.title) if shape.title else ""
    if not clean_text(title + text, 1000):
        raise Invalid("import.no_title")
    locale = extra.get("locale") or extra.get("lang")
    return Foreign(
        shape=shape.name,
        key=f"{source.name}:{key}" if shape.scoped else key,
        title=title if clean_text(title, 1000) else title_of(text),
        text=text,
        locale=str(locale) if locale in LOCALES else source.locale,
        extra=extra,
    )


def title_of(text: str, limit: int = TITLE) -> str:
    """A title for a text without one: its first words, at most ``limit`` characters."""
    words = " ".join(clean_text(text, 1000).split())
    if len(words) <= limit:
        return words
    return words[:limit].rsplit(" ", 1)[0].rstrip(" ,;:.") + "…"


def _key(value: object) -> str:
    text = clean_text(str(value), 200) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not text:
        raise Invalid("import.no_id")
    return text


def _text(raw: Mapping[str, object], name: str) -> str:
    value = raw.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Invalid("input.invalid", fields=[Invalid("input.type", path=name, expected="text")])
    return value
