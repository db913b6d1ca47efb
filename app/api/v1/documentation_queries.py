"""Erasing what is kept of questions to the documentation. Nothing here reads them."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask.typing import ResponseReturnValue
from pydantic import BaseModel, ConfigDict, Field

from app.core.errors import NotFound
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.transactions import in_unit

blueprint = APIBlueprint("documentation_queries_api", __name__, url_prefix="/api/v1/documentation/queries")

LONGEST = 2_000


class Erase(BaseModel):
    """Whose questions, or which question; with both, the person's of exactly this text."""

    model_config = ConfigDict(extra="forbid", strict=True)

    user_id: int | None = Field(default=None, ge=1, le=2**63 - 1)
    question: str | None = Field(default=None, max_length=LONGEST)


@blueprint.post("/erase")
@blueprint.input(Erase, location="json", arg_name="wished")
@in_unit
def erase(wished: Erase, *, unit: Unit) -> ResponseReturnValue:
    """Delete kept questions, under the present secret and those before it. Needs `users.update`.

    The person need not exist any more. `erased` says how many there were; a repeat finds none.
    """
    answering = container().answering
    if answering is None or answering.questions is None:
        raise NotFound("documentation.not_installed")
    return {"erased": answering.questions.erase(unit, actor(), wished.user_id, wished.question)}
