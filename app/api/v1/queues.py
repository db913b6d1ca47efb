"""The queues as JSON: what works in the background, what waits, what failed."""

from __future__ import annotations

from typing import Literal

from apiflask import APIBlueprint
from flask.typing import ResponseReturnValue
from pydantic import BaseModel, ConfigDict, Field

from app.core.access.actor import require
from app.core.processes import views
from app.core.processes.health import READ
from app.edge.context import actor, container

blueprint = APIBlueprint("queues_api", __name__, url_prefix="/api/v1/queues")


class FailedJob(BaseModel):
    """A failed job of the list, and what to do with it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    queue: str = Field(max_length=100)
    job: str = Field(max_length=200)
    action: Literal["send", "forget"]


@blueprint.get("")
def index() -> ResponseReturnValue:
    """Each queue with its workers and what they hold, the scheduler, lags, failed jobs."""
    require(actor(), READ)
    return views.overview(container().health.overview())


@blueprint.post("/failures")
@blueprint.input(FailedJob, location="json", arg_name="wish")
def failure(wish: FailedJob) -> ResponseReturnValue:
    """Send a failed job again, or forget it."""
    health = container().health
    act = health.send_again if wish.action == "send" else health.forget
    act(actor(), wish.queue, wish.job)
    return {"queue": wish.queue, "job": wish.job, "done": wish.action}
