"""What API and command line show of the queues: plain JSON with settled names. Instants are ISO 8601, UTC."""

from __future__ import annotations

from typing import Any

from app.core.processes.health import Overview, ProcessState, QueueState
from app.core.processes.models import JobFailure
from app.core.processes.store import Lease

JSON = dict[str, Any]


def overview(shown: Overview) -> JSON:
    """Everything that works in the background; ``problems`` is empty when all is well."""
    return {
        "now": shown.now.isoformat(),
        "queue_server": "ok" if shown.answers else "away",
        "problems": shown.problems,
        "queues": [_queue(queue) for queue in shown.queues],
        "schedulers": [_process(one) for one in shown.schedulers],
        "events": [
            {
                "consumer": lag.consumer,
                "waiting": lag.waiting,
                "oldest_at": lag.oldest_at.isoformat() if lag.oldest_at else None,
            }
            for lag in shown.lags
        ],
        "leases_of_the_dead": [_lease(lease) for lease in shown.loose],
    }


def _queue(queue: QueueState) -> JSON:
    return {
        "name": queue.name,
        "workers_alive": queue.alive,
        "workers_expected": queue.expected,
        "waiting": queue.waiting,
        "running": queue.running,
        "workers": [_process(worker) for worker in queue.workers],
        "failed_jobs": [_failure(failure) for failure in queue.failures],
    }


def _process(state: ProcessState) -> JSON:
    process = state.process
    return {
        "name": process.name,
        "pid": process.pid,
        "host": process.host,
        "alive": state.alive,
        "started_at": process.started_at.isoformat(),
        "seen_at": process.seen_at.isoformat(),
        "job": process.job,
        "job_ids": process.job_ids,
        "job_since": process.job_since.isoformat() if process.job_since else None,
        "last_error": process.last_error,
        "leases": [_lease(lease) for lease in state.leases],
    }


def _lease(lease: Lease) -> JSON:
    return {
        "kind": lease.kind,
        "holder": lease.holder,
        "until": lease.until.isoformat(),
        "switch": lease.switch_id,
        "phase": lease.phase,
        "entity": lease.entity,
        "done": lease.done,
        "documents": lease.documents,
    }


def _failure(failure: JobFailure) -> JSON:
    return {
        "job": failure.job,
        "ids": failure.ids,
        "error": failure.error,
        "code": failure.code,
        "times": failure.times,
        "first_at": failure.first_at.isoformat(),
        "last_at": failure.last_at.isoformat(),
        "worked_at": failure.worked_at.isoformat() if failure.worked_at else None,
    }
