"""``GET /api/v1/search/suggestions?q=&entity=&locale=&limit=``: the question with its last word completed."""

from __future__ import annotations

from typing import Literal

from apiflask import APIBlueprint
from flask.typing import ResponseReturnValue
from pydantic import BaseModel, ConfigDict, Field

from app.edge.context import actor, container

blueprint = APIBlueprint("search_suggestions_api", __name__, url_prefix="/api/v1/search")


class Typed(BaseModel):
    """What was typed so far, and where it will be looked for. ``entity`` holds names with commas."""

    model_config = ConfigDict(extra="forbid")

    q: str
    entity: str = Field(default="", max_length=500)
    locale: Literal["", "en", "it"] = ""
    limit: int = Field(default=8, ge=1, le=20)


@blueprint.get("/suggestions")
@blueprint.input(Typed, location="query", arg_name="typed")
def suggestions(typed: Typed) -> ResponseReturnValue:
    """Words of texts that the caller may see, those of most texts first."""
    entities = [name for name in typed.entity.split(",") if name]
    found = container().suggestions.questions(actor(), typed.q, entities, typed.locale or None, typed.limit)
    return {"data": [{"word": one.word, "q": one.q} for one in found]}
