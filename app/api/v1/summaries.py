"""What a list's records come to in groups, and the list as CSV."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask import Response, request
from flask.typing import ResponseReturnValue

from app.api.v1.record_requests import asked
from app.core.errors import Invalid
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.limits import costly
from app.edge.transactions import in_unit, origin

blueprint = APIBlueprint("summaries_api", __name__, url_prefix="/api/v1")

SUMMARIZED = ("q", "filter", "deleted", "group_by", "metrics")
EXPORTED = ("q", "filter", "sort", "deleted", "fields", "locale", "bom")


@blueprint.get("/summarize/<module>/<name>")
@costly
@in_unit
def summarize(module: str, name: str, *, unit: Unit) -> ResponseReturnValue:
    """Records counted in groups, the largest first.

    ``group_by`` names up to two fields, ``metrics`` figures such as ``sum(number),max(created_at)``; ``filter``, ``q``
    and ``deleted`` are those of a list. At most 1,000 groups: ``meta.truncated`` says that smaller ones are left out.
    """
    found = container().summaries.summarize(unit, actor(), f"{module}.{name}", asked(SUMMARIZED))
    return {
        "groups": [
            {"group": dict(bucket.group), "count": bucket.count, "metrics": dict(bucket.metrics)}
            for bucket in found.buckets
        ],
        "meta": {
            "total_records": found.total,
            "aggregated_records": found.aggregated,
            "truncated": found.truncated,
        },
    }


@blueprint.get("/export/<module>/<name>")
@costly
def export(module: str, name: str) -> ResponseReturnValue:
    """The whole filtered list as CSV, written while it is read.

    The parameters are those of a list, without pages. ``bom=true`` begins with a byte order mark, as some
    spreadsheets need it. A text that begins as a formula would gets an apostrophe in front.
    """
    given = asked(EXPORTED)
    bom = _flag(given.pop("bom", None))
    lines = container().exports.csv(actor(), f"{module}.{name}", given, origin(), bom=bom)
    if request.method == "HEAD":
        lines.close()
    response = Response(lines, content_type="text/csv; charset=utf-8; header=present")
    response.headers["Content-Disposition"] = f'attachment; filename="{module}.{name}.csv"'
    response.headers["Content-Language"] = str(given["locale"])
    return response


def _flag(raw: object) -> bool:
    text = str(raw or "false").lower()
    if text not in ("true", "false", "1", "0"):
        refused = Invalid("input.choice", path="bom", value=text[:20], allowed="true, false")
        raise Invalid("input.invalid", fields=[refused])
    return text in ("true", "1")
