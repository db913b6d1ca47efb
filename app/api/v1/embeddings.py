"""Embedding models and the switch as JSON (names settled in the README)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from apiflask import APIBlueprint
from flask.typing import ResponseReturnValue
from flask_babel import gettext
from pydantic import BaseModel, ConfigDict, Field

from app.core.idempotency.service import Resource
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.idempotency import Remember, idempotent_apart

if TYPE_CHECKING:
    from app.embeddings.parts import EmbeddingParts

models = APIBlueprint("embedding_models_api", __name__, url_prefix="/api/v1/embedding-models")
switches = APIBlueprint("embedding_switches_api", __name__, url_prefix="/api/v1/embedding-switches")


class Start(BaseModel):
    """A wish to switch. Without ``confirm`` it is a question: the preview is answered and nothing starts.

    ``epoch`` is the preview's; when the serving model has changed since, the start is refused. ``dry_run`` takes every
    step but the activation and undoes them; it needs ``confirm`` as well, for it does all of the work.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    target: str = Field(max_length=300)
    mode: Literal["side_by_side", "in_place"] = "side_by_side"
    confirm: bool = False
    epoch: int | None = None
    dry_run: bool = False


class Listed(BaseModel):
    """How many to list."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(default=50, ge=1, le=200)


class Decision(BaseModel):
    """What to do with documents that could not be embedded; without ``ids`` it holds for all undecided ones."""

    model_config = ConfigDict(extra="forbid", strict=True)

    resolution: Literal["retry", "set_aside"]
    ids: list[int] | None = None
    note: str | None = Field(default=None, max_length=500)


@models.get("")
def index() -> ResponseReturnValue:
    """Every declared model: configured or not, serving or not, kept rows; and how much is covered."""
    ai = container().embedding_parts()
    ai.switching.permit_reading(actor())
    serving = ai.switching.serving()
    done, total = ai.switching.coverage()
    return {
        "items": ai.views.profiles(serving, ai.switching.retained()),
        "serving": None
        if serving is None
        else {
            **ai.views.space(serving[1]),
            "suspended_reason": serving[0].suspended_reason,
            "since": serving[0].since.isoformat(),
            "epoch": serving[0].epoch,
            "documents_done": done,
            "documents": total,
        },
    }


def _started(unit: Unit, made: Resource) -> ResponseReturnValue:
    """The answer to a start that was sent once more: how the switch is now."""
    ai = container().embedding_parts()
    ai.switching.permit_reading(actor())
    return {"started": True, **_status(ai)}, 202


@switches.post("")
@switches.input(Start, location="json", arg_name="wish")
@idempotent_apart(_started)
def start(wish: Start, remember: Remember) -> ResponseReturnValue:
    """Start a switch (202), or show what it would cost (200)."""
    ai = container().embedding_parts()
    if not wish.confirm:
        return ai.views.preview(ai.switching.preview(actor(), wish.target), wish.mode)
    ai.switching.start(actor(), wish.target, wish.mode, wish.epoch, dry_run=wish.dry_run, within=_keeper(remember))
    return {"started": True, **_status(ai)}, 202


@switches.get("/current")
def current() -> ResponseReturnValue:
    """The switch that is running or has failed, or idle."""
    ai = container().embedding_parts()
    ai.switching.permit_reading(actor())
    return _status(ai)


@switches.get("/history")
@switches.input(Listed, location="query", arg_name="listed")
def history(listed: Listed) -> ResponseReturnValue:
    """Switches, the latest first. ``limit`` (1–200) is how many."""
    ai = container().embedding_parts()
    ai.switching.permit_reading(actor())
    return {"items": [ai.views.history(switch, gettext) for switch in ai.switching.history(listed.limit)]}


@switches.post("/current/resume")
def resume() -> ResponseReturnValue:
    """Continue a switch that failed or stands still."""
    ai = container().embedding_parts()
    ai.switching.resume(actor())
    return _status(ai), 202


@switches.post("/current/abandon")
def abandon() -> ResponseReturnValue:
    """Give up the open switch."""
    ai = container().embedding_parts()
    ai.switching.abandon(actor())
    return _status(ai), 202


@switches.post("/current/failures")
@switches.input(Decision, location="json", arg_name="decision")
def decide(decision: Decision) -> ResponseReturnValue:
    """Retry documents that could not be embedded, or set them aside with a reason."""
    ai = container().embedding_parts()
    count = ai.switching.decide(actor(), decision.ids, decision.resolution, decision.note)
    return {"decided": count, **_status(ai)}


def _keeper(remember: Remember) -> Callable[[Unit, int], None]:
    return lambda unit, switch_id: remember(unit, {"switch": switch_id})


def _status(ai: EmbeddingParts) -> dict[str, Any]:
    return ai.views.status(ai.switching.status(), gettext)
