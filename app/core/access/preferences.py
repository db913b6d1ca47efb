"""What people chose for themselves, such as the columns of a list; nobody else's and of no consequence for others."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from app.core.access import preferences_store as store
from app.core.access.authority import oneself
from app.core.clock import Clock
from app.core.contracts.actor import Actor
from app.core.unit import Unit

COLUMNS = "columns:"
"""Begins the name of the columns of an entity's list: ``columns:cms.contents``."""
MOST = 100


class Preferences:
    """Every method runs in the caller's unit; none of them commits. Writing is not open to tokens, guests or
    impersonators: it would change what somebody else sees."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def columns(self, unit: Unit, actor: Actor, entity: str, known: Collection[str]) -> list[str] | None:
        """The chosen columns in their order, those of ``known`` only; None when the person has not chosen."""
        if actor.id is None:
            return None
        value = store.value(unit.session, actor.id, COLUMNS + entity)
        if not isinstance(value, list):
            return None
        return [name for name in value if name in known] or None

    def keep_columns(self, unit: Unit, actor: Actor, entity: str, names: Sequence[str]) -> None:
        """Keep a choice; each name once. Raises :class:`Forbidden`."""
        chosen = list(dict.fromkeys(names))[:MOST]
        store.put(unit.session, oneself(actor), COLUMNS + entity, chosen, self.clock.now())

    def reset_columns(self, unit: Unit, actor: Actor, entity: str) -> None:
        """Forget the choice. Raises :class:`Forbidden`."""
        store.remove(unit.session, oneself(actor), COLUMNS + entity)
