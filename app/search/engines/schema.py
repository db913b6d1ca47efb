"""How the searchable texts lie in PostgreSQL, and how row filters become conditions on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import ColumnElement, and_, cast, exists, false, func, inspect, literal_column, or_, true
from sqlalchemy.dialects.postgresql import REGCONFIG

from app.core.contracts.conditions import Condition, Filter
from app.core.contracts.documents import Document
from app.core.documents.models import SearchDocument
from app.core.documents.text import clean_text
from app.core.errors import Invalid
from app.core.locale import LOCALES
from app.core.registry import Registry
from app.search.matching import identifiers_of, words_of

VECTOR_BYTES = 900_000
"""Below the 1,048,575 bytes that a tsvector may take; beyond, the save itself would be refused (`postgres.md`)."""
POSITIONS = 255
TITLE_CLASS: ColumnElement[str] = literal_column("'A'::\"char\"")

_COMPARE: Mapping[str, Callable[[Any, Any], ColumnElement[bool]]] = {
    "=": lambda column, value: column.is_(None) if value is None else column == value,
    "!=": lambda column, value: column.is_not(None) if value is None else column.is_distinct_from(value),
    ">": lambda column, value: column > value,
    ">=": lambda column, value: column >= value,
    "<": lambda column, value: column < value,
    "<=": lambda column, value: column <= value,
    "like": lambda column, value: column.like(value),
    "in": lambda column, value: column.in_(list(value)),
    "between": lambda column, value: column.between(*value),
}


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
    """Compiles condition trees to SQL on `search_documents`.

    ``entity``, ``record_id`` and ``locale`` are its own columns; any other field is a column of the entity's mapped
    class, reached by the record's id.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def __call__(self, entity: str, tree: Filter | None) -> ColumnElement[bool]:
        """The condition for rows of ``entity``. Raises :class:`Invalid` for unknown fields and unfit values."""
        if tree is None:
            return true()
        if isinstance(tree, Condition):
            return self._condition(entity, tree)
        parts = [self(entity, item) for item in tree.items]
        return and_(true(), *parts) if tree.junction == "and" else or_(false(), *parts)

    def scope(self, scope: Mapping[str, Filter | None]) -> ColumnElement[bool]:
        """The condition for rows of any entity of ``scope``, each with its own filter."""
        return or_(
            false(), *(and_(SearchDocument.entity == entity, self(entity, tree)) for entity, tree in scope.items())
        )

    def _condition(self, entity: str, condition: Condition) -> ColumnElement[bool]:
        if condition.field in ("entity", "record_id", "locale"):
            return _compare(getattr(SearchDocument, condition.field), condition)
        model = self._registry.get(entity).model
        if condition.field not in inspect(model).columns:
            raise Invalid("input.unknown_field", path=condition.field, field=condition.field)
        return (
            exists()
            .where(model.id == SearchDocument.record_id, _compare(getattr(model, condition.field), condition))
            .correlate(SearchDocument)
        )


def _compare(column: Any, condition: Condition) -> ColumnElement[bool]:
    value = condition.value
    if condition.operator in ("in", "between"):
        fits = isinstance(value, list | tuple) and all(_fits(column, item) for item in value)
        fits = fits and (condition.operator == "in" or len(value) == 2)  # type: ignore[arg-type]
    else:
        fits = _fits(column, value)
    if condition.operator == "like":
        fits = fits and column.type.python_type is str
    if not fits or condition.operator not in _COMPARE:
        expected = column.type.python_type.__name__
        raise Invalid("input.type", path=condition.field, expected=f"{condition.operator} {expected}")
    return _COMPARE[condition.operator](column, value)


def _fits(column: Any, value: object) -> bool:
    kind = column.type.python_type
    return value is None or (isinstance(value, kind) and (kind is bool or not isinstance(value, bool)))
