"""Reading the audit: who may see which entry, and what of it.

An entry about a record is seen by who may see the record (`core.md`, tables of many entities); of fields that the
reader may not read, the name stays and the values go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement

from app.core.audit import store
from app.core.audit.ask import AuditAsk
from app.core.audit.models import AuditEntry
from app.core.clock import Clock
from app.core.contracts.actor import Actor
from app.core.errors import Forbidden
from app.core.registry import Entity, Registry
from app.core.unit import Unit

PERMISSION = "audit.select"
PRUNED = 5_000

RowsSeen = Callable[[Actor, ColumnElement[Any], ColumnElement[Any]], ColumnElement[bool]]
"""`access/policy.py:records_of_many` with the registry: whether the actor may see the record that a row is about."""
FieldsSeen = Callable[[Entity, Actor], frozenset[str]]
"""`access/policy.py:readable`."""


@dataclass(frozen=True)
class Entry:
    """One entry as the reader may see it. ``changes`` maps a path to ``[old, new]``, or to None without values.

    Where from (address, request, token) is told to readers of the audit only.
    """

    id: int
    at: datetime
    actor_id: int | None
    actor: str
    impersonator: str | None
    channel: str
    action: str
    entity: str
    record_id: int | None
    revision: int | None
    changes: Mapping[str, Any] = field(default_factory=dict)
    address: str | None = None
    request_id: str | None = None
    token_id: int | None = None


@dataclass(frozen=True)
class AuditPage:
    """One page. ``next_cursor`` is None on the last one."""

    entries: tuple[Entry, ...]
    next_cursor: str | None


class AuditLog:
    """Runs in the caller's unit and writes nothing but what retention asks for."""

    def __init__(self, registry: Registry, clock: Clock, rows_seen: RowsSeen, fields_seen: FieldsSeen) -> None:
        self.registry = registry
        self.clock = clock
        self.rows_seen = rows_seen
        self.fields_seen = fields_seen

    def permit(self, actor: Actor) -> None:
        """Raises :class:`Forbidden` without ``audit.select``."""
        if not actor.may(PERMISSION):
            raise Forbidden("access.forbidden", permission=PERMISSION)

    def page(self, unit: Unit, actor: Actor, ask: AuditAsk) -> AuditPage:
        """Newest first. Raises :class:`Forbidden` without ``audit.select``."""
        found = store.page(unit.session, ask, self._allowed(actor))
        shown = found[: ask.size]
        more = str(shown[-1].id) if len(found) > ask.size else None
        return AuditPage(tuple(self._entry(row, actor, full=True) for row in shown), more)

    def every(self, unit: Unit, actor: Actor, ask: AuditAsk) -> Iterator[Entry]:
        """All that is asked for, for an export: the same entries in the same order as the pages."""
        allowed = self._allowed(actor)
        return (self._entry(row, actor, full=True) for row in store.every(unit.session, ask, allowed))

    def history(
        self,
        unit: Unit,
        actor: Actor,
        entity: str,
        record_id: int,
        before: int | None = None,
        size: int = 20,
    ) -> tuple[Entry, ...]:
        """What happened to one record, for someone who may see it: the caller has read the record."""
        full = actor.may(PERMISSION)
        rows = store.of_record(unit.session, entity, record_id, before, size)
        return tuple(self._entry(row, actor, full=full) for row in rows)

    def prune(self, unit: Unit, days: int) -> int:
        """Delete a portion of what is older than ``days``; returns how many."""
        return store.prune(unit.session, self.clock.now() - timedelta(days=days), PRUNED)

    def _allowed(self, actor: Actor) -> ColumnElement[bool]:
        self.permit(actor)
        seen = self.rows_seen(actor, AuditEntry.__table__.c.entity, AuditEntry.__table__.c.record_id)
        return store.visible(actor, seen)

    def _entry(self, row: AuditEntry, actor: Actor, *, full: bool) -> Entry:
        return Entry(
            id=row.id,
            at=row.at,
            actor_id=row.actor_id,
            actor=row.actor_login,
            impersonator=row.impersonator_login,
            channel=row.channel,
            action=row.action,
            entity=row.entity,
            record_id=row.record_id,
            revision=row.revision,
            changes=self._changes(row, actor),
            address=row.address if full else None,
            request_id=row.request_id if full else None,
            token_id=row.token_id if full else None,
        )

    def _changes(self, row: AuditEntry, actor: Actor) -> Mapping[str, Any]:
        if row.entity not in self.registry:
            return dict(row.changes)
        entity = self.registry.get(row.entity)
        hidden = {item.name for item in entity.fields} - self.fields_seen(entity, actor)
        return {path: None if path.rpartition(".")[2] in hidden else change for path, change in row.changes.items()}
