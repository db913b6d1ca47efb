"""Switches that have ended: rows of the history, and the summary with the estimate against what it took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import url_for
from flask_babel import gettext as _
from flask_babel import ngettext

from app.core.contracts.actor import Actor
from app.core.messages import sentence
from app.edge.context import container
from app.web.ai_words import (
    JSON,
    OUTCOMES,
    PERMISSION,
    PHASES,
    declared,
    failure_place,
    failure_reason,
    instant,
    mode_label,
    model,
    name_of,
    phase_label,
)
from app.web.filters import duration, moment, number

if TYPE_CHECKING:
    from app.embeddings.models import Switch, SwitchFailure
    from app.embeddings.parts import EmbeddingParts

OPEN = ("running", "failed")
SMALL_SHARE = 0.02
"""A difference below this share of the estimate is none."""


def history_row(ai: EmbeddingParts, switch: Switch) -> JSON:
    """One row of `ai/_history_table.html`; an open switch leads to its progress."""
    ended = switch.status not in OPEN
    return {
        "href": url_for("ai.summary", switch_id=switch.id) if ended else url_for("ai.progress"),
        "from_name": name_of(ai, switch.from_key) if switch.from_key else "",
        "to_name": name_of(ai, switch.to_key),
        "status": OUTCOMES.get(switch.status, switch.status),
        "started_at": switch.started_at,
        "started_by": switch.started_by,
        "mode_label": mode_label(switch),
        "documents": switch.actuals.get("embedded", switch.estimate.get("documents")),
        "seconds": _seconds(switch),
        "estimate_seconds": _middle(switch),
        "set_aside": switch.actuals.get("set_aside", 0),
    }


def summary(ai: EmbeddingParts, switch: Switch, who: Actor) -> JSON:
    """Context ``summary`` of `ai/summary.html`, for a switch that has ended."""
    title, said = _outcome(ai, switch)
    return {
        "status": OUTCOMES.get(switch.status, switch.status),
        "outcome_title": title,
        "outcome_sentence": said,
        "from_model": model(ai, switch.from_key),
        "to_model": model(ai, switch.to_key),
        "mode_label": mode_label(switch),
        "started_at": switch.started_at,
        "started_by": switch.started_by,
        "finished_at": switch.finished_at,
        "rows": _rows(switch),
        "phases": _phases(switch),
        "excluded": [_excluded(failure) for failure in _set_aside(switch)],
        **_way_back(ai, switch, who),
        **_next(ai, switch, who),
        "rate": None,
    }


def _outcome(ai: EmbeddingParts, switch: Switch) -> tuple[str, str]:
    names = {"former": name_of(ai, switch.from_key), "target": name_of(ai, switch.to_key)}
    if switch.status == "activated" and switch.kind == "return":
        return _("Returned to %(target)s", **names), _("Its indexes stand again, and the meaning search is on.")
    if switch.status == "activated":
        return _("Switched to %(target)s", **names), _(
            "It became the serving model on %(date)s.", date=moment(switch.finished_at)
        )
    if switch.kind == "dry_run":
        return _dry_run_outcome(switch, names)
    if switch.status == "cleared":
        why = sentence(switch.error_code, switch.error_values or {}, _) if switch.error_code else ""
        unchanged = _("Nothing was changed.")
        return _("The start of the switch to %(target)s was refused", **names), f"{why} {unchanged}".strip()
    return (
        _("The switch to %(target)s was stopped", **names),
        _("It was stopped in the phase %(phase)s. The search goes on with %(former)s.", phase=_phase(switch), **names),
    )


def _dry_run_outcome(switch: Switch, names: dict[str, str]) -> tuple[str, str]:
    unchanged = _("Nothing was activated, and what it had made was removed.")
    if switch.status == "finished":
        return _("Dry run of the switch to %(target)s", **names), unchanged
    why = sentence(switch.error_code, switch.error_values or {}, _) if switch.error_code else ""
    return _("The dry run of the switch to %(target)s was stopped", **names), f"{why} {unchanged}".strip()


def _phase(switch: Switch) -> str:
    return phase_label(switch.phase)


def _seconds(switch: Switch) -> float | None:
    if switch.finished_at is None:
        return None
    return float(switch.actuals.get("seconds") or (switch.finished_at - switch.started_at).total_seconds())


def _middle(switch: Switch) -> float | None:
    span = switch.estimate.get("seconds")
    return sum(span) / len(span) if span else None


def _rows(switch: Switch) -> list[JSON]:
    span, took = switch.estimate.get("seconds"), _seconds(switch)
    expected = f"{duration(span[0])} {chr(0x2013)} {duration(span[1])}" if span else None
    rows: list[JSON] = [
        {
            "label": _("Time"),
            "estimate": expected,
            "actual": duration(took),
            "difference": _difference(_middle(switch), took),
        },
        _count(_("Documents embedded"), switch.estimate.get("documents"), switch.actuals.get("embedded")),
    ]
    if not switch.estimate.get("already_done"):
        rows.append(_count(_("Passages"), switch.estimate.get("passages"), switch.actuals.get("passages")))
    rows.append(_count(_("Documents set aside"), None, switch.actuals.get("set_aside")))
    if switch.status not in ("activated", "finished"):
        # What a switch took that was stopped on the way says nothing about its estimate.
        return [{**row, "difference": None} for row in rows]
    return rows


def _count(label: str, expected: int | None, actual: int | None) -> JSON:
    return {
        "label": label,
        "estimate": None if expected is None else number(expected),
        "actual": number(actual),
        "difference": _difference(expected, actual),
    }


def _difference(expected: float | None, actual: float | None) -> str | None:
    """The share by which an estimate was missed, with its sign; None when there is nothing to compare."""
    if not expected or actual is None:
        return None
    share = actual / expected - 1
    if abs(share) < SMALL_SHARE:
        return str(_("as estimated"))
    return f"{'+' if share > 0 else chr(0x2212)}{number(abs(share) * 100)} %"


def _phases(switch: Switch) -> list[JSON]:
    took = switch.actuals.get("phases", {})
    return [{"label": phase_label(key), "seconds": took[key]} for key in PHASES if key in took]


def _set_aside(switch: Switch) -> list[SwitchFailure]:
    """The documents that have no vector of this switch's model now, because a person decided so."""
    failures = container().switch_failures
    if failures is None or switch.to_space_id is None or switch.status != "activated":
        return []
    return [failure for failure in failures(switch.to_space_id) if failure.resolution == "set_aside"]


