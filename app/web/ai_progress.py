"""What the pages of a switch show while it is open: phases, counts, what it waits for, and what each button will do."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from flask import url_for
from flask_babel import gettext as _
from flask_babel import ngettext

from app.core.contracts.actor import Actor
from app.core.errors import Conflict
from app.edge.errors import say
from app.web.ai_words import (
    JSON,
    OUTCOMES,
    PERMISSION,
    PHASES,
    entity_label,
    failure_place,
    failure_reason,
    mode_label,
    model,
    name_of,
    percent,
    phase_label,
    undecided,
    why_stopped,
)
from app.web.filters import duration, number

if TYPE_CHECKING:
    from app.embeddings.models import Switch, SwitchFailure
    from app.embeddings.parts import EmbeddingParts
    from app.embeddings.status import EntityProgress, SwitchStatus, Waiting

ROUNDS = 3
ETA_SHARE = 0.25
"""How far the time left may be off: what is left need not be as long as what is done."""


# --- the banner and the progress page ------------------------------------------------------------------------------


def index_banner(ai: EmbeddingParts, status: SwitchStatus) -> JSON | None:
    """The open switch as the page of the models tells of it; None when there is none."""
    switch = status.switch
    if switch is None:
        return None
    return {
        "status": status.status,
        "interrupted": status.interrupted,
        "phase_label": phase_label(status.phase),
        "from_model": model(ai, switch.from_key),
        "to_model": model(ai, switch.to_key),
        "is_dry_run": switch.kind == "dry_run",
        "done": status.done,
        "total": status.total,
        "percent": percent(status),
        "href": url_for("ai.progress"),
    }


def progress_page(ai: EmbeddingParts, who: Actor) -> JSON | None:
    """Context ``switch`` of `ai/_progress.html`: the open switch, else the one that ended last, else None."""
    status = ai.switching.status()
    if status.switch is not None:
        return {**_common(ai, status.switch, status.status), **_open(ai, status, status.switch, who)}
    latest = ai.switching.history(1)
    return _ended(ai, latest[0]) if latest else None


def _common(ai: EmbeddingParts, switch: Switch, status: str) -> JSON:
    return {
        "id": switch.id,
        "status": OUTCOMES.get(status, status),
        "is_return": switch.kind == "return",
        "is_dry_run": switch.kind == "dry_run",
        "mode_label": mode_label(switch),
        "from_model": model(ai, switch.from_key),
        "to_model": model(ai, switch.to_key),
        "started_at": switch.started_at,
        "started_by": switch.started_by,
        "phase": switch.phase,
        "phase_label": phase_label(switch.phase),
        "round": switch.rounds,
        "rounds_max": ROUNDS,
        "summary_href": url_for("ai.summary", switch_id=switch.id),
    }


def _open(ai: EmbeddingParts, status: SwitchStatus, switch: Switch, who: Actor) -> JSON:
    eta = status.eta_seconds
    serving = ai.switching.serving()
    off = serving is not None and serving[0].suspended_reason is not None
    rows = undecided(status)
    may = who.may(PERMISSION)
    return {
        "interrupted": status.interrupted,
        "poll": status.status == "running",
        "last_progress_at": status.now - timedelta(seconds=status.since_progress) if status.now else None,
        "phases": _phases(status, switch),
        "done": status.done,
        "total": status.total,
        "percent": percent(status),
        "passages_done": status.passages,
        "passages_total": switch.estimate.get("passages"),
        "rate": status.rate,
        "passage_rate": _passage_rate(status, switch),
        "eta_seconds": eta,
        "eta_low": None if eta is None else eta * (1 - ETA_SHARE),
        "eta_high": None if eta is None else eta * (1 + ETA_SHARE),
        "off_now": _("The meaning search is off until the switch has ended. Search goes on by words.") if off else None,
        "waiting": [*(_waiting(ai, wait, status.now) for wait in status.waiting), *_lag(status)],
        "reason": why_stopped(status),
        "entities": [_entity(part, status.failures) for part in status.entities],
        "failures": {"total": len(rows), "rows": [_failure(failure) for failure in rows]},
        "can_decide": may and status.status == "failed",
        "resume": _resume(status, switch) if may else None,
        "abandon": _abandon(ai, switch) if may else None,
        "abandon_refused": _abandon_refused(switch) if may else None,
    }


def _ended(ai: EmbeddingParts, switch: Switch) -> JSON:
    total = sum(switch.actuals.get("total", {}).values())
    done = total if switch.status in ("activated", "finished") else 0
    return {
        **_common(ai, switch, switch.status),
        "interrupted": False,
        "poll": False,
        "phases": _ended_phases(switch),
        "done": done,
        "total": total,
        "percent": 100 if done else 0,
        "off_now": None,
        "waiting": [],
        "entities": [],
        "failures": {"total": 0, "rows": []},
    }


def _ended_phases(switch: Switch) -> list[JSON]:
    place = list(PHASES).index(switch.phase)
    ended = switch.status == "activated"
    here = "waiting" if switch.status == "finished" else "failed"  # a dry run ends where the activation would come
    return [
        _phase(key, "done" if ended or number < place else here if number == place else "waiting", switch)
        for number, key in enumerate(PHASES)
    ]


def _phases(status: SwitchStatus, switch: Switch) -> list[JSON]:
    shown = [_phase(key, state, switch) for key, state in status.phases]
    for phase in shown:
        if phase["state"] == "current" and phase["key"] == "indexes" and status.entities:
            built = sum(part.index == "built" for part in status.entities)
            phase["detail"] = _("%(n)s of %(m)s built", n=number(built), m=number(len(status.entities)))
    return shown


def _phase(key: str, state: str, switch: Switch) -> JSON:
    took = switch.actuals.get("phases", {}).get(key) if state == "done" else None
    return {"key": key, "label": phase_label(key), "state": state, "detail": None if took is None else duration(took)}


def _passage_rate(status: SwitchStatus, switch: Switch) -> float | None:
    if status.rate is None or status.now is None:
        return None
    seconds = (status.now - switch.phase_at).total_seconds()
    return status.passages / seconds if seconds > 1 else None


def _waiting(ai: EmbeddingParts, wait: Waiting, now: datetime | None) -> JSON:
    said = {
        "server": lambda: _("Waiting for the server of %(model)s", model=name_of(ai, wait.detail)),
        "engine": lambda: _("Waiting for Elasticsearch"),
        "transactions": lambda: _("Waiting for an older transaction to end (process %(pid)s)", pid=wait.detail),
        "horizon": lambda: _(
            "An old transaction (process %(pid)s) holds back the list of changes; they are applied all the same",
            pid=wait.detail,
        ),
        "worker": lambda: _("Waiting for a worker: none listens to the queue %(queue)s", queue=wait.detail),
    }.get(wait.kind, lambda: wait.detail)()
    return {"sentence": said, "since": now - timedelta(seconds=wait.seconds) if now and wait.seconds else None}


def _lag(status: SwitchStatus) -> list[JSON]:
    """Changes made meanwhile that the new model's vectors still lack; they matter once everything else is done."""
    if not status.lag or status.phase not in ("verify", "activate"):
        return []
    words = ngettext(
        "%(count)s change made meanwhile is still to be brought in",
        "%(count)s changes made meanwhile are still to be brought in",
        status.lag,
        count=number(status.lag),
    )
    return [{"sentence": words, "since": None}]


