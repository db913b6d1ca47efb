"""Records of any entity as JSON, under the verbs that scripts of the seed know (`core.md`, API)."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response, jsonify, request, url_for
from flask.typing import ResponseReturnValue

from app.api.v1.record_requests import (
    answer,
    asked,
    asked_locale,
    body,
    captured_answer,
    in_language,
    precondition,
    stated_revision,
)
from app.core.crud.serialise import Record, to_json
from app.core.crud.service import Captured
from app.core.errors import Invalid
from app.core.idempotency.service import Resource
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.idempotency import Made, idempotent
from app.edge.transactions import in_unit

blueprint = APIBlueprint("records_api", __name__, url_prefix="/api/v1")


@blueprint.get("/select/<module>/<name>")
@in_unit
def select(module: str, name: str, *, unit: Unit) -> ResponseReturnValue:
    """One page of records.

    ``filter`` is a JSON object: equalities (``{"status": "draft"}``), a condition (``{"property", "operator",
    "value"}``) or a group (``{"operator": "and" | "or", "filters": [...]}``). ``sort`` names up to three fields, with
    ``-`` for descending. ``fields`` chooses fields. ``cursor`` continues the list that gave it. ``total`` is exact
    up to 10,000 (``total_relation`` eq), a least beyond (gte), and null on pages that a cursor continues.
    """
    found = container().records.page(unit, actor(), f"{module}.{name}", asked())
    response = jsonify(
        {
            "items": [to_json(record) for record in found.records],
            "total": found.total,
            "total_relation": found.total_relation,
            "page": found.page,
            "size": found.size,
            "sort": found.sort,
            "next_cursor": found.next_cursor,
        }
    )
    return in_language(response, [record.locale for record in found.records])


@blueprint.get("/detail/<module>/<name>/<int:record_id>")
@in_unit
def detail(module: str, name: str, record_id: int, *, unit: Unit) -> ResponseReturnValue:
    """One record with all of its locales; 304 when ``If-None-Match`` names its revision."""
    chosen = asked_locale(asked(("locale",)))
    return answer(container().records.get(unit, actor(), f"{module}.{name}", record_id, chosen)).make_conditional(
        request
    )


def _inserted(unit: Unit, made: Resource) -> ResponseReturnValue:
    """The answer to a request that was sent once more."""
    if "modification" in made:
        found = container().approvals.get(unit, actor(), int(made["modification"] or 0))
        return captured_answer(Captured(found.subject, found.record_id, found))
    return _created(container().records.get(unit, actor(), str(made["entity"]), int(made["id"] or 0)))


def _created(record: Record) -> Response:
    module, _, name = record.entity.partition(".")
    response = answer(record, 201)
    response.headers["Location"] = url_for("records_api.detail", module=module, name=name, record_id=record.id)
    return response


@blueprint.post("/insert/<module>/<name>")
@in_unit
@idempotent(_inserted)
def insert(module: str, name: str, *, unit: Unit) -> Made:
    """Make a record; 201 with its address. 202 when the change waits for votes."""
    result = container().records.create(unit, actor(), f"{module}.{name}", body())
    if isinstance(result, Captured):
        return Made(captured_answer(result), {"modification": result.modification.id})
    return Made(_created(result), {"entity": result.entity, "id": result.id})


@blueprint.patch("/update/<module>/<name>/<int:record_id>")
@in_unit
def update(module: str, name: str, record_id: int, *, unit: Unit) -> ResponseReturnValue:
    """Change the fields that are named.

    The revision that was edited is needed (428): 409 when the record has moved on since the body's ``revision``, 412
    since ``If-Match``; both say how the record is now and which of the sent values differ.
    """
    values = body()
    condition = precondition(values.pop("revision", None))
    entity = f"{module}.{name}"
    return answer(
        condition.hold(lambda revision: container().records.update(unit, actor(), entity, record_id, values, revision))
    )


@blueprint.delete("/delete/<module>/<name>/<int:record_id>")
@in_unit
def delete(module: str, name: str, record_id: int, *, unit: Unit) -> ResponseReturnValue:
    """Hide the record; it can be restored. With ``force=true`` remove it for good.

    The revision is needed, as ``revision`` of the query or by ``If-Match``.
    """
    given = asked(("force", "revision"))
    condition = precondition(stated_revision())
    records, entity = container().records, f"{module}.{name}"
    remove = records.force_delete if _forced(given.get("force")) else records.delete
    return answer(condition.hold(lambda revision: remove(unit, actor(), entity, record_id, revision)))


@blueprint.post("/restore/<module>/<name>/<int:record_id>")
@in_unit
def restore(module: str, name: str, record_id: int, *, unit: Unit) -> ResponseReturnValue:
    """Bring a deleted record back. The revision is needed, as for deleting."""
    asked(("revision",))
    condition = precondition(stated_revision())
    records, entity = container().records, f"{module}.{name}"
    return answer(condition.hold(lambda revision: records.restore(unit, actor(), entity, record_id, revision)))


def _forced(raw: object) -> bool:
    text = str(raw or "false").lower()
    if text not in ("true", "false", "1", "0"):
        refused = Invalid("input.choice", path="force", value=text[:20], allowed="true, false")
        raise Invalid("input.invalid", fields=[refused])
    return text in ("true", "1")