def _excluded(failure: SwitchFailure) -> JSON:
    why = failure_reason(failure)
    return {
        **failure_place(failure),
        "reason": f"{failure.note} ({why})" if failure.note else why,
        "set_aside_by": failure.resolved_by or "",
    }


def _way_back(ai: EmbeddingParts, switch: Switch, who: Actor) -> JSON:
    """What switching back would mean, while the former model's vectors are kept and this one's still serve."""
    serving = ai.switching.serving()
    until = next((instant(row["until"]) for row in ai.switching.retained() if row["key"] == switch.from_key), None)
    if switch.status != "activated" or serving is None or serving[0].model_key != switch.to_key or until is None:
        return {"back_sentence": None}
    known = declared(ai, switch.from_key) is not None
    return {
        "back_sentence": _(
            "The vectors of %(model)s are kept until %(date)s. Switching back until then embeds only what has changed.",
            model=name_of(ai, switch.from_key),
            date=moment(until, "medium"),
        ),
        "can_switch_back": known and who.may(PERMISSION) and ai.switching.status().status == "idle",
        "back_href": url_for("ai.confirm", target=switch.from_key, mode="side_by_side"),
    }


def _next(ai: EmbeddingParts, switch: Switch, who: Actor) -> JSON:
    if switch.status == "activated":
        return {"next_href": url_for("search.index"), "next_label": _("Try a search")}
    if declared(ai, switch.to_key) and who.may(PERMISSION) and switch.kind == "switch":
        href = url_for("ai.confirm", target=switch.to_key, mode=switch.mode)
        return {"next_href": href, "next_label": _("Review the switch again")}
    return {"next_href": None}


def decided(count: int, resolution: str) -> str:
    """What was done with documents that could not be embedded."""
    if resolution == "retry":
        return str(
            ngettext(
                "%(num)s document is tried again when the switch is resumed.",
                "%(num)s documents are tried again when the switch is resumed.",
                count,
            )
        )
    return str(ngettext("%(num)s document was set aside.", "%(num)s documents were set aside.", count))
