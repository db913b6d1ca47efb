"""Whether the process lives and whether the console can do its work. Both answer anybody and tell no secrets."""

from __future__ import annotations

from apiflask import APIBlueprint
from flask.typing import ResponseReturnValue

from app.edge.context import container, public

blueprint = APIBlueprint("health", __name__)


@blueprint.get("/healthz")
@public
def alive() -> ResponseReturnValue:
    """200 while the process answers; asks nothing else."""
    return {"status": "ok"}


@blueprint.get("/readyz")
@public
def ready() -> ResponseReturnValue:
    """200 when every part is there, else 503; the body holds each part's state either way."""
    parts = container().health.parts()
    is_ready = all(part.state == "ok" for part in parts.values())
    body = {
        "status": "ready" if is_ready else "not_ready",
        "parts": {
            name: {"state": part.state} | ({} if part.alive is None else {"alive": part.alive})
            for name, part in parts.items()
        },
    }
    return body, 200 if is_ready else 503
