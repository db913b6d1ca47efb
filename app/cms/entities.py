"""`cms.contents`: its fields, what is searchable of it, and how lines of an import become it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from app.cms.models import Content, ContentTranslation
from app.core.contracts.documents import Document
from app.core.crud.lines import Foreign, ImportLine, read_foreign
from app.core.messages import N_
from app.core.registry import Entity, Field, Values

NAME = "cms.contents"
STATUSES = ("draft", "published", "archived")


def is_searchable(content: Content, now: datetime) -> bool:
    """Published, not deleted, and ``now`` in [valid_from, valid_to): an open end is no limit."""
    begun = content.valid_from is None or content.valid_from <= now
    ended = content.valid_to is not None and content.valid_to <= now
    return content.status == "published" and content.deleted_at is None and begun and not ended


def documents(content: Content, now: datetime) -> list[Document]:
    """One document per translation of a searchable content."""
    if not is_searchable(content, now):
        return []
    return [
        Document(NAME, content.id, text.locale, text.title, text.body, content.revision)
        for text in content.translations
    ]


def from_line(line: ImportLine) -> Values:
    """A line of the seed (it has ``translations``) as it stands; a foreign one becomes a published content."""
    if "translations" in line.raw:
        return line.raw
    foreign = read_foreign(line.raw, line.source)
    return {
        "key": foreign.key,
        "category": _first(foreign, "category", "collection", "intent") or "imported",
        "author": _first(foreign, "author"),
        "status": "published",
        "translations": {foreign.locale: {"title": foreign.title, "body": foreign.text}},
    }


def _first(foreign: Foreign, *names: str) -> str:
    """The first of the line's own values that is a text."""
    extra: Mapping[str, object] = foreign.extra
    return next((value for name in names if isinstance(value := extra.get(name), str) and value), "")


CONTENTS = Entity(
    name=NAME,
    label=N_("Content"),
    label_plural=N_("Contents"),
    model=Content,
    translation_model=ContentTranslation,
    title_field="title",
    key_field="key",
    votes=1,
    documents=documents,
    from_line=from_line,
    fields=(
        Field("title", N_("Title"), required=True, translated=True, limit=500),
        Field("body", N_("Text"), "text", translated=True, listed=False),
        Field("category", N_("Category"), required=True, limit=60),
        Field("author", N_("Author"), "login"),
        Field("status", N_("Status"), "choice", required=True, choices=STATUSES),
        Field("valid_from", N_("Valid from"), "datetime", listed=False),
        Field("valid_to", N_("Valid until"), "datetime", listed=False),
        Field("key", N_("Imported as"), limit=400, listed=False, editable=False),
        Field("created_at", N_("Created"), "datetime", listed=False, editable=False),
    ),
)
