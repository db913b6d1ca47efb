"""One change of many records: previewed, then done exactly as it was previewed, all of it or none.

The preview says how many records it is about, shows the first of them and signs their ids and revisions. Doing it
needs that token. A record that has changed since, or is no longer reached, is a conflict: all conflicts are reported
and nothing is written, since whoever confirmed looked at something else. Sending the same token again changes nothing
for the same reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from app.core.access.policy import readable, visible, writable
from app.core.contracts.actor import Actor
from app.core.crud import list_store, store
from app.core.crud.changing import Difference, planned
from app.core.crud.query import read_ask
from app.core.crud.serialise import Record
from app.core.crud.service import Captured, Records
from app.core.crud.tokens import Previewed, PreviewTokens, expiry, hash_of
from app.core.crud.validation import Clean, Rules
from app.core.errors import ChangeoverError, Conflict, Invalid
from app.core.registry import Ability, Entity
from app.core.unit import Unit

Operation = Literal["update", "delete", "restore"]
OPERATIONS: tuple[Operation, ...] = get_args(Operation)
CAP = 200
"""Records of one change at most (seed-facts 22.4)."""
SHOWN = 10
"""Records that a preview shows."""


@dataclass(frozen=True)
class Preview:
    """What a change would be about. ``missing`` are ids that were named and are not reached, or do not exist."""

    count: int
    records: tuple[Record, ...]
    missing: tuple[int, ...]
    token: str
    expires_at: datetime


@dataclass(frozen=True)
class Changed:
    """What was done: records as they are now, and changes that wait for votes. ``unchanged`` had the values already."""

    operation: str
    records: tuple[Record, ...] = ()
    captured: tuple[Captured, ...] = ()
    unchanged: tuple[int, ...] = ()


class ManyRecords:
    """Both methods run in the caller's unit; neither commits."""

    def __init__(self, records: Records, secret: str) -> None:
        self.records = records
        self.tokens = PreviewTokens(secret)

    def preview(self, unit: Unit, actor: Actor, name: str, raw: Mapping[str, object]) -> Preview:
        """What a change would be about; ``raw`` has ``operation``, ``values`` (of an update), and ``ids``, ``filter``
        or ``q``.

        Raises :class:`Invalid` for what an update could not write, for no restriction at all and for more than
        :data:`CAP` records.
        """
        operation = read_operation(raw.get("operation"))
        entity = self._allowed(actor, name, operation)
        values = read_values(operation, raw.get("values"))
        if operation == "update":
            self._clean(entity, actor, values)
        found, missing = self._found(unit, actor, entity, operation, raw)
        if len(found) > CAP:
            raise Invalid("input.invalid", fields=[Invalid("bulk.too_many", path="filter", limit=CAP)])
        ends = expiry(self.records.clock.now())
        signed = Previewed(actor.id, name, operation, hash_of(values), tuple(found), int(ends.timestamp()))
        first = [record_id for record_id, _ in found[:SHOWN]]
        return Preview(
            count=len(found),
            records=tuple(self.records.get(unit, actor, name, record_id) for record_id in first),
            missing=tuple(missing),
            token=self.tokens.write(signed),
            expires_at=ends,
        )

    def run(self, unit: Unit, actor: Actor, name: str, raw: Mapping[str, object]) -> Changed:
        """Do what was previewed; ``raw`` has ``token``, ``operation`` and the ``values`` of the preview.

        Raises :class:`Conflict` (``bulk.conflict``) whose details name every record that has moved on, and then
        nothing is written; :class:`Invalid` for a token of something else, :class:`Conflict` for one past its time.
        """
        operation = read_operation(raw.get("operation"))
        entity = self._allowed(actor, name, operation)
        values = read_values(operation, raw.get("values"))
        previewed = self._previewed(actor, name, operation, values, raw.get("token"))
        clean = self._clean(entity, actor, values) if operation == "update" else Clean()
        rows = self._held(unit, actor, entity, operation, dict(previewed.records))
        plans = {row.id: self._plan(entity, row, clean, operation) for row in rows}
        todo = [row for row in rows if plans[row.id] is not None]
        unchanged = tuple(row.id for row in rows if plans[row.id] is None)
        if self.records.captures(actor, entity):
            captured = tuple(
                self.records.capture(unit, actor, entity, operation, row.id, row.revision, plans[row.id] or {})
                for row in todo
            )
            return Changed(operation, captured=captured, unchanged=unchanged)
        self._write(unit, actor, entity, todo, clean, operation)
        for row in todo:
            self.records.note(unit, actor, entity, operation, row, plans[row.id] or {})
        shown = tuple(self.records.shown(entity, actor, row) for row in todo)
        return Changed(operation, records=shown, unchanged=unchanged)

    def _allowed(self, actor: Actor, name: str, operation: Operation) -> Entity:
        self.records.entity(actor, name)
        return self.records.allowed(actor, name, ability_for(operation))

    def _clean(self, entity: Entity, actor: Actor, values: Mapping[str, object]) -> Clean:
        rules = Rules(entity, writable=writable(entity, actor))
        try:
            return rules.clean(values, new=False, locale=actor.locale)
        except Invalid as refused:
            raise Invalid("input.invalid", fields=[_inside("values", one) for one in refused.fields]) from refused

    def _found(
        self, unit: Unit, actor: Actor, entity: Entity, operation: Operation, raw: Mapping[str, object]
    ) -> tuple[list[tuple[int, int]], list[int]]:
        """((id, revision) by id, ids that are not reached)."""
        rows = visible(entity, actor, ability_for(operation))
        restored = operation == "restore"
        wanted = read_ids(raw.get("ids"))
        if wanted:
            if raw.get("filter") or raw.get("q"):
                raise Invalid("input.invalid", fields=[Invalid("bulk.ids_or_filter", path="ids")])
            found = list_store.among(unit.session, entity, wanted, rows, restored)
            return found, sorted(set(wanted) - {record_id for record_id, _ in found})
        asked = {"filter": raw.get("filter"), "q": raw.get("q"), "deleted": restored}
        ask = read_ask(entity, asked, readable(entity, actor), actor.locale)
        if not ask.q and not _restricts(ask.filter):
            raise Invalid("input.invalid", fields=[Invalid("bulk.unrestricted", path="filter")])
        return list_store.ids(unit.session, entity, ask, rows, CAP + 1), []

    def _previewed(
        self, actor: Actor, name: str, operation: Operation, values: Mapping[str, object], token: object
    ) -> Previewed:
        previewed = self.tokens.read(token) if isinstance(token, str) else None
        asked = (actor.id, name, operation, hash_of(values))
        if previewed is None or asked != (
            previewed.actor_id, previewed.entity, previewed.operation, previewed.values_hash,
        ):  # fmt: skip
            raise Invalid("input.invalid", fields=[Invalid("bulk.other_preview", path="token")])
        if datetime.fromtimestamp(previewed.expires, UTC) <= self.records.clock.now():
            raise Conflict("bulk.expired")
        return previewed

    def _held(
        self, unit: Unit, actor: Actor, entity: Entity, operation: Operation, previewed: Mapping[int, int]
    ) -> list[Any]:
        """The previewed rows, locked, each as it was previewed; else the conflict that names those that are not."""
        rows = store.several(unit.session, entity, list(previewed), visible(entity, actor, ability_for(operation)))
        deleted = operation == "restore"
        reached = {row.id: row for row in rows if (row.deleted_at is not None) == deleted}
        conflicts: list[dict[str, object]] = []
        for record_id, revision in previewed.items():
            row = reached.get(record_id)
            if row is None:
                conflicts.append({"id": record_id, "reason": "record.not_found", "previewed": revision})
            elif row.revision != revision:
                conflicts.append(
                    {"id": record_id, "reason": "record.stale", "previewed": revision, "current": row.revision}
                )
        if conflicts:
            error = Conflict("bulk.conflict", count=len(conflicts))
            error.details = {"conflicts": conflicts}
            raise error
        return rows

    def _plan(self, entity: Entity, row: Any, clean: Clean, operation: Operation) -> Difference | None:
        """The changes of one record; None when it has the values already. A refusal names the record."""
        if operation != "update":
            return {}
        try:
            return planned(entity, row, clean) or None
        except Invalid as refused:
            fields = [_inside(f"records.{row.id}", problem) for problem in refused.fields]
            raise Invalid("input.invalid", fields=fields) from refused

    def _write(
        self, unit: Unit, actor: Actor, entity: Entity, rows: Sequence[Any], clean: Clean, operation: Operation
    ) -> None:
        if not rows:
            return
        with self.records.guarded(unit, actor, entity, ability_for(operation), list(rows)):
            for row in rows:
                self.records.put(entity, row, clean, operation)
            unit.session.flush()
        now = self.records.clock.now()
        self.records.index.put_many(unit, entity.name, {row.id: entity.documents(row, now) for row in rows})


