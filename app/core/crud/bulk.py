"""Many records at once, recognised by the id that they had where they come from: the writing half of an import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from app.core.audit.service import Audit
from app.core.clock import Clock
from app.core.contracts.actor import Actor
from app.core.contracts.documents import DocumentIndex
from app.core.crud import store
from app.core.crud.changing import check_texts, write_fields, write_texts
from app.core.crud.validation import Clean, Rules
from app.core.errors import ChangeoverError, Conflict, Forbidden, Invalid
from app.core.registry import Entity, Registry, Values
from app.core.unit import Unit


@dataclass(frozen=True)
class Given:
    """The values of one line of the source."""

    line: int
    values: Values


@dataclass(frozen=True)
class Refusal:
    """A line that was not taken, and why; ``error`` holds no text of the record."""

    line: int
    error: ChangeoverError


@dataclass
class Outcome:
    """What became of the lines. ``cut`` counts records with a text that was shortened."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    cut: int = 0
    refused: list[Refusal] = field(default_factory=list)

    @property
    def taken(self) -> int:
        return self.created + self.updated + self.unchanged


class BulkRecords:
    """Creates and updates records by their imported key; the same line again changes nothing."""

    def __init__(self, registry: Registry, index: DocumentIndex, clock: Clock, audit: Audit) -> None:
        self.registry = registry
        self.index = index
        self.clock = clock
        self.audit = audit

    def load(self, unit: Unit, actor: Actor, name: str, lines: Sequence[Given], seen: set[int]) -> Outcome:
        """Write some hundred ``lines`` in the caller's unit. A line that is refused leaves the others alone.

        ``seen`` is kept by the caller over all batches of one source: a key that comes twice is refused the second
        time, since the first line would be lost silently. Raises :class:`Forbidden` unless the actor may insert and
        update.
        """
        entity = self.registry.get(name)
        for ability in (entity.permission("insert"), entity.permission("update")):
            if not actor.may(ability):
                raise Forbidden("access.forbidden", permission=ability)
        if entity.key_field is None or not entity.editable:
            raise Forbidden("record.read_only", entity=name)
        outcome = Outcome()
        cleaned = self._clean(entity, actor, lines, seen, outcome)
        store.one_importer(unit.session, entity)
        present = store.by_keys(unit.session, entity, [str(clean.fields[entity.key_field]) for _, clean in cleaned])
        self._refuse_taken(unit, entity, cleaned, present, outcome)
        written = [self._write(entity, line, clean, present, outcome) for line, clean in cleaned]
        rows = [row for row in written if row is not None]
        self._flush(unit, actor, entity, rows)
        return outcome

    def _clean(
        self, entity: Entity, actor: Actor, lines: Sequence[Given], seen: set[int], outcome: Outcome
    ) -> list[tuple[int, Clean]]:
        rules = Rules(entity, writable={item.name for item in entity.fields}, cap=True)
        found: list[tuple[int, Clean]] = []
        for given in lines:
            try:
                clean = rules.clean(given.values, new=True, locale=actor.locale)
                key = clean.fields.get(str(entity.key_field))
                if not key:
                    raise Invalid("import.no_id")
                if hash(key) in seen:
                    raise Invalid("import.repeated_key")
            except Invalid as error:
                outcome.refused.append(Refusal(given.line, error))
                continue
            seen.add(hash(key))
            outcome.cut += bool(clean.cut)
            found.append((given.line, clean))
        return found

    def _refuse_taken(
        self, unit: Unit, entity: Entity, cleaned: list[tuple[int, Clean]], present: dict[str, Any], outcome: Outcome
    ) -> None:
        """A reference number that belongs to another record is not given twice."""
        name, key = entity.reference_field, str(entity.key_field)
        if name is None:
            return
        new = [item for item in cleaned if item[1].fields[key] not in present]
        asked = [item for item in new if item[1].fields.get(name) is not None]
        if asked:
            store.one_numberer(unit.session, entity.name)
        taken = store.taken(unit.session, entity, name, [clean.fields[name] for _, clean in asked])
        for item in asked:
            number = item[1].fields[name]
            if number in taken:
                cleaned.remove(item)
                error = Conflict("import.number_taken", reference=f"{entity.reference_prefix}{number}")
                outcome.refused.append(Refusal(item[0], error))
            taken.add(number)

    def _write(self, entity: Entity, line: int, clean: Clean, present: dict[str, Any], outcome: Outcome) -> Any | None:
        row = present.get(str(clean.fields[str(entity.key_field)]))
        now = self.clock.now()
        if row is None:
            row = entity.model(**{"revision": 1, "created_at": now, "updated_at": now, **clean.fields})
            write_texts(entity, row, clean)
            outcome.created += 1
            return row
        if row.deleted_at is not None:
            outcome.refused.append(Refusal(line, Conflict("import.deleted")))
            return None
        try:
            check_texts(entity, row, clean)
        except Invalid as error:
            outcome.refused.append(Refusal(line, error))
            return None
        if not write_fields(row, clean) | write_texts(entity, row, clean):
            outcome.unchanged += 1
            return None
        row.revision += 1
        row.updated_at = now
        outcome.updated += 1
        return row

    def _flush(self, unit: Unit, actor: Actor, entity: Entity, rows: list[Any]) -> None:
        """Write the rows and what follows from them; the audit says which records came from an import, not what of."""
        new = [row for row in rows if row.id is None]
        known = {row.id for row in rows if row.id is not None}
        entity.complete(unit, new)
        unit.session.add_all(new)
        unit.session.flush()
        now = self.clock.now()
        self.index.put_many(unit, entity.name, {row.id: entity.documents(row, now) for row in rows})
        for row in rows:
            action = "update" if row.id in known else "insert"
            self.audit.write(unit, actor, action, entity.name, row.id, revision=row.revision)
