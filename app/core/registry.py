"""Registered kinds of records. The registry is filled by the container and read by everybody.

An entity is named ``module.name``. What is searchable of a record is said by its module's service, which writes
`search_documents`; the registry says which fields exist, who may do what with them, and how they are edited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from app.core.contracts.documents import Document
from app.core.errors import NotFound

Kind = Literal["string", "text", "choice", "datetime", "integer", "login"]
Ability = Literal["select", "insert", "update", "delete", "forceDelete", "approve"]


@dataclass(frozen=True)
class Field:
    """One field of a record. ``label`` is an English sentence fragment, translated where shown.

    The audit notes that a ``protected`` field changed and never its values.
    """

    name: str
    label: str
    kind: Kind = "string"
    required: bool = False
    translated: bool = False
    choices: Sequence[str] = ()
    limit: int = 200
    listed: bool = True
    editable: bool = True
    protected: bool = False


Values = Mapping[str, object]
"""What is written to a record: field to value; ``translations`` holds locale to (translated field to value)."""


def nothing_searchable(record: Any, now: datetime) -> list[Document]:
    """The indexing rule of an entity that search never sees."""
    return []


def nothing_to_complete(unit: Any, records: Sequence[Any]) -> None:
    """New records of this entity are whole as they are."""


@dataclass(frozen=True)
class Entity:
    """One kind of record: its mapped class, its translations' class when it has any, and its fields.

    ``documents`` is the indexing rule: all that is searchable of a record at an instant, none when it is hidden.
    ``complete`` fills what only the database can say (a ticket's number) into records about to be inserted, in their
    unit. ``key_field`` holds the id that a record had where it was imported from; ``from_line`` turns a recognised
    line of an import into values. ``translations_field`` names the relationship to the translations. ``visible``
    names equalities that every row of this entity has in a table shared by several. ``reference_field`` with
    ``reference_prefix`` is how people name a record (SAO-12). ``votes`` above 0 makes the entity moderated: a write of
    a person who needs approval becomes a captured modification that needs so many approving votes.
    """

    name: str
    label: str
    label_plural: str
    model: type[Any]
    fields: Sequence[Field]
    title_field: str
    translation_model: type[Any] | None = None
    editable: bool = True
    extra: Mapping[str, object] = field(default_factory=dict)
    documents: Callable[[Any, datetime], list[Document]] = nothing_searchable
    complete: Callable[[Any, Sequence[Any]], None] = nothing_to_complete
    key_field: str | None = None
    from_line: Callable[[Any], Values] | None = None
    translations_field: str = "translations"
    visible: Mapping[str, object] = field(default_factory=dict)
    reference_field: str | None = None
    reference_prefix: str = ""
    votes: int = 0

    @property
    def plain_fields(self) -> tuple[Field, ...]:
        """The fields that hold one value for all locales."""
        return tuple(item for item in self.fields if not item.translated)

    @property
    def translated_fields(self) -> tuple[Field, ...]:
        """The fields that hold one value per locale; empty unless there is a translations' class."""
        return tuple(item for item in self.fields if item.translated)

    def permission(self, ability: Ability) -> str:
        return f"{self.name}.{ability}"


class Registry:
    """Entities by name, in the order of registration."""

    def __init__(self, entities: Sequence[Entity] = ()) -> None:
        self._entities = {entity.name: entity for entity in entities}

    def add(self, entity: Entity) -> None:
        if entity.name in self._entities:
            raise ValueError(f"{entity.name} is registered twice")
        self._entities[entity.name] = entity

    def get(self, name: str) -> Entity:
        """Raises :class:`NotFound` for a name that is not registered."""
        try:
            return self._entities[name]
        except KeyError:
            raise NotFound("record.unknown_entity", entity=name) from None

    def __iter__(self) -> Iterator[Entity]:
        return iter(self._entities.values())

    def __contains__(self, name: object) -> bool:
        return name in self._entities

    def names(self) -> tuple[str, ...]:
        return tuple(self._entities)
