"""Records of any registered entity: list, read, create, update, delete, restore, in the caller's unit.

Permissions, row rules and field lists are those of `core/access/policy.py`, asked in the statements themselves:
`Forbidden` when the ability is missing for the whole entity, `NotFound` for a record that this actor does not reach,
which looks as if it did not exist. A change must also leave a record that the same rules reach (`_guarded`).

A change raises the record's one revision by one, applies the entity's indexing rule and is audited, all in the same
unit. A change of a person who needs approval is checked in the same way and then captured instead of done.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from app.core.access.policy import readable, visible, writable
from app.core.approvals.diff import difference, field_of, flat
from app.core.approvals.models import Modification
from app.core.audit.service import Audit
from app.core.clock import Clock
from app.core.contracts.actor import Actor
from app.core.contracts.documents import DocumentIndex
from app.core.crud import list_store, store
from app.core.crud.changing import (
    Difference,
    audited,
    columns_of_row,
    planned,
    texts_of_row,
    write_fields,
    write_texts,
)
from app.core.crud.cursor import write_cursor
from app.core.crud.query import Ask, read_ask
from app.core.crud.reach import Reach
from app.core.crud.serialise import Record, Shape, records_of, to_json
from app.core.crud.validation import Clean, Rules
from app.core.errors import Conflict, Forbidden, Invalid, NotFound, PreconditionNeeded, Stale
from app.core.registry import Ability, Entity, Registry, Values
from app.core.unit import Unit

ANY_REVISION = -1
"""Says in so many words that the change may be made on whichever revision is there."""


@dataclass(frozen=True)
class RecordPage:
    """One page of a list. ``next_cursor`` is None on the last page.

    ``total`` is exact when ``total_relation`` is ``eq``, the least that there are when it is ``gte``, and both are None
    on a page that a cursor continues: it was counted on the first one.
    """

    records: tuple[Record, ...]
    total: int | None
    total_relation: str | None
    page: int
    size: int
    sort: str
    next_cursor: str | None


@dataclass(frozen=True)
class Captured:
    """A change that waits for votes. ``record_id`` is None for a new record."""

    entity: str
    record_id: int | None
    modification: Modification


class Moderation(Protocol):
    """Answered by `core/approvals`. Absent (None): nothing is moderated."""

    def captures(self, actor: Actor, entity: Entity) -> bool: ...

    def capture(
        self,
        unit: Unit,
        actor: Actor,
        entity: Entity,
        operation: str,
        record_id: int | None,
        base_revision: int | None,
        diff: Mapping[str, object],
    ) -> Any: ...


class Records:
    """The one door to records. ``unit`` is open and is committed by whoever opened it."""

    def __init__(
        self,
        registry: Registry,
        index: DocumentIndex,
        clock: Clock,
        audit: Audit | None = None,
        approvals: Moderation | None = None,
    ) -> None:
        self.registry = registry
        self.index = index
        self.clock = clock
        self.audit = audit or Audit(clock)
        self.approvals = approvals

    # --- reading ---------------------------------------------------------------------------------------------------

    def entity(self, actor: Actor, name: str) -> Entity:
        """The entity, for someone who may see its records; else :class:`NotFound`, as for an unknown name."""
        entity = self.registry.get(name)
        if not actor.may(entity.permission("select")):
            raise NotFound("record.unknown_entity", entity=name)
        return entity

    def entities(self, actor: Actor) -> list[Entity]:
        """Every entity whose records the actor may see."""
        return [entity for entity in self.registry if actor.may(entity.permission("select"))]

    def ask(self, actor: Actor, name: str, raw: Mapping[str, object]) -> tuple[Entity, Ask]:
        """What ``raw`` asks of the entity's records, checked against what the actor may read."""
        entity = self.allowed(actor, name, "select")
        ask = read_ask(entity, raw, readable(entity, actor), actor.locale)
        if ask.deleted and not actor.may(entity.permission("delete")):
            raise Forbidden("access.forbidden", permission=entity.permission("delete"))
        return entity, ask

    def page(self, unit: Unit, actor: Actor, name: str, raw: Mapping[str, object]) -> RecordPage:
        """One page; ``raw`` as in `query.read_ask`. Deleted records are listed for those who may restore them."""
        entity, ask = self.ask(actor, name, raw)
        found = list_store.page(unit.session, entity, ask, Reach(entity, actor, ability_of(ask)))
        return RecordPage(
            records=records_of(entity, ask, found.rows, found.texts),
            total=list_store.COUNTED if found.is_capped else found.total,
            total_relation=None if found.total is None else "gte" if found.is_capped else "eq",
            page=ask.page,
            size=ask.size,
            sort=ask.sort_text,
            next_cursor=None if found.last is None else write_cursor(found.last, ask.digest),
        )

    def is_empty(self, unit: Unit, name: str) -> bool:
        """Whether the entity has no record at all, deleted ones counted. For commands on the machine itself."""
        return store.count(unit.session, self.registry.get(name)) == 0

    def get(self, unit: Unit, actor: Actor, name: str, record_id: int, locale: str | None = None) -> Record:
        """The record; :class:`NotFound` when it is missing, deleted or not for this actor.

        Deleted ones are seen by those who may restore them or delete them for good.
        """
        entity = self.registry.get(name)
        names = readable(entity, actor)
        found = store.read(unit.session, entity, record_id, Reach(entity, actor), names)
        if found is None:
            raise NotFound("record.not_found")
        row, texts = found
        if row.get("deleted_at") is not None and not self._sees_deleted(unit, actor, entity, record_id):
            raise NotFound("record.not_found")
        return Shape(entity, locale or actor.locale, names).record(row, texts)

    def _sees_deleted(self, unit: Unit, actor: Actor, entity: Entity, record_id: int) -> bool:
        abilities: tuple[Ability, ...] = ("delete", "forceDelete")
        return any(
            store.reaches(unit.session, entity, record_id, visible(entity, actor, ability)) for ability in abilities
        )

    # --- writing ---------------------------------------------------------------------------------------------------

    def create(self, unit: Unit, actor: Actor, name: str, values: Values) -> Record | Captured:
        """A new record with revision 1. Raises :class:`Invalid` with one error per path."""
        entity = self.allowed(actor, name, "insert")
        clean = Rules(entity, writable=writable(entity, actor)).clean(values, new=True, locale=actor.locale)
        texts = {code: text for code, text in clean.translations.items() if text is not None}
        changes = difference({}, flat(clean.fields, texts))
        if self.captures(actor, entity):
            return self.capture(unit, actor, entity, "insert", None, None, changes)
        now = self.clock.now()
        row = entity.model(revision=1, created_at=now, updated_at=now, **clean.fields)
        write_texts(entity, row, clean)
        entity.complete(unit, [row])
        with self.guarded(unit, actor, entity, "insert", [row]):
            unit.session.add(row)
            unit.session.flush()
        self.reindex(unit, entity, row)
        self.note(unit, actor, entity, "insert", row, changes)
        return self.shown(entity, actor, row)

    def update(
        self, unit: Unit, actor: Actor, name: str, record_id: int, values: Values, revision: int | None
    ) -> Record | Captured:
        """Change what ``values`` names. ``revision`` is the one that was edited; see :data:`ANY_REVISION`.

        Raises :class:`Stale` with ``sent`` and ``current`` when the record has moved on, :class:`PreconditionNeeded`
        without a revision. What changes nothing leaves no revision, no event and no trace in the audit.
        """
        entity, row = self._held(unit, actor, name, record_id, "update")
        if revision is None:
            raise PreconditionNeeded("record.revision_needed", path="revision")
        self._fresh(entity, actor, row, revision, values)
        if row.deleted_at is not None:
            raise Conflict("record.deleted")
        clean = Rules(entity, writable=writable(entity, actor)).clean(values, new=False, locale=actor.locale)
        changes = planned(entity, row, clean)
        if not changes:
            return self.shown(entity, actor, row)
        if self.captures(actor, entity):
            return self.capture(unit, actor, entity, "update", row.id, row.revision, changes)
        return self._done(unit, actor, entity, row, clean, "update", changes)

    def delete(
        self, unit: Unit, actor: Actor, name: str, record_id: int, revision: int | None = None
    ) -> Record | Captured:
        """Hide the record: it is findable nowhere once the unit commits. Deleting it twice is no error."""
        return self._mark(unit, actor, name, record_id, revision, "delete")

    def restore(
        self, unit: Unit, actor: Actor, name: str, record_id: int, revision: int | None = None
    ) -> Record | Captured:
        """Bring a deleted record back; needs the ability to delete (the issue, "CRUD service")."""
        return self._mark(unit, actor, name, record_id, revision, "restore")

    def force_delete(
        self, unit: Unit, actor: Actor, name: str, record_id: int, revision: int | None = None
    ) -> Record | Captured:
        """Remove the record for good, deleted before or not; the answer is how it was. It can't be brought back."""
        entity, row = self._held(unit, actor, name, record_id, "forceDelete")
        self._fresh(entity, actor, row, revision)
        if self.captures(actor, entity):
            return self.capture(unit, actor, entity, "forceDelete", row.id, row.revision, {})
        last = self.shown(entity, actor, row)
        self.index.remove(unit, entity.name, row.id)
        self.note(unit, actor, entity, "forceDelete", row, {})
        store.remove(unit.session, row)
        return last

    def _mark(
        self, unit: Unit, actor: Actor, name: str, record_id: int, revision: int | None, operation: str
    ) -> Record | Captured:
        entity, row = self._held(unit, actor, name, record_id, "delete")
        if (row.deleted_at is not None) == (operation == "delete"):
            return self.shown(entity, actor, row)
        self._fresh(entity, actor, row, revision)
        if self.captures(actor, entity):
            return self.capture(unit, actor, entity, operation, row.id, row.revision, {})
        return self._done(unit, actor, entity, row, Clean(), operation, {})

    def _done(
        self, unit: Unit, actor: Actor, entity: Entity, row: Any, clean: Clean, operation: str, changes: Difference
    ) -> Record:
        with self.guarded(unit, actor, entity, "update" if operation == "update" else "delete", [row]):
            self.put(entity, row, clean, operation)
            unit.session.flush()
        self.reindex(unit, entity, row)
        self.note(unit, actor, entity, operation, row, changes)
        return self.shown(entity, actor, row)

    # --- the steps of a write, for one record here and for many in `many.py` ---------------------------------------

    def allowed(self, actor: Actor, name: str, ability: Ability) -> Entity:
        """The entity, when the actor has the ability and it can be changed at all; else :class:`Forbidden`."""
        entity = self.registry.get(name)
        if not actor.may(entity.permission(ability)):
            raise Forbidden("access.forbidden", permission=entity.permission(ability))
        if ability != "select" and not entity.editable:
            raise Forbidden("record.read_only", entity=entity.name)
        return entity

    def captures(self, actor: Actor, entity: Entity) -> bool:
        """Whether the actor's changes of this entity wait for votes."""
        return self.approvals is not None and self.approvals.captures(actor, entity)

    def capture(
        self,
        unit: Unit,
        actor: Actor,
        entity: Entity,
        operation: str,
        record_id: int | None,
        revision: int | None,
        changes: Difference,
    ) -> Captured:
        """Keep a change that was checked, for the voters."""
        assert self.approvals is not None
        found = self.approvals.capture(unit, actor, entity, operation, record_id, revision, changes)
        return Captured(entity.name, record_id, found)

    @contextmanager
    def guarded(self, unit: Unit, actor: Actor, entity: Entity, ability: Ability, rows: list[Any]) -> Iterator[None]:
        """Check what was written inside against the rules that let it be written (``WITH CHECK``).

        A record that would then be out of the actor's reach raises :class:`Forbidden`, and nothing of what was written
        inside stays: a savepoint holds the state before.
        """
        permissions = (entity.permission("select"), entity.permission(ability))
        if all(actor.rows_for(permission) is None for permission in permissions):
            yield
            return
        with unit.session.begin_nested():
            yield
            wanted = {row.id for row in rows}
            if wanted - store.reached(unit.session, entity, sorted(wanted), visible(entity, actor, ability)):
                raise Forbidden("record.out_of_reach")

    def put(self, entity: Entity, row: Any, clean: Clean, operation: str) -> None:
        """Write a change to a held row, in memory: the caller flushes."""
        now = self.clock.now()
        if operation == "update":
            write_fields(row, clean)
            write_texts(entity, row, clean)
        else:
            row.deleted_at = now if operation == "delete" else None
        row.revision += 1
        row.updated_at = now

    def reindex(self, unit: Unit, entity: Entity, row: Any) -> None:
        """Apply the entity's indexing rule."""
        documents = entity.documents(row, self.clock.now())
        if documents:
            self.index.put(unit, entity.name, row.id, documents)
        else:
            self.index.remove(unit, entity.name, row.id)

    def note(self, unit: Unit, actor: Actor, entity: Entity, action: str, row: Any, changes: Difference) -> None:
        """Audit one change."""
        self.audit.write(
            unit, actor, action, entity.name, row.id, revision=row.revision, changes=audited(entity, changes)
        )

    def shown(self, entity: Entity, actor: Actor, row: Any) -> Record:
        """A mapped row as the actor may see it."""
        shape = Shape(entity, actor.locale, readable(entity, actor))
        return shape.record(columns_of_row(entity, row), texts_of_row(entity, row))

    def _held(self, unit: Unit, actor: Actor, name: str, record_id: int, ability: Ability) -> tuple[Entity, Any]:
        """The row, locked, for someone who may do this with it (``USING``)."""
        entity = self.registry.get(name)
        if not actor.may(entity.permission("select")):
            raise NotFound("record.not_found")
        self.allowed(actor, name, ability)
        row = store.find(unit.session, entity, record_id, visible(entity, actor, ability), lock=True)
        if row is None or (row.deleted_at is not None and not self._sees_deleted(unit, actor, entity, record_id)):
            raise NotFound("record.not_found")
        return entity, row

    def _fresh(
        self, entity: Entity, actor: Actor, row: Any, revision: int | None, values: Values | None = None
    ) -> None:
        """Raises :class:`Stale` unless the row still has this revision; its details hold both versions to compare."""
        if revision in (None, ANY_REVISION, row.revision):
            return
        error = Stale("record.stale", sent=revision, current=row.revision)
        error.details = {
            "sent": {"revision": revision, **(values or {})},
            "current": to_json(self.shown(entity, actor, row)),
            "differing": self._differing(entity, actor, row, values or {}),
        }
        raise error

    def _differing(self, entity: Entity, actor: Actor, row: Any, values: Values) -> list[str]:
        """The paths of what was sent that the record now has another value for, as far as the actor may read them."""
        names = readable(entity, actor)
        try:
            changes = planned(entity, row, Rules(entity).clean(values, new=False, locale=actor.locale))
        except Invalid:
            return []
        return [path for path in changes if field_of(path) in names]


def ability_of(ask: Ask) -> Ability:
    """Deleted records are listed for those who may restore them."""
    return "delete" if ask.deleted else "select"
