"""What the pages of the embedding model show before a switch: models, ways to switch, and what one would cost.

The shapes are those that the comments at the top of `templates/ai/*.html` ask for. Nothing here asks a model server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from flask import url_for
from flask_babel import gettext as _

from app.core.contracts.actor import Actor
from app.core.errors import ChangeoverError, Conflict, Unavailable
from app.core.messages import N_
from app.core.settings.schema import VECTOR_ENABLED
from app.edge.context import container
from app.edge.errors import say
from app.web.ai_history import history_row
from app.web.ai_progress import index_banner
from app.web.ai_words import JSON, MODE_LABELS, PERMISSION, declared, instant, model, name_of, why_stopped
from app.web.filters import number

if TYPE_CHECKING:
    from app.embeddings.parts import EmbeddingParts
    from app.embeddings.preview import ModeCost, Preview
    from app.embeddings.spaces import Space
    from app.embeddings.status import SwitchStatus

SIDE_BY_SIDE, IN_PLACE = "side_by_side", "in_place"
MODES: Mapping[str, tuple[str, str, str]] = {
    SIDE_BY_SIDE: (
        MODE_LABELS[SIDE_BY_SIDE],
        N_("The present model answers until the new one is complete. Needs room for both."),
        N_("Nothing. Search answers from the present model until activation."),
    ),
    IN_PLACE: (
        MODE_LABELS[IN_PLACE],
        N_("The present model's indexes make room for the new ones. Needs less room."),
        N_("The meaning search, from the start until activation. Search goes on by words."),
    ),
}
"""Each way: its name, what it is, and what is off meanwhile."""
CHANGES: Mapping[str, tuple[str, str]] = {
    "first": (N_("First model"), N_("No model serves yet, so every document is embedded once.")),
    "dimensions_differ": (
        N_("Vectors of another length"),
        N_("The vectors of the two models can't be compared, so every document needs a vector of the new model."),
    ),
    "dimensions_equal": (
        N_("Same length, another model"),
        N_(
            "Vectors of the same length from two models still can't be compared, so every document needs a vector of "
            "the new model."
        ),
    ),
}
LATEST = 5


def modes() -> list[JSON]:
    """The two ways to switch."""
    return [{"value": key, "label": _(label), "sentence": _(about)} for key, (label, about, _off) in MODES.items()]


# --- the page of the models ----------------------------------------------------------------------------------------


def index_page(ai: EmbeddingParts, who: Actor, form: Mapping[str, object]) -> JSON:
    """Context of `ai/index.html`; ``form`` holds target, mode and the refusal to show in place."""
    switching = ai.switching
    serving, status, retained = switching.serving(), switching.status(), switching.retained()
    return {
        "serving": None if serving is None else _serving(ai, serving[1]),
        "vector_search": vector_search(),
        "profiles": _profiles(ai, None if serving is None else serving[1], retained),
        "form": {"target": None, "mode": SIDE_BY_SIDE, "error": None, **form},
        "modes": modes(),
        "can_change": who.may(PERMISSION),
        "locked": _locked(ai, status),
        "current": index_banner(ai, status),
        "retained": [
            {**model(ai, str(row["key"])), "passages": row["rows"], "until": instant(row["until"])} for row in retained
        ],
        "history": [history_row(ai, switch) for switch in switching.history(LATEST)],
        "history_href": url_for("ai.history"),
    }


def vector_search() -> JSON:
    """Whether the setting lets the meaning search answer, and the sentence for when it does not."""
    with container().units() as unit:
        enabled = bool(container().settings.value(unit, VECTOR_ENABLED))
    off = _("It was turned off in the settings. Search answers by words until it is turned on again.")
    return {"enabled": enabled, "sentence": None if enabled else off}


def suspended(reason: str | None) -> str | None:
    """Why the meaning search is off although a model serves, or None."""
    if reason is None:
        return None
    if reason == "switching":
        return str(_("The meaning search is off until the open switch has ended. Search goes on by words."))
    if reason == "model_changed":
        return str(
            _(
                "The model server answers from another model than the one its vectors were made with, so the meaning "
                "search is off. Start the right model again, or switch to another one. Search goes on by words."
            )
        )
    return str(_("The meaning search is off (%(reason)s). Search goes on by words.", reason=reason))


def declaration_changed(ai: EmbeddingParts, space: Space) -> bool:
    """Whether the serving model's profile now declares other vectors than those that are stored."""
    profile = declared(ai, space.key)
    stored = space.profile.fingerprint(space.server_identity)
    return profile is not None and profile.fingerprint(space.server_identity) != stored


def _serving(ai: EmbeddingParts, space: Space) -> JSON:
    found = ai.switching.serving()
    assert found is not None
    row = found[0]
    done, total = ai.switching.coverage()
    changed = _("Search goes on with the vectors as they were declared. A switch to the same model makes them anew.")
    return {
        **model(ai, space.key, space),
        "since": row.since,
        "done": done,
        "total": total,
        "suspended": suspended(row.suspended_reason),
        "changed_declaration": changed if declaration_changed(ai, space) else None,
    }


