"""What works in the background: each queue with its workers, what they hold, what waits and what failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _
from flask_babel import ngettext

from app.core.access.actor import require
from app.core.errors import Invalid
from app.core.messages import N_, sentence
from app.core.processes.health import MANAGE, READ, Overview, ProcessState, QueueState
from app.core.processes.models import JobFailure
from app.core.processes.store import Lease
from app.core.queue import DEFAULT, EMBEDDINGS, INDEX, SWITCH
from app.edge.context import actor, container
from app.web.ai_words import entity_label, phase_label
from app.web.filters import number

blueprint = Blueprint("queues", __name__)

JSON = dict[str, object]

PURPOSES = {
    EMBEDDINGS: N_("Embeds chunks of texts for a switch."),
    SWITCH: N_("Takes a switch from step to step."),
    INDEX: N_("Builds and checks vector indexes."),
    DEFAULT: N_("Embeds records that were just written, and cleans up."),
}
CONSUMERS = {"serving": N_("The serving model"), "target": N_("The model being switched to")}
JOBS: Mapping[str, str] = {
    "jobs.embeddings.embed_chunk": N_("Embed a chunk of texts for a switch"),
    "jobs.embeddings.apply_target": N_("Bring changes to the model being switched to"),
    "jobs.embeddings_switch.advance": N_("Take the next step of a switch"),
    "jobs.embeddings_index.index_chunk": N_("Build or check an index for a switch"),
    "jobs.embeddings_index.build_missing": N_("Build missing indexes"),
    "jobs.embeddings_index.rebuild": N_("Rebuild indexes after a repair"),
    "jobs.index_events.apply_serving": N_("Bring changes to the serving model"),
    "jobs.upkeep.set_up": N_("Set up the first model"),
    "jobs.upkeep.check_server": N_("Compare the model's server with its fixed text"),
    "jobs.upkeep.tidy": N_("Clear away what nobody reads"),
    "jobs.upkeep.refresh_validity": N_("Show and hide contents by their dates"),
}
MOVING_SECONDS = 2
IDLE_SECONDS = 4
"""Also when nothing moves, so that a worker that has stopped is seen within 15 seconds: 10 of silence, then this."""


@blueprint.get("/queues")
def index() -> ResponseReturnValue:
    """The queues now."""
    return render_template("queues/index.html", **_shown())


@blueprint.get("/queues/body")
def body() -> ResponseReturnValue:
    """The part of the page that changes, for polling."""
    return render_template("queues/_body.html", **_shown())


@blueprint.post("/queues/failures")
def failure() -> ResponseReturnValue:
    """Send a failed job again, or forget it."""
    health, action = container().health, request.form.get("action", "")
    queue, job = request.form.get("queue", "")[:100], request.form.get("job", "")[:200]
    if action == "send":
        health.send_again(actor(), queue, job)
        flash(_("Sent again: %(job)s. It comes back to the list if it fails once more.", job=_job(job)), "success")
    elif action == "forget":
        health.forget(actor(), queue, job)
        flash(_("Forgotten: %(job)s.", job=_job(job)), "success")
    else:
        raise Invalid("input.choice", path="action", value=action[:20], allowed="send, forget")
    return redirect(url_for("queues.index"), 303)


def _shown() -> JSON:
    require(actor(), READ)
    found = container().health.overview()
    moving = any(queue.waiting or queue.running for queue in found.queues) or any(lag.waiting for lag in found.lags)
    return {
        "problems": _problems(found),
        "queues": [_queue(queue) for queue in found.queues],
        "workers": [_worker(state, found) for queue in found.queues for state in queue.workers],
        "failures": [_failure(failure) for queue in found.queues for failure in queue.failures],
        "can_manage": actor().may(MANAGE),
        "schedulers": [_worker(state, found) for state in found.schedulers],
        "loose": [_lease(lease, found.now) for lease in found.loose],
        "events": [
            {
                "consumer_label": _(CONSUMERS.get(lag.consumer, lag.consumer)),
                "waiting": lag.waiting,
                "oldest_at": lag.oldest_at,
            }
            for lag in found.lags
        ],
        "poll_seconds": MOVING_SECONDS if moving else IDLE_SECONDS,
    }


def _problems(found: Overview) -> list[str]:
    """What is wrong, each as a sentence that says what it means for people."""
    said = []
    if not found.answers:
        said.append(_("The queue server does not answer. Jobs wait in the database and are sent when it is back."))
    if "scheduler" in found.problems:
        said.append(_("The scheduler is not running: work that is overdue is not woken until it is started again."))
    for queue in found.queues:
        if queue.alive < queue.expected:
            said.append(_lacking(queue))
    return said


def _lacking(queue: QueueState) -> str:
    if queue.alive:
        return str(
            _(
                "%(n)s of %(m)s workers of the queue %(queue)s are alive: its work goes on, more slowly.",
                n=number(queue.alive),
                m=number(queue.expected),
                queue=queue.name,
            )
        )
    return str(_("No worker of the queue %(queue)s is alive: its work waits until one is started.", queue=queue.name))


def _queue(queue: QueueState) -> JSON:
    failing = [failure for failure in queue.failures if failure.worked_at is None]
    return {
        "name": queue.name,
        "purpose": _(PURPOSES[queue.name]),
        "workers": queue.alive,
        "workers_expected": queue.expected,
        "waiting": queue.waiting,
        "running": queue.running,
        "last_seen_at": max((worker.process.seen_at for worker in queue.workers), default=None),
        "failing": _failure(failing[0]) if failing else None,
    }


def _worker(state: ProcessState, found: Overview) -> JSON:
    process = state.process
    return {
        "queue": process.queue,
        "pid": process.pid,
        "host": process.host,
        "alive": state.alive,
        "started_at": process.started_at,
        "seen_at": process.seen_at,
        "job": _job(process.job) if process.job and state.alive else None,
        "job_since": process.job_since if state.alive else None,
        "holds": [_lease(lease, found.now) for lease in state.leases],
        "last_error": process.last_error,
    }


def _lease(lease: Lease, now: datetime) -> JSON:
    """What is held, in words, and for how many seconds more unless its holder renews it."""
    if lease.kind == "events":
        words = _("changes for %(consumer)s", consumer=_(CONSUMERS.get(lease.phase, lease.phase)))
    elif lease.kind == "step":
        words = _("the step %(phase)s of switch %(id)s", phase=phase_label(lease.phase), id=lease.switch_id)
    else:
        words = _(
            "switch %(id)s, %(phase)s: a chunk of %(entity)s",
            id=lease.switch_id,
            phase=phase_label(lease.phase),
            entity=entity_label(lease.entity or ""),
        )
        if lease.documents:
            words += ", " + _(
                "%(done)s of %(total)s documents", done=number(lease.done or 0), total=number(lease.documents)
            )
    return {"words": words, "seconds": max(0, round((lease.until - now).total_seconds())), "until": lease.until}


def _failure(failure: JobFailure) -> JSON:
    """One failed job. Its error is a class or a code; a sentence that needs values it does not have is left out."""
    known = sentence(failure.code, {}, _) if failure.code else None
    return {
        "queue": failure.queue,
        "job": failure.job,
        "label": _job(failure.job),
        "ids": _ids(failure.ids),
        "error": failure.code or failure.error,
        "sentence": known if known and known != failure.code and "%(" not in known else None,
        "times": ngettext("%(count)s time", "%(count)s times", failure.times, count=number(failure.times)),
        "first_at": failure.first_at,
        "last_at": failure.last_at,
        "worked_at": failure.worked_at,
    }


def _ids(ids: Mapping[str, object]) -> Sequence[str]:
    return [f"{name} {value}" for name, value in sorted(ids.items()) if name != "slot"]


def _job(name: str) -> str:
    """What a job does, in words; a job that is not known is shown by its name."""
    return str(_(JOBS[name])) if name in JOBS else name
