"""Vector health as JSON: what is wrong with each space, its repairs, and a comparison with the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from apiflask import APIBlueprint
from flask.typing import ResponseReturnValue
from pydantic import BaseModel, ConfigDict, Field

from app.edge.context import actor, embedding_parts

if TYPE_CHECKING:
    pass

blueprint = APIBlueprint("vector_health_api", __name__, url_prefix="/api/v1/vector-health")

SAMPLE = 20
LARGEST_SAMPLE = 200
"""Of one request: more would keep the model server, and whoever waits for it, too long."""
PATIENCE_SECONDS = 3.0
LONGEST_PATIENCE = 60.0


class Listed(BaseModel):
    """How long counting may take, in seconds."""

    model_config = ConfigDict(extra="forbid")

    patience: float = Field(default=PATIENCE_SECONDS, ge=0, le=LONGEST_PATIENCE)


class Repair(BaseModel):
    """What to repair in a space."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal[
        "missing",
        "failed",
        "orphaned",
        "surplus",
        "wrong_length",
        "not_finite",
        "norm_off",
        "index",
        "probe",
        "differing",
    ]


class Sample(BaseModel):
    """How many stored vectors to compare with fresh ones."""

    model_config = ConfigDict(extra="forbid", strict=True)

    size: int = Field(default=SAMPLE, ge=1, le=LARGEST_SAMPLE)


@blueprint.get("")
@blueprint.input(Listed, location="query", arg_name="listed")
def index(listed: Listed) -> ResponseReturnValue:
    """Every space. ``patience`` (seconds, 60 at most) is how long counting may take; no model server is asked."""
    ai = embedding_parts()
    return ai.health_views.report(ai.health.report(listed.patience))


@blueprint.post("/<int:space>/repair")
@blueprint.input(Repair, location="json", arg_name="wish")
def repair(space: int, wish: Repair) -> ResponseReturnValue:
    """Do one repair; what it did, in documents, passages or indexes."""
    ai = embedding_parts()
    return ai.health_views.repaired(ai.health.repair(actor(), space, wish.kind))


@blueprint.post("/<int:space>/sample")
@blueprint.input(Sample, location="json", arg_name="wish")
def sample(space: int, wish: Sample) -> ResponseReturnValue:
    """Compare stored vectors with fresh ones of the same texts."""
    ai = embedding_parts()
    return ai.health_views.sampled(ai.health.sample(actor(), space, wish.size))
