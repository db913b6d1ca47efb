"""A row filter as data: search engines and CRUD compile the same tree. Absent (None) means no restriction.

Operators are those of Core's row ACL: ``= != > >= < <= like in between``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Operator = Literal["=", "!=", ">", ">=", "<", "<=", "like", "in", "between"]


PlaceholderName = Literal["id", "login", "roles", "tenant", "locale"]


@dataclass(frozen=True)
class Placeholder:
    """Stands in a stored condition for a value of whoever asks: own id or login, role names, tenant id or locale."""

    name: PlaceholderName


@dataclass(frozen=True)
class Condition:
    """One comparison. ``value`` is a scalar, for ``in`` a tuple, for ``between`` a pair.

    In a stored condition it may be (or contain) a :class:`Placeholder`; the filters of an actor contain none.
    """

    field: str
    operator: Operator
    value: object


@dataclass(frozen=True)
class Group:
    """All (``and``) or any (``or``) of ``items``; an empty ``and`` lets everything through, an empty ``or`` nothing."""

    junction: Literal["and", "or"]
    items: tuple[Condition | Group, ...]


Filter = Condition | Group
