"""How the searchable texts lie in PostgreSQL, and how row filters become conditions on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, and_, cast, exists, false, func, literal_column, or_, true
from sqlalchemy.dialects.postgresql import REGCONFIG

from app.core.access import policy
from app.core.access.conditions import named_fields
from app.core.contracts.conditions import Filter
from app.core.contracts.documents import Document
from app.core.documents.models import SearchDocument
from app.core.documents.text import clean_text
from app.core.locale import LOCALES
from app.core.registry import Registry
from app.search.matching import identifiers_of, words_of

VECTOR_BYTES = 900_000
"""Below the 1,048,575 bytes that a tsvector may take; beyond, the save itself would be refused (`postgres.md`)."""
POSITIONS = 255
TITLE_CLASS: ColumnElement[str] = literal_column("'A'::\"char\"")

OWN_COLUMNS = ("entity", "record_id", "locale")
"""Columns of `search_documents` that a tree may name too, where the record has none of that name."""


def configuration(locale: str) -> str:
    """The text search configuration of a locale (made by migration 0002); ``simple`` for one that has none."""
    return f"changeover_{locale}" if locale in LOCALES else "simple"


class PostgresWords:
    """The :class:`~app.core.contracts.documents.WordColumns` of the PostgreSQL engine."""

    def values(self, document: Document) -> Mapping[str, Any]:
        """``words``: title (weight A) and body (D), stemmed; ``identifiers``: exact, lower-cased.

        Capped so that no text, whatever its words, can make the record's save fail.
        """
        title, body = clean_text(document.title, 1000), clean_text(document.body)
        budget = _Budget(VECTOR_BYTES)
        config = cast(configuration(document.locale), REGCONFIG)
        return {
            "words": func.setweight(func.to_tsvector(config, budget.take(title)), TITLE_CLASS).op("||")(
                func.to_tsvector(config, budget.take(body))
            ),
            "identifiers": identifiers_of(title, body),
        }


class _Budget:
    """Counts what distinct words and their positions take in a tsvector, and cuts before it is too much.

    A word may grow when accents are folded into several letters, hence twice its bytes.
    """

    def __init__(self, limit: int) -> None:
        self._left = limit
        self._seen: dict[str, int] = {}

    def take(self, text: str) -> str:
        """The words of ``text`` that still fit, separated by blanks."""
        kept: list[str] = []
        for word in words_of(text):
            times = self._seen.get(word, 0)
            self._left -= 2 if 0 < times < POSITIONS else 0 if times else 2 * len(word.encode()) + 6
            if self._left < 0:
                break
            self._seen[word] = times + 1
            kept.append(word)
        return " ".join(kept)


class RowFilters:
    """Compiles condition trees to SQL on `search_documents`, by the one policy of rows (`core/access/policy.py`).

    Fields are those of the record, which is reached by its id in one ``EXISTS``; a tree that names nothing but
    :data:`OWN_COLUMNS` needs no record.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    @property
    def registry(self) -> Registry:
        return self._registry

    def __call__(self, entity: str, tree: Filter | None) -> ColumnElement[bool]:
        """The condition for rows of ``entity``. Raises :class:`Invalid` for unknown fields and unfit values."""
        if tree is None:
            return true()
        owner = self._registry.get(entity)
        columns = policy.condition_columns(owner)
        own = {name: getattr(SearchDocument, name) for name in OWN_COLUMNS if name not in columns}
        condition = policy.compiled(tree, columns | own)
        if not named_fields(tree) - set(own):
            return condition
        return exists().where(owner.model.id == SearchDocument.record_id, condition).correlate(SearchDocument)

    def scope(self, scope: Mapping[str, Filter | None]) -> ColumnElement[bool]:
        """The condition for rows of any entity of ``scope``, each with its own filter."""
        return or_(
            false(), *(and_(SearchDocument.entity == entity, self(entity, tree)) for entity, tree in scope.items())
        )
