"""What approvals ask of those who write: planning an edited capture, and applying one. Wired by the container."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from app.core.approvals.models import Modification
from app.core.contracts.actor import Actor
from app.core.unit import Unit

Diff = Mapping[str, object]
"""Path to ``[old, new]``: a field's name, ``translations.it.title`` for a text, ``value`` for a setting. JSON only:
instants are ISO 8601 texts. A text of None is absent; when all of a locale's new texts are None, it is removed."""


@dataclass(frozen=True)
class Applied:
    """What an applied modification made: the record and its new revision; a setting has neither."""

    record_id: int | None = None
    revision: int | None = None


NOTHING = Applied()


@dataclass(frozen=True)
class Plan:
    """What an author's values would change now."""

    base_revision: int | None
    diff: Diff


class Applier(Protocol):
    """Writes for an author, for one kind of modification. Runs in the unit of the deciding vote, inside a savepoint."""

    def apply(self, unit: Unit, author: Actor, modification: Modification) -> Applied:
        """Write what was captured, as ``author`` and without capturing it again.

        Permission, row and field rules and validation are those of ``author`` now. Whether the record has moved on
        is asked by the caller before, with the record locked. Audits the change itself.
        Raises errors of ours; nothing of what was written then stays.
        """
        ...

    def plan(self, unit: Unit, author: Actor, modification: Modification, values: Mapping[str, object]) -> Plan:
        """What ``values`` (as in an insert or update) would change now. Raises as a write would; writes nothing."""
        ...

    def current(self, unit: Unit, modification: Modification, *, lock: bool = False) -> Mapping[str, object] | None:
        """The values now of the paths of the diff, as JSON; None when the record is gone. ``lock`` holds the record."""
        ...
