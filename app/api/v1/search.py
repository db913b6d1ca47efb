"""Search as JSON: ``GET /api/v1/search?q=&entity=&locale=&mode=&cost=&page=&size=``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiflask import APIBlueprint
from flask import request, url_for
from flask.typing import ResponseReturnValue

from app.core.errors import Invalid
from app.edge.context import actor, container
from app.edge.limits import costly

if TYPE_CHECKING:
    from app.search.answer import SearchHit

blueprint = APIBlueprint("search_api", __name__, url_prefix="/api/v1")

ASKED = ("q", "entity", "locale", "mode", "cost", "page", "size")


@blueprint.get("/search")
@costly
def search() -> ResponseReturnValue:
    """One page of hits, and in ``meta`` what was counted and how the answer came about.

    ``entity`` may be repeated or hold several names with commas. ``meta.total`` counts what the words match in the
    caller's scope, at least so many where ``meta.total_relation`` is ``gte``; the vector leg adds nothing to it.
    """
    service = container().search
    found = service.search(actor(), service.request(entities=request.args.getlist("entity"), **_asked()))
    return {
        "data": [_hit(hit) for hit in found.hits],
        "meta": {
            "total": found.total,
            "total_relation": found.total_relation,
            "page": found.page,
            "pages": found.pages,
            "size": found.size,
            "search": found.meta.as_json(),
        },
    }


def _asked() -> dict[str, str | None]:
    """The single values; an unknown or repeated one is refused, so that no filter is lost silently."""
    problems = []
    for name, values in request.args.lists():
        if name not in ASKED:
            problems.append(Invalid("input.unknown_field", path=name[:100], field=name[:100]))
        elif len(values) > 1 and name != "entity":
            problems.append(Invalid("input.repeated", path=name, field=name))
    if problems:
        raise Invalid("input.invalid", fields=problems)
    return {name: request.args.get(name) for name in ASKED if name != "entity"}


def _hit(hit: SearchHit) -> dict[str, object]:
    legs: dict[str, object] = {"words_rank": hit.words_rank, "vector_rank": hit.vector_rank}
    if hit.similarity is not None:
        legs["similarity"] = hit.similarity
    return {
        "entity": hit.entity,
        "id": hit.id,
        "key": hit.key,
        "title": hit.title,
        "locale": hit.locale,
        "snippet": [{"text": text, "marked": marked} for text, marked in hit.snippet],
        "score": hit.score,
        "legs": legs,
        "url": address(hit),
    }


def address(hit: SearchHit) -> str:
    """The page of a hit: the rendered page for documentation, the record's page for the rest."""
    module, _, name = hit.entity.partition(".")
    if module == "documentation" and hit.source is not None:
        return url_for("documentation.page", corpus=name, source=hit.source, locale=hit.locale)
    return url_for("records.detail", name=hit.entity, record_id=hit.id)
