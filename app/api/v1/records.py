"""Records of any entity as JSON, under the verbs that scripts of the seed know (`core.md`, API).

The entity tag of a record is its revision. A change names the revision it was made on, in the body or by ``If-Match``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from apiflask import APIBlueprint
from flask import Response, jsonify, request, url_for
from flask.typing import ResponseReturnValue

from app.core.crud.serialise import Record, etag, to_json
from app.core.errors import Invalid
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.transactions import in_unit

blueprint = APIBlueprint("records_api", __name__, url_prefix="/api/v1")

ASKED = ("q", "filter", "sort", "page", "size", "cursor", "deleted")
_TAG = re.compile(r'(?:W/)?"([0-9]{1,18})"')
Body = dict[str, object]


@blueprint.get("/select/<module>/<name>")
@in_unit
def select(module: str, name: str, *, unit: Unit) -> ResponseReturnValue:
    """One page: ``q``, ``filter`` (a JSON object of equalities), ``sort``, ``page`` or ``cursor``, ``size``."""
    found = container().records.page(unit, actor(), f"{module}.{name}", _asked())
    return {
        "items": [to_json(record) for record in found.records],
        "total": found.total,
        "page": found.page,
        "size": found.size,
        "sort": found.sort,
        "next_cursor": found.next_cursor,
    }


@blueprint.get("/detail/<module>/<name>/<int:record_id>")
@in_unit
def detail(module: str, name: str, record_id: int, *, unit: Unit) -> ResponseReturnValue:
    """One record with all of its locales."""
    return _answer(container().records.get(unit, actor(), f"{module}.{name}", record_id))


@blueprint.post("/insert/<module>/<name>")
@in_unit
def insert(module: str, name: str, *, unit: Unit) -> ResponseReturnValue:
    """Make a record; 201 with its address."""
    record = container().records.create(unit, actor(), f"{module}.{name}", _body())
    response = _answer(record, 201)
    response.headers["Location"] = url_for(".detail", module=module, name=name, record_id=record.id)
    return response


@blueprint.patch("/update/<module>/<name>/<int:record_id>")
@in_unit
def update(module: str, name: str, record_id: int, *, unit: Unit) -> ResponseReturnValue:
    """Change the fields that are named; 409 when the record has moved on since ``revision``."""
    values = _body()
    revision = _revision(values)
    return _answer(container().records.update(unit, actor(), f"{module}.{name}", record_id, values, revision))


@blueprint.delete("/delete/<module>/<name>/<int:record_id>")
@in_unit
def delete(module: str, name: str, record_id: int, *, unit: Unit) -> ResponseReturnValue:
    """Hide the record; it can be restored. ``If-Match`` is heeded when it is sent."""
    return _answer(container().records.delete(unit, actor(), f"{module}.{name}", record_id, _revision({})))


@blueprint.post("/restore/<module>/<name>/<int:record_id>")
@in_unit
def restore(module: str, name: str, record_id: int, *, unit: Unit) -> ResponseReturnValue:
    """Bring a deleted record back."""
    return _answer(container().records.restore(unit, actor(), f"{module}.{name}", record_id))


def _answer(record: Record, status: int = 200) -> Response:
    response = jsonify(to_json(record))
    response.status_code = status
    response.headers["ETag"] = etag(record)
    return response


def _asked() -> Mapping[str, object]:
    """The query's values; one that is unknown or given twice is refused, so that no filter is lost silently."""
    problems = []
    for name, values in request.args.lists():
        if name not in ASKED:
            problems.append(Invalid("input.unknown_field", path=name[:100], field=name[:100]))
        elif len(values) > 1:
            problems.append(Invalid("input.repeated", path=name, field=name))
    if problems:
        raise Invalid("input.invalid", fields=problems)
    asked: dict[str, object] = dict(request.args.items())
    if asked.get("filter"):
        asked["filter"] = _json_object(str(asked["filter"]))
    return asked


def _json_object(text: str) -> Body:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Invalid("input.invalid", fields=[Invalid("input.json", path="filter")])
    return value


def _body() -> Body:
    try:
        value = request.get_json()
    except RecursionError:
        raise Invalid("input.json") from None
    if not isinstance(value, dict):
        raise Invalid("input.json")
    return value


def _revision(values: Body) -> int | None:
    """The revision of the body (which is taken out), else of ``If-Match``."""
    stated = values.pop("revision", None)
    if stated is not None:
        if isinstance(stated, bool) or not isinstance(stated, int):
            raise Invalid("input.invalid", fields=[Invalid("input.type", path="revision", expected="integer")])
        return stated
    header = request.headers.get("If-Match")
    if header is None:
        return None
    found = _TAG.fullmatch(header.strip())
    if found is None:
        raise Invalid("input.invalid", fields=[Invalid("input.type", path="If-Match", expected='"3"')])
    return int(found[1])
