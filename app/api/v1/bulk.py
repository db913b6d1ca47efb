"""One change of many records: previewed first, then done exactly as previewed, all of it or none (`core/crud/many.py`).

Bodies: a preview has ``operation`` (update, delete or restore), ``values`` for an update, and either ``ids`` or
``filter`` and ``q``; doing it has the preview's ``token`` with the same ``operation`` and ``values``.
"""

from __future__ import annotations

from collections.abc import Collection

from apiflask import APIBlueprint
from flask import jsonify, request
from flask.typing import ResponseReturnValue

from app.api.v1.record_requests import Body, body, captured_json
from app.core.crud.many import Changed
from app.core.crud.serialise import to_json
from app.core.crud.service import Captured
from app.core.errors import Invalid
from app.core.idempotency.service import Resource
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.idempotency import Made, idempotent
from app.edge.transactions import in_unit

blueprint = APIBlueprint("bulk_api", __name__, url_prefix="/api/v1")


@blueprint.post("/bulk/<module>/<name>/preview")
@in_unit
def preview(module: str, name: str, *, unit: Unit) -> ResponseReturnValue:
    """How many records a change is about (at most 200), the first ten of them, and the token to do it within ten
    minutes. Changes nothing."""
    found = container().many.preview(
        unit, actor(), f"{module}.{name}", _only(("operation", "values", "ids", "filter", "q"))
    )
    return {
        "count": found.count,
        "records": [to_json(record) for record in found.records],
        "missing": list(found.missing),
        "token": found.token,
        "expires_at": found.expires_at.isoformat(),
    }


def _repeated(unit: Unit, made: Resource) -> ResponseReturnValue:
    """The outcome of a change that was sent once more, for someone who may still see these records."""
    container().records.entity(actor(), made["entity"])
    waiting = [container().approvals.get(unit, actor(), number) for number in made["modifications"]]
    captured = [captured_json(Captured(found.subject, found.record_id, found)) for found in waiting]
    return {**made["answer"], "modifications": captured}


@blueprint.post("/bulk/<module>/<name>")
@in_unit
@idempotent(_repeated)
def change(module: str, name: str, *, unit: Unit) -> Made:
    """Do what was previewed. 409 names every record that has changed since, and then nothing was written; 202 when
    the changes wait for votes."""
    done = container().many.run(unit, actor(), f"{module}.{name}", _only(("operation", "values", "token")))
    response = jsonify(_changed(done))
    response.status_code = 202 if done.captured else 200
    waiting = [one.modification.id for one in done.captured]
    answer = {key: value for key, value in _changed(done).items() if key != "modifications"}
    return Made(response, {"entity": f"{module}.{name}", "answer": answer, "modifications": waiting})


def _changed(done: Changed) -> dict[str, object]:
    return {
        "operation": done.operation,
        "count": len(done.records),
        "records": [{"id": record.id, "revision": record.revision} for record in done.records],
        "unchanged": list(done.unchanged),
        "modifications": [captured_json(one) for one in done.captured],
    }


def _only(known: Collection[str]) -> Body:
    """The body; a name that is not ``known`` is refused, and so is any of the query."""
    values = body()
    problems = [
        Invalid("input.unknown_field", path=name[:100], field=name[:100])
        for name in (*values, *request.args)
        if name not in values or name not in known
    ]
    if problems:
        raise Invalid("input.invalid", fields=problems)
    return values
