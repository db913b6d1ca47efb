"""Captured writes of records, applied: each goes through `Records` once more, with the author's rights of now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from app.core.approvals import store
from app.core.approvals.diff import values_of
from app.core.approvals.models import Modification
from app.core.approvals.planning import Planned
from app.core.approvals.ports import Applied, Plan
from app.core.contracts.actor import Actor
from app.core.crud.serialise import Record
from app.core.crud.service import Records
from app.core.errors import Conflict
from app.core.unit import Unit


class RecordApplier:
    """The applier (`approvals/ports.py`) of the kind ``record``.

    ``planner`` is a second :class:`Records` whose approvals are a :class:`Planning`: it checks and writes nothing.
    """

    def __init__(self, records: Records, planner: Records) -> None:
        self.records = records
        self.planner = planner

    def apply(self, unit: Unit, author: Actor, modification: Modification) -> Applied:
        record = self._write(unit, replace(author, needs_approval=False), modification)
        return Applied(record.id, record.revision) if isinstance(record, Record) else Applied(modification.record_id)

    def plan(self, unit: Unit, author: Actor, modification: Modification, values: Mapping[str, object]) -> Plan:
        writer = replace(author, needs_approval=True)
        try:
            if modification.operation == "insert":
                self.planner.create(unit, writer, modification.subject, values)
            else:
                revision = self._revision(unit, modification)
                self.planner.update(unit, writer, modification.subject, _id(modification), values, revision)
        except Planned as planned:
            return planned.plan
        return Plan(modification.base_revision, {})

    def current(self, unit: Unit, modification: Modification, *, lock: bool = False) -> Mapping[str, object] | None:
        entity = self.records.registry.get(modification.subject)
        found = store.record(unit.session, entity, _id(modification), lock=lock)
        return None if found is None else found[1]

    def _write(self, unit: Unit, author: Actor, modification: Modification) -> object:
        name, operation, values = modification.subject, modification.operation, values_of(modification.diff)
        if operation == "insert":
            return self.records.create(unit, author, name, values)
        record_id = _id(modification)
        if operation == "update":
            revision = self._revision(unit, modification)
            return self.records.update(unit, author, name, record_id, values, revision)
        if operation == "delete":
            return self.records.delete(unit, author, name, record_id)
        if operation == "restore":
            return self.records.restore(unit, author, name, record_id)
        return self.records.force_delete(unit, author, name, record_id)

    def _revision(self, unit: Unit, modification: Modification) -> int:
        """The revision of now: that no captured field has changed was asked with the record locked."""
        entity = self.records.registry.get(modification.subject)
        found = store.record(unit.session, entity, _id(modification), lock=True)
        if found is None:
            raise Conflict("approval.record_gone")
        return found[0]


def _id(modification: Modification) -> int:
    return int(modification.record_id or 0)