def _entity(part: EntityProgress, failures: Sequence[SwitchFailure]) -> JSON:
    aside = sum(failure.entity == part.entity and failure.resolution == "set_aside" for failure in failures)
    return {
        "key": part.entity,
        "label": entity_label(part.entity),
        "done": part.done,
        "total": part.total,
        "passages": part.passages,
        "set_aside": aside,
    }


def _failure(failure: SwitchFailure) -> JSON:
    return {
        **failure_place(failure),
        "id": failure.id,
        "reason": failure_reason(failure),
        "attempts": failure.attempts,
        "last_at": failure.last_at,
    }


# --- what each button will do --------------------------------------------------------------------------------------


def _resume(status: SwitchStatus, switch: Switch) -> JSON | None:
    if switch.to_space_id is None or not (status.status == "failed" or status.interrupted):
        return None
    if switch.phase in ("preflight", "embeddings"):
        words = _("Goes on in the phase %(phase)s. What is done stays done.", phase=phase_label(switch.phase))
    else:
        words = _("Looks once more for documents that changed meanwhile, then builds and checks the indexes again.")
    waiting = len(undecided(status))
    if waiting:
        more = ngettext(
            "%(num)s document still needs a decision: decide first, or the switch stops again.",
            "%(num)s documents still need a decision: decide first, or the switch stops again.",
            waiting,
        )
        words = f"{words} {more}"
    return {"sentence": words}


def _abandon(ai: EmbeddingParts, switch: Switch) -> JSON | None:
    if switch.kind == "return":
        return None
    if switch.to_space_id is None:
        return {"sentence": _("Clears the refused start away. It changed nothing.")}
    names = {"former": name_of(ai, switch.from_key), "target": name_of(ai, switch.to_key)}
    if switch.kind == "dry_run":
        return {"sentence": _("Ends the dry run and removes what it made. %(former)s serves as before.", **names)}
    if switch.mode == "side_by_side":
        words = _("%(former)s goes on serving as it does now.", **names)
    elif _leads_back(switch):
        words = _(
            "The indexes of %(former)s made room already, so they are rebuilt from its vectors first. The meaning "
            "search comes back when they stand; that way back can't be stopped.",
            **names,
        )
    else:
        words = _("%(former)s serves again at once, and the meaning search is back on.", **names)
    return {"sentence": f"{words} {_kept(switch, names['target'])}"}


def _kept(switch: Switch, target: str) -> str:
    if not switch.retain_days:
        return str(_("The vectors made for %(target)s are deleted.", target=target))
    return str(
        ngettext(
            "The vectors made for %(target)s are kept for %(num)s day, so that a second try starts from them.",
            "The vectors made for %(target)s are kept for %(num)s days, so that a second try starts from them.",
            switch.retain_days,
            target=target,
        )
    )


def _leads_back(switch: Switch) -> bool:
    """Whether the serving model's indexes are gone: in place from `indexes` on, also when a resume went back from it.

    A phase that was left has its seconds in ``actuals``; `embeddings` is left towards `indexes` only.
    """
    return switch.phase in ("indexes", "verify", "activate") or "embeddings" in switch.actuals.get("phases", {})


def _abandon_refused(switch: Switch) -> str | None:
    if switch.kind != "return":
        return None
    return say(Conflict("switch.return_cannot_stop", target=switch.to_key))
