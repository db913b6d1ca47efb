"""What pages, API and command line show of the switch: plain JSON with settled names. Instants are ISO 8601, UTC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from app.core.messages import sentence
from app.embeddings.models import Serving, Switch
from app.embeddings.preview import Preview
from app.embeddings.profiles import Profile, Profiles
from app.embeddings.spaces import Space
from app.embeddings.status import SwitchStatus

Translate = Callable[[str], str] | None
JSON = dict[str, Any]


def instant(value: datetime | None) -> str | None:
    """An instant as text, or None."""
    return None if value is None else value.isoformat()


def rounded(value: float | None, digits: int | None = None) -> float | None:
    """A figure with no more digits than are known."""
    return None if value is None else round(value, digits)


def reason(switch: Switch, translate: Translate = None) -> str | None:
    """Why a switch failed, as a sentence."""
    return sentence(switch.error_code, switch.error_values or {}, translate) if switch.error_code else None


class SwitchViews:
    """Makes JSON of what the switch says."""

    def __init__(self, profiles: Profiles) -> None:
        self.known = profiles

    def status(self, status: SwitchStatus, translate: Translate = None) -> JSON:
        """The switch that is running or has failed, or idle (names settled in the README)."""
        switch = status.switch
        shown: JSON = {
            "status": status.status,
            "interrupted": status.interrupted,
            "phase": status.phase,
            "phases": [{"phase": phase, "state": state} for phase, state in status.phases],
            "done": status.done,
            "total": status.total,
            "passages": status.passages,
            "rate": rounded(status.rate, 2),
            "eta_seconds": rounded(status.eta_seconds),
            "rounds": status.rounds,
            "mode": None,
            "from": None,
            "to": None,
            "reason": None,
            "entities": [vars(part) for part in status.entities],
        }
        if switch is None:
            return shown
        return {
            **shown,
            "id": switch.id,
            "kind": switch.kind,
            "mode": switch.mode,
            "from": switch.from_key,
            "to": switch.to_key,
            "reason": reason(switch, translate),
            "reason_code": switch.error_code,
            "started_at": instant(switch.started_at),
            "started_by": switch.started_by,
            "seconds_without_progress": rounded(status.since_progress),
            "lag": status.lag,
            "build": None if status.build is None else {"done": status.build[0], "total": status.build[1]},
            "waiting": [vars(wait) for wait in status.waiting],
            "failures": [
                {
                    "id": failure.id,
                    "entity": failure.entity,
                    "record_id": failure.record_id,
                    "locale": failure.locale,
                    "reason": failure.reason,
                    "attempts": failure.attempts,
                    "resolution": failure.resolution,
                    "note": failure.note,
                }
                for failure in status.failures
            ],
        }

    def history(self, switch: Switch, translate: Translate = None) -> JSON:
        """One switch: who, when, from, to, outcome, estimate against actual."""
        return {
            "id": switch.id,
            "kind": switch.kind,
            "status": switch.status,
            "phase": switch.phase,
            "mode": switch.mode,
            "from": switch.from_key,
            "to": switch.to_key,
            "started_by": switch.started_by,
            "started_at": instant(switch.started_at),
            "finished_at": instant(switch.finished_at),
            "reason": reason(switch, translate),
            "estimate": switch.estimate,
            "actuals": switch.actuals,
        }

    def dry_run(self, switch: Switch, left: int, translate: Translate = None) -> JSON:
        """What an ended dry run came to, estimate beside actual. ``left``: rows and indexes not yet removed."""
        actuals, estimate = switch.actuals, switch.estimate
        written, indexes = actuals.get("written", {}), actuals.get("indexes", [])
        phases = actuals.get("phases", {})
        kept = int(actuals.get("before", {}).get("rows", 0))
        rows, row_bytes = written.get("rows", 0), written.get("row_bytes", 0)
        index_bytes = sum(index["bytes"] for index in indexes)
        outcome = "finished" if switch.status == "finished" else "failed" if switch.error_code else "stopped"
        return {
            "id": switch.id,
            "outcome": outcome,
            "reason": reason(switch, translate),
            "to": switch.to_key,
            "activated": False,
            "documents": sum(actuals.get("total", {}).values()),
            "already_done": sum(actuals.get("already", {}).values()),
            "embedded": written.get("documents"),
            "passages": rows,
            "calls": written.get("calls"),
            "characters": written.get("characters"),
            "tokens": None,
            "undecided": actuals.get("undecided"),
            "seconds": actuals.get("seconds"),
            "phases": phases,
            "rate": rounded(rows / phases["embeddings"], 1) if rows and phases.get("embeddings") else None,
            "estimated": {name: estimate.get(name) for name in ("documents", "passages", "rate", "seconds")},
            "indexes": indexes,
            "verified": outcome == "finished",
            "bytes_written": row_bytes + index_bytes,
            "bytes_removed": index_bytes + (0 if kept else row_bytes) if not left else 0,
            "rows_kept": kept,
            "left": left,
        }

    def preview(self, preview: Preview, mode: str) -> JSON:
        """The figures of a confirmation."""
        current = preview.current
        return {
            "started": False,
            "mode": mode,
            "from": None if current is None else self.space(current),
            "to": self.profile(preview.target),
            "epoch": preview.serving_epoch,
            "change": preview.change,
            "documents": preview.documents,
            "already_done": preview.already_done,
            "to_embed": preview.to_embed,
            "passages": preview.passages,
            "set_aside": preview.set_aside,
            "blank": preview.blank,
            "rate": rounded(preview.rate, 1),
            "seconds": None if preview.seconds is None else [round(value) for value in preview.seconds],
            "bytes_free": preview.bytes_free,
            "costs": [vars(cost) for cost in preview.costs],
            "retain_days": preview.retain_days,
            "probe_problem": None if preview.probe is None else preview.probe.code,
            "entities": preview.entities,
        }

    def space(self, space: Space) -> JSON:
        """A vector space by its stored declaration."""
        return {**self.profile(space.profile), "space": space.id, "server_identity": space.server_identity}

    def profile(self, profile: Profile) -> JSON:
        """A declared embedding model."""
        return {
            "key": profile.key,
            "label": profile.label,
            "description": profile.description,
            "provider": profile.provider,
            "model": profile.model,
            "dimensions": profile.dimensions,
            "similarity": profile.similarity,
            "normalize": profile.normalize,
            "window": profile.window,
            "server": profile.server,
        }

    def profiles(self, serving: tuple[Serving, Space] | None, retained: Sequence[JSON]) -> list[JSON]:
        """Every declared model: whether it is configured, whether it serves, what is kept of it."""
        kept = {row["key"]: row for row in retained}
        return [
            {
                **self.profile(profile),
                "configured": self.known.configured(profile.key),
                "serving": serving is not None and serving[0].model_key == profile.key,
                "retained": kept.get(profile.key),
            }
            for profile in self.known
        ]
