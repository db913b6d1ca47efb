"""Records of any registered entity: list, read, create, update, delete, restore, in the caller's unit.

Permissions are checked here: `Forbidden` when the ability is missing for the whole entity, `NotFound` for a record
that this actor can't see, which looks as if it did not exist. Each change raises the record's one revision by one and
applies the entity's indexing rule in the same unit. Row ACL and approvals come with Core's own issue: they belong in
`store.find`, `store.page` and in front of `_changed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.clock import Clock
from app.core.contracts.actor import Actor
from app.core.contracts.documents import DocumentIndex
from app.core.crud import store
from app.core.crud.query import read_ask, write_cursor
from app.core.crud.serialise import Record, to_record
from app.core.crud.validation import Clean, Rules, missing_texts
from app.core.errors import Conflict, Forbidden, Invalid, NotFound, Stale
from app.core.registry import Ability, Entity, Registry, Values
from app.core.unit import Unit


@dataclass(frozen=True)
class RecordPage:
    """One page of a list. ``next_cursor`` is None on the last page."""

    records: tuple[Record, ...]
    total: int
    page: int
    size: int
    sort: str
    next_cursor: str | None


class Records:
    """The one door to records. ``unit`` is open and is committed by whoever opened it."""

    def __init__(self, registry: Registry, index: DocumentIndex, clock: Clock) -> None:
        self.registry = registry
        self.index = index
        self.clock = clock

    def entity(self, actor: Actor, name: str) -> Entity:
        """The entity, for someone who may see its records; else :class:`NotFound`, as for an unknown name."""
        entity = self.registry.get(name)
        if not actor.may(entity.permission("select")):
            raise NotFound("record.unknown_entity", entity=name)
        return entity

    def entities(self, actor: Actor) -> list[Entity]:
        """Every entity whose records the actor may see."""
        return [entity for entity in self.registry if actor.may(entity.permission("select"))]

    def page(self, unit: Unit, actor: Actor, name: str, raw: Mapping[str, object]) -> RecordPage:
        """One page; ``raw`` as in `query.read_ask`. Deleted records are listed for those who may restore them."""
        entity = self._allowed(actor, name, "select")
        ask = read_ask(entity, raw)
        if ask.deleted and not actor.may(entity.permission("update")):
            raise Forbidden("access.forbidden", permission=entity.permission("update"))
        rows, total, last = store.page(unit.session, entity, ask, actor.locale)
        more = len(rows) > ask.size
        shown = rows[: ask.size]
        return RecordPage(
            records=tuple(to_record(entity, row, actor.locale) for row in shown),
            total=total,
            page=ask.page,
            size=ask.size,
            sort=ask.sort,
            next_cursor=write_cursor(last, shown[-1].id) if more else None,
        )

    def is_empty(self, unit: Unit, name: str) -> bool:
        """Whether the entity has no record at all, deleted ones counted. For commands on the machine itself."""
        return store.count(unit.session, self.registry.get(name)) == 0

    def get(self, unit: Unit, actor: Actor, name: str, record_id: int) -> Record:
        """The record; :class:`NotFound` when it is missing, deleted or not for this actor."""
        entity = self.registry.get(name)
        return to_record(entity, self._seen(unit, actor, entity, record_id), actor.locale)

    def create(self, unit: Unit, actor: Actor, name: str, values: Values) -> Record:
        """A new record with revision 1. Raises :class:`Invalid` with one error per path."""
        entity = self._allowed(actor, name, "insert")
        clean = Rules(entity).clean(values, new=True, locale=actor.locale)
        now = self.clock.now()
        row = entity.model(revision=1, created_at=now, updated_at=now, **clean.fields)
        write_texts(entity, row, clean)
        entity.complete(unit, [row])
        unit.session.add(row)
        unit.session.flush()
        self._reindex(unit, entity, row)
        return to_record(entity, row, actor.locale)

    def update(
        self, unit: Unit, actor: Actor, name: str, record_id: int, values: Values, revision: int | None
    ) -> Record:
        """Change what ``values`` names. ``revision`` is the one that was edited.

        Raises :class:`Stale` with ``sent`` and ``current`` when the record has moved on. What changes nothing leaves
        no revision and no event.
        """
        entity, row = self._writable(unit, actor, name, record_id, "update")
        if revision is None:
            raise Invalid("input.invalid", fields=[Invalid("input.required", path="revision")])
        if row.revision != revision:
            raise Stale("record.stale", sent=revision, current=row.revision)
        if row.deleted_at is not None:
            raise Conflict("record.deleted")
        clean = Rules(entity).clean(values, new=False, locale=actor.locale)
        check_texts(entity, row, clean)
        if write_fields(row, clean) | write_texts(entity, row, clean):
            self._changed(unit, entity, row)
        return to_record(entity, row, actor.locale)

    def delete(self, unit: Unit, actor: Actor, name: str, record_id: int, revision: int | None = None) -> Record:
        """Hide the record: it is findable nowhere once the unit commits. Deleting it twice is no error."""
        entity, row = self._writable(unit, actor, name, record_id, "delete")
        if row.deleted_at is None:
            if revision is not None and row.revision != revision:
                raise Stale("record.stale", sent=revision, current=row.revision)
            row.deleted_at = self.clock.now()
            self._changed(unit, entity, row)
        return to_record(entity, row, actor.locale)

    def restore(self, unit: Unit, actor: Actor, name: str, record_id: int) -> Record:
        """Bring a deleted record back; needs the ability to update (`core.md`, Deleting)."""
        entity, row = self._writable(unit, actor, name, record_id, "update")
        if row.deleted_at is not None:
            row.deleted_at = None
            self._changed(unit, entity, row)
        return to_record(entity, row, actor.locale)

    def _allowed(self, actor: Actor, name: str, ability: Ability) -> Entity:
        entity = self.registry.get(name)
        if not actor.may(entity.permission(ability)):
            raise Forbidden("access.forbidden", permission=entity.permission(ability))
        if ability != "select" and not entity.editable:
            raise Forbidden("record.read_only", entity=entity.name)
        return entity

    def _seen(self, unit: Unit, actor: Actor, entity: Entity, record_id: int, *, lock: bool = False) -> Any:
        """The row, for someone who may see it: deleted ones are seen by those who may restore or delete."""
        row = store.find(unit.session, entity, record_id, lock=lock) if actor.may(entity.permission("select")) else None
        hidden = row is not None and getattr(row, "deleted_at", None) is not None
        if row is None or (hidden and not any(actor.may(entity.permission(a)) for a in ("update", "delete"))):
            raise NotFound("record.not_found")
        return row

    def _writable(self, unit: Unit, actor: Actor, name: str, record_id: int, ability: Ability) -> tuple[Entity, Any]:
        entity = self.registry.get(name)
        if not actor.may(entity.permission("select")):
            raise NotFound("record.not_found")
        self._allowed(actor, name, ability)
        return entity, self._seen(unit, actor, entity, record_id, lock=True)

    def _changed(self, unit: Unit, entity: Entity, row: Any) -> None:
        row.revision += 1
        row.updated_at = self.clock.now()
        unit.session.flush()
        self._reindex(unit, entity, row)

    def _reindex(self, unit: Unit, entity: Entity, row: Any) -> None:
        documents = entity.documents(row, self.clock.now())
        if documents:
            self.index.put(unit, entity.name, row.id, documents)
        else:
            self.index.remove(unit, entity.name, row.id)


def write_fields(row: Any, clean: Clean) -> bool:
    """Set the plain fields; whether one of them differs from before."""
    changed = {name: value for name, value in clean.fields.items() if getattr(row, name) != value}
    for name, value in changed.items():
        setattr(row, name, value)
    return bool(changed)


def write_texts(entity: Entity, row: Any, clean: Clean) -> bool:
    """Set, add and remove translations; whether one of them differs from before."""
    if entity.translation_model is None:
        return False
    texts = getattr(row, entity.translations_field)
    present = {text.locale: text for text in texts}
    changed = False
    for code, values in sorted(clean.translations.items()):
        text = present.get(code)
        if values is None:
            if text is not None:
                texts.remove(text)
                changed = True
            continue
        if text is None:
            blank = {item.name: "" for item in entity.translated_fields}
            texts.append(entity.translation_model(locale=code, **(blank | values)))
            changed = True
            continue
        for name, value in values.items():
            if getattr(text, name) != value:
                setattr(text, name, value)
                changed = True
    return changed


def check_texts(entity: Entity, row: Any, clean: Clean) -> None:
    """A record would keep at least one translation, each with what is required; else :class:`Invalid`.

    Asked before anything is written to the row, so that a refusal leaves nothing to be committed.
    """
    if entity.translation_model is None:
        return
    merged: dict[str, dict[str, str]] = {
        text.locale: {item.name: getattr(text, item.name) for item in entity.translated_fields}
        for text in getattr(row, entity.translations_field)
    }
    for code, values in clean.translations.items():
        if values is None:
            merged.pop(code, None)
        else:
            merged[code] = merged.get(code, {}) | values
    problems = [problem for code, texts in merged.items() for problem in missing_texts(entity, code, texts)]
    if not merged:
        problems.append(Invalid("input.required", path="translations"))
    if problems:
        raise Invalid("input.invalid", fields=problems)
