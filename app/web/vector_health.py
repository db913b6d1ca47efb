"""AI & models → Vector health: what is wrong with the vectors of each model, each with the button that repairs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _
from flask_babel import ngettext

from app.core.contracts.actor import Actor
from app.core.errors import Conflict, Invalid, Unavailable
from app.core.messages import N_
from app.edge.context import actor, embedding_parts
from app.edge.errors import say
from app.web.ai_pages import declaration_changed
from app.web.ai_words import JSON, PERMISSION, entity_label, name_of
from app.web.filters import number

if TYPE_CHECKING:
    from app.embeddings.health import Repaired, SpaceHealth
    from app.embeddings.parts import EmbeddingParts

blueprint = Blueprint("vector_health", __name__)

PATIENCE_SECONDS = 3.0
LONGER_SECONDS = 30
SAMPLE = 20
LABELS: Mapping[str, tuple[str, str]] = {
    "missing": (
        N_("Stale or missing"),
        N_("Documents whose present text has no vector. Search finds them by words."),
    ),
    "failed": (
        N_("Awaiting a decision"),
        N_("Documents that the model could not embed. Trying again helps once the server was mended."),
    ),
    "orphaned": (N_("Without a document"), N_("Vectors of documents that are gone. No search shows them.")),
    "surplus": (
        N_("Surplus passages"),
        N_("Vectors beside the passages that a document has: doubled, or left of an older text."),
    ),
    "wrong_length": (N_("Wrong number of dimensions"), N_("Vectors that compare with nothing.")),
    "not_finite": (N_("No direction"), N_("Vectors with values that are no numbers, or only zeros.")),
    "norm_off": (
        N_("Length is not 1"),
        N_("Vectors of this model have the length 1, give or take %(tolerance)s; these have not."),
    ),
}
ROLES = {
    "serving": (N_("Serving"), "success", "check"),
    "target": (N_("Being filled by a switch"), "primary", "half"),
    "kept": (N_("Kept for the way back"), "", "clock"),
}
INDEX_STATES = {
    "ready": (N_("Ready"), "success", "check"),
    "invalid": (N_("Invalid"), "danger", "stop"),
    "missing": (N_("Missing"), "danger", "alert"),
    "building": (N_("Being built"), "primary", "half"),
    "not_needed": (N_("Not needed now"), "", "ring"),
}
CHECKS: Mapping[str | None, tuple[str, str, str]] = {
    None: (N_("Not checked yet"), "", "ring"),
    "ok": (N_("The same model"), "success", "check"),
    "model": (N_("Another model answers"), "danger", "alert"),
    "dimensions": (N_("Another model answers"), "danger", "alert"),
}
"""What the fixed text came to; every other result is a server that did not answer as it should."""
VERDICTS: Mapping[str, tuple[str, str, str]] = {
    "same": (N_("The same model"), "success", "check"),
    "differs": (N_("Some differ"), "danger", "alert"),
    "other": (N_("Another model answers"), "danger", "alert"),
    "cannot_tell": (N_("Can't tell"), "warning", "info"),
}


@blueprint.get("/settings/ai/health")
def index() -> ResponseReturnValue:
    """Every space, counted within three seconds, or thirty if somebody asks to wait. No model server is asked."""
    ai = embedding_parts()
    longer = request.args.get("wait") == str(LONGER_SECONDS)
    found = ai.health.report(LONGER_SECONDS if longer else PATIENCE_SECONDS)
    return render_template(
        "ai/health.html",
        spaces=[_space(ai, health, actor()) for health in found],
        can_repair=actor().may(PERMISSION),
        sample_size=SAMPLE,
        longer_href=None if longer else url_for("vector_health.index", wait=LONGER_SECONDS),
    )


@blueprint.post("/settings/ai/health/<int:space>/repair")
def repair(space: int) -> ResponseReturnValue:
    """Do one repair and say what it did; what stands against it is said, and nothing was changed."""
    ai = embedding_parts()
    try:
        done = ai.health.repair(actor(), space, request.form.get("kind", "")[:40])
        flash(_did(done), "success" if done.result in (None, "ok") else "danger")
    except (Conflict, Invalid) as refusal:
        flash(say(refusal), "danger")
    return _back(space)


@blueprint.post("/settings/ai/health/<int:space>/sample")
def sample(space: int) -> ResponseReturnValue:
    """Compare some stored vectors with fresh ones; the outcome stands on the page."""
    ai = embedding_parts()
    try:
        found = ai.health.sample(actor(), space, SAMPLE)
        label, tone, _icon = VERDICTS[found.verdict]
        flash(
            ngettext(
                "Compared %(count)s stored vector with a fresh one. %(verdict)s.",
                "Compared %(count)s stored vectors with fresh ones. %(verdict)s.",
                found.compared,
                count=number(found.compared),
                verdict=_(label),
            ),
            tone,
        )
    except (Conflict, Unavailable) as refusal:
        flash(say(refusal), "danger")
    return _back(space)


def _back(space: int) -> ResponseReturnValue:
    return redirect(url_for("vector_health.index", _anchor=f"space-{space}"), 303)


# --- what the page shows -------------------------------------------------------------------------------------------


def _space(ai: EmbeddingParts, health: SpaceHealth, who: Actor) -> JSON:
    space, noted = health.space, health.noted
    return {
        "id": space.id,
        "name": name_of(ai, space.key),
        "key": space.key,
        "role": health.role,
        "role_chip": _chip(ROLES[health.role]),
        "retained_until": space.retained_until if health.role == "kept" else None,
        "dimensions": space.dimensions,
        "counted": health.entities is not None,
        "problems": len(health.problems),
        "changed": declaration_changed(ai, space) if health.role == "serving" else False,
        "documents": health.total("documents"),
        "done": health.total("done"),
        "under_way": health.total("under_way"),
        "set_aside": health.total("set_aside"),
        "passages": health.total("passages"),
        "findings": _findings(ai, health, who),
        "entities": [{**vars(part), "label": entity_label(part.entity)} for part in health.entities or ()],
        "indexes": [
            {"label": entity_label(index.entity), "name": index.name, "size": index.size, "chip": _chip(chip)}
            for index in health.indexes
            for chip in (INDEX_STATES[index.state],)
        ],
        "index_repair": _repair(ai, health, "index", who),
        "check": _check(noted.check_result),
        "checked_at": noted.checked_at,
        "sample": _sample(ai, health, who),
    }


def _findings(ai: EmbeddingParts, health: SpaceHealth, who: Actor) -> list[JSON]:
    """Each check of documents and rows; those that found something come with their repair, or why there is none."""
    tolerance = number(health.tolerance, 2)
    shown = []
    for kind, (label, about) in LABELS.items():
        if kind == "norm_off" and not health.space.profile.normalize:
            continue
        count = health.number(kind)
        expected = kind in ("missing", "failed") and health.role != "serving"
        shown.append(
            {
                "kind": kind,
                "label": _(label),
                "about": _(about, tolerance=tolerance) if "%(" in about else _(about),
                "count": count,
                "wrong": bool(count) and not expected,
                "repair": _repair(ai, health, kind, who),
            }
        )
    return shown


def _repair(ai: EmbeddingParts, health: SpaceHealth, kind: str, who: Actor) -> JSON | None:
    """The button of a repair, or the sentence that stands against it; None when there is nothing to do."""
    count = health.number(kind)
    if not count or not who.may(PERMISSION):
        return None
    refused = ai.health.refusal(health, kind)
    if refused is not None:
        return {"refused": say(refused)}
    return {"kind": kind, "button": _button(kind, count)}


def _button(kind: str, count: int) -> str:
    shown = number(count)
    if kind == "missing":
        return str(ngettext("Embed %(count)s document", "Embed %(count)s documents", count, count=shown))
    if kind == "failed":
        return str(ngettext("Try %(count)s document again", "Try %(count)s documents again", count, count=shown))
    if kind == "index":
        return str(ngettext("Rebuild %(count)s index", "Rebuild %(count)s indexes", count, count=shown))
    if kind == "differing":
        return str(ngettext("Embed %(count)s document anew", "Embed %(count)s documents anew", count, count=shown))
    if kind == "orphaned":
        said = ngettext(
            "Delete vectors of %(count)s document", "Delete vectors of %(count)s documents", count, count=shown
        )
        return str(said)
    if kind == "surplus":
        return str(ngettext("Delete %(count)s passage", "Delete %(count)s passages", count, count=shown))
    return str(ngettext("Embed %(count)s passage anew", "Embed %(count)s passages anew", count, count=shown))


def _did(done: Repaired) -> str:
    """What a repair did, with its number and what comes next."""
    count = number(done.count)
    if done.kind == "probe":
        if done.result == "ok":
            return str(_("The server answers as the model that these vectors were made with."))
        return str(_("The server does not answer as it should: %(reason)s.", reason=_(_check(done.result)["label"])))
    if not done.count:
        return str(_("There was nothing left to do: what is missing is on its way already."))
    if done.kind in ("missing", "failed"):
        said = ngettext(
            "%(count)s record was handed to the workers; its vectors come in a moment.",
            "%(count)s records were handed to the workers; their vectors come one after the other.",
            done.count,
            count=count,
        )
    elif done.kind == "index":
        said = ngettext(
            "%(count)s index is being rebuilt. Search reads exactly meanwhile, which is slower.",
            "%(count)s indexes are being rebuilt. Search reads exactly meanwhile, which is slower.",
            done.count,
            count=count,
        )
    else:
        said = ngettext(
            "%(count)s vector was deleted; what the serving model lacks now is embedded again.",
            "%(count)s vectors were deleted; what the serving model lacks now is embedded again.",
            done.count,
            count=count,
        )
    more = _("There is more: press the button once more.") if done.more else ""
    return f"{said} {more}".strip()


def _chip(words: tuple[str, str, str]) -> JSON:
    label, tone, icon = words
    return {"label": _(label), "tone": tone, "icon": icon}


def _check(result: str | None) -> JSON:
    if result in CHECKS:
        return _chip(CHECKS[result])
    return {"label": _("No proper answer (%(reason)s)", reason=result), "tone": "warning", "icon": "alert"}


def _sample(ai: EmbeddingParts, health: SpaceHealth, who: Actor) -> JSON | None:
    noted = health.noted
    if noted.sample is None:
        return None
    found = dict(noted.sample)
    return {
        **found,
        "chip": _chip(VERDICTS[str(found["verdict"])]),
        "at": noted.sampled_at,
        "repair": _repair(ai, health, "differing", who) if found["verdict"] == "differs" else None,
    }
