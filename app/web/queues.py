"""What works in the background: each queue with its workers and the jobs that wait."""

from __future__ import annotations

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _

from app.core.access.actor import require
from app.core.messages import N_
from app.core.processes.health import QueueState
from app.core.queue import DEFAULT, EMBEDDINGS, INDEX, SWITCH
from app.edge.context import actor, container

blueprint = Blueprint("queues", __name__)

PURPOSES = {
    EMBEDDINGS: N_("Embeds chunks of texts for a switch."),
    SWITCH: N_("Takes a switch from step to step."),
    INDEX: N_("Builds and checks vector indexes."),
    DEFAULT: N_("Embeds records that were just written, and cleans up."),
}
CONSUMERS = {"serving": N_("The serving model"), "target": N_("The model being switched to")}
MOVING_SECONDS = 2
IDLE_SECONDS = 20


@blueprint.get("/queues")
def index() -> ResponseReturnValue:
    """The queues now."""
    return render_template("queues/index.html", **_state())


@blueprint.get("/queues/body")
def body() -> ResponseReturnValue:
    """The part of the page that changes, for polling."""
    return render_template("queues/_body.html", **_state())


def _state() -> dict[str, object]:
    require(actor(), "queues.select")
    health = container().health
    queues, scheduler, lags = health.queues(), health.scheduler(), health.lags()
    moving = any(queue.waiting or _running(queue) for queue in queues) or any(lag.waiting for lag in lags)
    return {
        "queues": [_queue(queue) for queue in queues],
        "schedule": {"alive": scheduler is not None, "last_tick_at": scheduler.seen_at if scheduler else None},
        "events": [
            {
                "consumer_label": _(CONSUMERS.get(lag.consumer, lag.consumer)),
                "waiting": lag.waiting,
                "oldest_at": lag.oldest_at,
            }
            for lag in lags
        ],
        "problem": None if container().queue.alive() else _("Jobs wait in the database and are sent when it is back."),
        "poll_seconds": MOVING_SECONDS if moving else IDLE_SECONDS,
    }


def _queue(queue: QueueState) -> dict[str, object]:
    return {
        "name": queue.name,
        "purpose": _(PURPOSES[queue.name]),
        "workers": len(queue.workers),
        "workers_expected": container().config.embeddings_workers if queue.name == EMBEDDINGS else 1,
        "waiting": queue.waiting,
        "running": _running(queue),
        "last_seen_at": max((worker.seen_at for worker in queue.workers), default=None),
    }


def _running(queue: QueueState) -> int:
    return sum(worker.job is not None for worker in queue.workers)
