"""``GET /api/v1/search/health``: what each search engine holds beside what there is to find."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask.typing import ResponseReturnValue

from app.edge.context import actor, container
from app.edge.limits import costly

blueprint = APIBlueprint("search_health_api", __name__, url_prefix="/api/v1/search")


@blueprint.get("/health")
@costly
def index() -> ResponseReturnValue:
    """Every engine that has an address: documents, generations, lag, dimensions, sizes and what is wrong."""
    return container().engine_report.as_json(actor())
