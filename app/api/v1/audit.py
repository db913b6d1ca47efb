"""The audit as JSON and as CSV: who did what to which record, from where."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

from apiflask import APIBlueprint
from flask import Response, stream_with_context
from flask.typing import ResponseReturnValue

from app.api.v1.approvals import single_values
from app.core.audit.ask import AuditAsk, read_ask
from app.core.audit.log import Entry
from app.core.contracts.actor import Actor
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.limits import costly
from app.edge.transactions import in_unit

blueprint = APIBlueprint("audit_api", __name__, url_prefix="/api/v1/audit")

COLUMNS = (
    "id",
    "at",
    "actor",
    "impersonator",
    "channel",
    "address",
    "request_id",
    "token_id",
    "action",
    "entity",
    "record_id",
    "revision",
    "changes",
)
FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet would run: such a cell gets an apostrophe in front (CWE-1236)."""


@blueprint.get("")
@in_unit
def index(*, unit: Unit) -> ResponseReturnValue:
    """Entries, newest first.

    Filters: ``person`` (a user name), ``action``, ``entity``, ``record``, ``channel``, ``from`` and ``to`` (days of
    UTC, both included, or instants); ``cursor`` continues.
    """
    found = container().audit_log.page(unit, actor(), read_ask(single_values()))
    return {"items": [as_json(entry) for entry in found.entries], "next_cursor": found.next_cursor}


@blueprint.get("/export")
@costly
def export_csv() -> Response:
    """All entries that the same filters name, in the same order, as CSV (UTF-8)."""
    ask = read_ask(single_values())
    who = actor()
    container().audit_log.permit(who)
    response = Response(stream_with_context(_lines(who, ask)), mimetype="text/csv")
    response.headers["Content-Disposition"] = 'attachment; filename="audit.csv"'
    return response


def _lines(who: Actor, ask: AuditAsk) -> Iterator[str]:
    """One snapshot, read in portions; its unit is open until the last line is sent."""
    with container().units("REPEATABLE READ") as unit:
        yield _line(COLUMNS)
        for entry in container().audit_log.every(unit, who, ask):
            values = {**vars(entry), "at": entry.at.isoformat()}
            values["changes"] = json.dumps(dict(entry.changes), ensure_ascii=False)
            yield _line([_cell(values[name]) for name in COLUMNS])


def _line(cells: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue()


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(FORMULAS) else text


def as_json(entry: Entry) -> dict[str, Any]:
    """An entry as its reader may see it; a change of None is of a field whose values are not shown."""
    return {
        "id": entry.id,
        "at": entry.at.isoformat(),
        "actor": {"id": entry.actor_id, "login": entry.actor},
        "impersonator": entry.impersonator,
        "channel": entry.channel,
        "address": entry.address,
        "request_id": entry.request_id,
        "token_id": entry.token_id,
        "action": entry.action,
        "entity": entry.entity,
        "record_id": entry.record_id,
        "revision": entry.revision,
        "changes": dict(entry.changes),
    }
