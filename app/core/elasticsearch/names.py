"""Names that whoever reads or writes Elasticsearch must agree on."""

from __future__ import annotations

PASSAGES = "passages"
"""The nested part of a record's document: one for each passage that has a vector."""


def alias(prefix: str, entity: str) -> str:
    """What people name: it stands for the generation that answers. Searches name the generation itself."""
    return f"{prefix}-{entity}"


def index_name(prefix: str, entity: str, generation: int | None) -> str:
    """The index of an entity in a generation; its alias where no generation is on record."""
    name = alias(prefix, entity)
    return name if generation is None else f"{name}-{generation}"


def vector_field(space_id: int) -> str:
    """The vectors of one space. Spaces never share a field: their vectors do not compare."""
    return f"{PASSAGES}.vector_{space_id}"