def ability_for(operation: Operation) -> Ability:
    """Which ability a change of many needs, beside ``select``."""
    return "update" if operation == "update" else "delete"


def read_operation(raw: object) -> Operation:
    """One of :data:`OPERATIONS`; else :class:`Invalid`."""
    found = next((operation for operation in OPERATIONS if operation == raw), None)
    if found is None:
        refused = Invalid("input.choice", path="operation", value=str(raw or "")[:20], allowed=", ".join(OPERATIONS))
        raise Invalid("input.invalid", fields=[refused])
    return found


def read_values(operation: Operation, raw: object) -> Mapping[str, object]:
    """The values of an update, at least one; other operations have none."""
    if raw is None:
        raw = {}
    if not isinstance(raw, Mapping):
        raise Invalid("input.invalid", fields=[Invalid("input.type", path="values", expected="{field: value}")])
    if (operation == "update") != bool(raw):
        code = "input.required" if operation == "update" else "input.wrong"
        raise Invalid("input.invalid", fields=[Invalid(code, path="values")])
    return raw


def read_ids(raw: object) -> list[int]:
    """Ids of records, at most :data:`CAP`; none when nothing was given."""
    if raw is None:
        return []
    if not isinstance(raw, list) or not raw:
        raise Invalid("input.invalid", fields=[Invalid("input.type", path="ids", expected="[1, 2]")])
    problems = [
        Invalid("input.type", path=f"ids.{place}", expected="integer")
        for place, value in enumerate(raw[: CAP + 1])
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**63
    ]
    if len(raw) > CAP:
        problems.append(Invalid("bulk.too_many", path="ids", limit=CAP))
    if problems:
        raise Invalid("input.invalid", fields=problems)
    return sorted(set(raw))


def _inside(where: str, problem: ChangeoverError) -> Invalid:
    return Invalid(problem.code, path=f"{where}.{problem.path}", fields=(), **problem.values)


def _restricts(tree: object) -> bool:
    """Whether a filter holds one condition at least; empty groups do not count."""
    items = getattr(tree, "items", None)
    return tree is not None and (items is None or any(_restricts(item) for item in items))