def _profiles(ai: EmbeddingParts, serving: Space | None, retained: Sequence[JSON]) -> list[JSON]:
    kept = {row["key"]: row["rows"] for row in retained}
    shown = []
    for profile in ai.profiles:
        configured = ai.profiles.configured(profile.key)
        current = serving is not None and serving.key == profile.key and not declaration_changed(ai, serving)
        shown.append(
            {
                **model(ai, profile.key),
                "description": _(profile.description) if profile.description else "",
                "current": current,
                "selectable": configured,
                "reason": None if configured else say(_unconfigured(ai, profile.key)),
                "kept": kept.get(profile.key, 0),
            }
        )
    return shown


def _unconfigured(ai: EmbeddingParts, key: str) -> Conflict:
    return Conflict("switch.not_configured", profile=key, variable=ai.profiles.server_variable(key))


def _locked(ai: EmbeddingParts, status: SwitchStatus) -> JSON | None:
    """Why the model can't be changed now: phase and counts, or the error and what to do."""
    banner = index_banner(ai, status)
    if banner is None or status.switch is None:
        return None
    values = {
        "model": name_of(ai, status.switch.to_key),
        "phase": banner["phase_label"],
        "done": number(status.done),
        "total": number(status.total),
    }
    if status.status == "running":
        sentence = _(
            "The model can't be changed while the switch to %(model)s runs (%(phase)s, %(done)s of %(total)s "
            "documents).",
            **values,
        )
    else:
        sentence = _("The model can't be changed: the switch to %(model)s has stopped in %(phase)s.", **values)
        sentence = " ".join(filter(None, (sentence, why_stopped(status), _("Resume or stop it first."))))
    return {"sentence": sentence, "href": url_for("ai.progress")}


# --- the confirmation ----------------------------------------------------------------------------------------------


def confirmation(
    ai: EmbeddingParts, preview: Preview, mode: str, refusals: Sequence[ChangeoverError], note: str | None, length: int
) -> JSON:
    """Context ``preview`` of `ai/_confirm_body.html`; ``length`` is what the server's vectors measure, 0 unknown."""
    current = preview.current
    label, about = CHANGES[preview.change]
    low, high = preview.seconds or (None, None)
    ways = [_way(cost, preview.bytes_free) for cost in preview.costs]
    shown = [{"text": say(refusal), "next": _next(refusal)} for refusal in refusals]
    if not any(way["fits"] for way in ways):
        shown.append({"text": _("There is too little room for either way."), "next": _("Make room on the disk first.")})
    return {
        "from_model": None if current is None else model(ai, current.key, current),
        "to_model": {**model(ai, preview.target.key), "measured_dimensions": length or None},
        "change_label": _(label),
        "change_sentence": _(about),
        "documents_total": preview.documents,
        "documents_done": preview.already_done,
        "documents_todo": preview.to_embed,
        "passages_todo": preview.passages,
        "done_sentence": _left_out(ai, preview),
        "seconds_low": low,
        "seconds": None if low is None or high is None else (low + high) / 2,
        "seconds_high": high,
        "estimate_sentence": _basis(preview),
        "disk_free": preview.bytes_free,
        "modes": ways,
        "mode": mode,
        "retain_days": preview.retain_days,
        "refusals": shown,
        "note": note,
        "epoch": preview.serving_epoch,
    }


def _way(cost: ModeCost, free: int | None) -> JSON:
    label, about, off = MODES[cost.mode]
    return {
        "value": cost.mode,
        "label": _(label),
        "sentence": _(about),
        "off_meanwhile": _(off),
        "disk_needed": cost.bytes_needed,
        "fits": free is None or cost.bytes_needed <= free,
    }


def _basis(preview: Preview) -> str:
    if preview.rate is None:
        return str(_("The server could not be measured, so the time is not known."))
    return str(
        _(
            "Measured on some of your texts: about %(rate)s passages per second. The machine does other things too, so "
            "the time is a range.",
            rate=number(preview.rate, 1 if preview.rate < 10 else 0),
        )
    )


def _left_out(ai: EmbeddingParts, preview: Preview) -> str | None:
    """Where the documents that are done come from, and which ones are not embedded at all."""
    said = []
    if preview.already_done:
        name = name_of(ai, preview.target.key)
        said.append(
            _("What is already done was embedded with %(model)s earlier and has not changed since.", model=name)
        )
    if preview.set_aside:
        said.append(_("Set aside earlier: %(n)s.", n=number(preview.set_aside)))
    if preview.blank:
        said.append(_("Without a text to embed: %(n)s.", n=number(preview.blank)))
    return " ".join(said) or None


def _next(refusal: ChangeoverError) -> str | None:
    """What to do, where the sentence does not say it."""
    if isinstance(refusal, Unavailable):
        return str(_("Start the server or look at its log, then review the change again."))
    if refusal.code in ("switch.other_model", "switch.names_no_model", "switch.not_normalised"):
        return str(_("Put the declared model on the server, or correct the profile."))
    return None
