"""Search as JSON: ``GET /api/v1/search?q=&entity=&locale=&mode=&cost=&matching=&page=&size=&facets=&explain=``.

``GET /api/v1/search/why?entity=&id=&q=`` says why a record is (not) found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from apiflask import APIBlueprint
from flask import request, url_for
from flask.typing import ResponseReturnValue

from app.core.errors import Invalid
from app.edge.context import actor, container
from app.edge.limits import costly

if TYPE_CHECKING:
    from app.search.answer import SearchHit, SearchResponse

blueprint = APIBlueprint("search_api", __name__, url_prefix="/api/v1")

LOOKED = ("q", "entity", "locale", "mode", "cost", "matching")
SEVERAL = ("entity", "only")
"""May be repeated."""
ASKED = (*LOOKED, "retries", "page", "size", "facets", "explain")


@blueprint.get("/search")
@costly
def search() -> ResponseReturnValue:
    """One page of hits, and in ``meta`` what was counted and how the answer came about.

    ``entity`` may be repeated or hold several names with commas; ``only`` narrows by a declared field
    (``sao.tickets.status:open``) and may be repeated. ``meta.total`` counts what the words match in the
    caller's scope, at least so many where ``meta.total_relation`` is ``gte``; the vector leg adds nothing to it.
    """
    service = container().search
    found = service.search(
        actor(), service.request(entities=_several("entity"), only=_several("only"), **_asked(ASKED))
    )
    return {"data": [_hit(hit) for hit in found.hits], "meta": _meta(found)}


@blueprint.get("/search/why")
@costly
def why() -> ResponseReturnValue:
    """What becomes of one record (``entity`` and ``id``) in a search, and which step of it lost the record.

    ``among`` are the kinds of records that the search looks in, with commas. 404 for a record that is not there or that
    the caller may not see.
    """
    service = container().search
    asked = _asked((*LOOKED, "id", "among"))
    entity, record_id = request.args.get("entity", ""), _id(asked.pop("id"))
    wanted = service.request(entities=(asked.pop("among") or "",), only=_several("only"), **asked)
    return {"data": service.why(actor(), wanted, entity, record_id).as_json()}


def _id(text: str | None) -> int:
    if not text:
        raise Invalid("input.invalid", fields=[Invalid("input.required", path="id")])
    if not (text.isascii() and text.isdigit() and len(text) < 19 and int(text)):
        raise Invalid("input.invalid", fields=[Invalid("input.type", path="id", expected="1, 2, 3 …")])
    return int(text)


def _meta(found: SearchResponse) -> dict[str, object]:
    meta: dict[str, object] = {
        "total": found.total,
        "total_relation": found.total_relation,
        "page": found.page,
        "pages": found.pages,
        "size": found.size,
        "did_you_mean": found.did_you_mean,
        "relaxations": [{"change": one.change, "total": one.total} for one in found.relaxations],
        "search": found.meta.as_json(),
    }
    if found.facets:
        meta["facets"] = [
            {
                "name": one.name,
                "entity": one.entity,
                "values": [{"value": value, "count": count} for value, count in one.values],
            }
            for one in found.facets
        ]
    if found.explain is not None:
        meta["explain"] = found.explain
    return meta


def _asked(names: Sequence[str]) -> dict[str, str | None]:
    """The single values; an unknown or repeated one is refused, so that no filter is lost silently."""
    problems = []
    for name, values in request.args.lists():
        if name not in names and name not in SEVERAL:
            problems.append(Invalid("input.unknown_field", path=name[:100], field=name[:100]))
        elif len(values) > 1 and name not in SEVERAL:
            problems.append(Invalid("input.repeated", path=name, field=name))
    if problems:
        raise Invalid("input.invalid", fields=problems)
    return {name: request.args.get(name) for name in names if name not in SEVERAL}


def _several(name: str) -> Sequence[str]:
    return request.args.getlist(name)


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
        **({"explain": hit.explain} if hit.explain is not None else {}),
    }


def address(hit: SearchHit) -> str:
    """The page of a hit: the rendered page for documentation, the record's page for the rest."""
    module, _, name = hit.entity.partition(".")
    if module == "documentation" and hit.source is not None:
        return url_for("documentation.page", corpus=name, source=hit.source, locale=hit.locale)
    return url_for("records.detail", name=hit.entity, record_id=hit.id)
