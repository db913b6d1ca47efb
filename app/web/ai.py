"""Settings → AI and models: look at the models, read what a change costs, start it, follow it, decide, look back.

Plain forms and links; with ``HX-Request`` the confirmation and the progress answer as parts of a page. No transaction
stays open while a model server is asked (`architecture.md` 2): the services open their own units.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from flask import Blueprint, Response, flash, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _

from app.core.contracts.actor import Actor
from app.core.errors import (
    ChangeoverError,
    Conflict,
    Forbidden,
    Invalid,
    ModelServerFailed,
    NotFound,
    Unavailable,
)
from app.core.settings.schema import EMBEDDING_MODEL
from app.edge.context import actor, container, embedding_parts, is_htmx
from app.edge.errors import say, status_of
from app.web.ai_history import OPEN, decided, history_row, summary
from app.web.ai_pages import MODES, SIDE_BY_SIDE, confirmation, index_page, suspended, vector_search
from app.web.ai_progress import progress_page
from app.web.ai_words import JSON, name_of, percent, phase_label

if TYPE_CHECKING:
    from app.embeddings.parts import EmbeddingParts
    from app.embeddings.preview import Preview

blueprint = Blueprint("ai", __name__)

HISTORY_SIZE = 50
HISTORY_PAGES = 1000
KEY_LIMIT = 300
READ = "settings.select"
OTHERS = ("switch.not_idle", "switch.being_started")
"""Refusals because of another switch: its progress is the place to go."""


@blueprint.get("/settings/ai")
def index() -> ResponseReturnValue:
    """The serving model, the declared ones, what is kept, and the last switches. No server is asked."""
    return _index(embedding_parts(), {"target": request.args.get("target", "")[:KEY_LIMIT]})


def _index(ai: EmbeddingParts, form: Mapping[str, object], status: int = 200) -> Response:
    return make_response(render_template("ai/index.html", **index_page(ai, actor(), form)), status)


# --- the confirmation and the start --------------------------------------------------------------------------------


@blueprint.get("/settings/ai/switch")
def confirm() -> ResponseReturnValue:
    """What a switch to ``target`` would cost: a page, or the inside of the dialog. Nothing starts."""
    return _review(embedding_parts(), *_wish(request.args))


@blueprint.post("/settings/ai/switch")
def start() -> ResponseReturnValue:
    """Start the switch that was confirmed; anything that speaks against it is shown with fresh figures."""
    ai = embedding_parts()
    target, mode = _wish(request.form)
    epoch = request.form.get("epoch", type=int)
    if not request.form.get("confirm"):
        return _review(ai, target, mode)
    if epoch is None:
        return _review(ai, target, mode, Conflict("switch.changed_since_preview"))
    if actor().needs_approval:
        return _capture(target)
    try:
        ai.switching.start(actor(), target, mode, epoch)
    except Forbidden:
        raise
    except ChangeoverError as refusal:
        return _review(ai, target, mode, refusal)
    return _go(url_for("ai.progress"))


def _capture(target: str) -> Response:
    """The choice of a person who needs approval waits for votes; no switch starts, not even once it is approved."""
    with container().units() as unit:
        container().settings.update(unit, actor(), EMBEDDING_MODEL, target)
    flash(_("Your choice waits for approval. It starts no switch: that is done by hand once it is approved."), "info")
    return _go(url_for("approvals.index", show="mine"))


def _wish(sent: Mapping[str, str]) -> tuple[str, str]:
    return sent.get("target", "")[:KEY_LIMIT], sent.get("mode", SIDE_BY_SIDE)


def _review(ai: EmbeddingParts, target: str, mode: str, refusal: ChangeoverError | None = None) -> Response:
    """The confirmation with fresh figures, or why there is none. ``refusal`` is what a start was answered with."""
    try:
        preview = ai.switching.preview(actor(), target)
    except (Conflict, NotFound, Invalid) as reason:
        return _refused(ai, target, mode, reason)
    note = None
    refusals: Sequence[ChangeoverError] = ()
    if refusal is not None and refusal.code == "switch.changed_since_preview":
        note = say(refusal)
    elif refusal is not None:
        refusals = (refusal,)
    length = 0
    if not refusals:
        length, refusals = _measured(ai, preview)
    shown = confirmation(ai, preview, mode if mode in MODES else SIDE_BY_SIDE, refusals, note, length)
    template = "ai/_confirm_body.html" if is_htmx() else "ai/confirm.html"
    return make_response(render_template(template, preview=shown), 200 if refusal is None else status_of(refusal))


def _measured(ai: EmbeddingParts, preview: Preview) -> tuple[int, Sequence[ChangeoverError]]:
    """Length of the server's vectors, and what a start would be refused with; one that is away is asked once only.

    A server that was only too slow for the measurement of its speed is asked for one vector, as the start does.
    """
    failed = preview.probe
    if failed is not None and not (isinstance(failed, ModelServerFailed) and failed.reason == "timeout"):
        return 0, (failed,)
    try:
        return ai.switching.probe(preview.target.key).dimensions, ()
    except (Conflict, Unavailable) as refusal:
        return 0, (refusal,)


def _refused(ai: EmbeddingParts, target: str, mode: str, reason: ChangeoverError) -> Response:
    """There is nothing to confirm: the reason stands where the choice was made, and nothing was changed."""
    nothing_to_do = reason.code == "switch.already_active"
    status = 200 if nothing_to_do else status_of(reason)
    if is_htmx():
        href = url_for("ai.progress") if reason.code in OTHERS else None
        part = render_template("ai/_refused.html", sentence=say(reason), calm=nothing_to_do, href=href)
        return make_response(part, status)
    if nothing_to_do:
        flash(say(reason), "info")
        return _go(url_for("ai.index"))
    form = {"target": target, "mode": mode if mode in MODES else SIDE_BY_SIDE, "error": say(reason)}
    return _index(ai, form, status)


def _go(address: str) -> Response:
    """Send the browser to another page; htmx by its own header, since it would swap a redirect's page in."""
    if not is_htmx():
        return make_response(redirect(address, 303))
    response = Response()
    response.headers["HX-Redirect"] = address
    return response


# --- the progress --------------------------------------------------------------------------------------------------


@blueprint.get("/settings/ai/progress")
def progress() -> ResponseReturnValue:
    """The open switch, or how the last one ended."""
    return _progress(embedding_parts(), "ai/progress.html")


@blueprint.get("/settings/ai/progress/part")
def progress_body() -> ResponseReturnValue:
    """The part that moves. Once the switch has ended it comes without its trigger, and the polling stops."""
    return _progress(embedding_parts(), "ai/_progress.html")


def _progress(ai: EmbeddingParts, template: str, status: int = 200) -> Response:
    shown = progress_page(ai, actor())
    if shown is None:
        return _go(url_for("ai.index")) if status == 200 else _index(ai, {}, status)
    return make_response(render_template(template, switch=shown), status)


@blueprint.post("/settings/ai/progress/resume")
def resume() -> ResponseReturnValue:
    """Continue a switch that failed or stands still."""
    ai = embedding_parts()
    return _act(ai, ai.switching.resume)


@blueprint.post("/settings/ai/progress/abandon")
def abandon() -> ResponseReturnValue:
    """Give up the open switch."""
    ai = embedding_parts()
    return _act(ai, ai.switching.abandon)


@blueprint.post("/settings/ai/progress/failures")
def resolve() -> ResponseReturnValue:
    """Retry the chosen documents that could not be embedded, or set them aside with a reason."""
    ai = embedding_parts()
    resolution, note = request.form.get("action", ""), request.form.get("reason", "").strip()[:200]
    ids = request.form.getlist("failure", type=int)

    def decide(who: Actor) -> None:
        if not ids:
            raise Invalid("switch.choose_documents", path="failure")
        flash(decided(ai.switching.decide(who, ids, resolution, note or None), resolution), "success")

    return _act(ai, decide)


def _act(ai: EmbeddingParts, action: Callable[[Actor], object]) -> Response:
    """Do it and show the progress; a refusal stands above it, and nothing was changed."""
    try:
        action(actor())
    except (Conflict, Invalid) as refusal:
        missing_note = refusal.path == "note"
        flash(_("Say why these documents are set aside.") if missing_note else say(refusal), "danger")
        return _progress(ai, "ai/progress.html", status_of(refusal))
    return _go(url_for("ai.progress"))


# --- looking back --------------------------------------------------------------------------------------------------


@blueprint.get("/settings/ai/switches")
def history() -> ResponseReturnValue:
    """Every switch, the latest first."""
    ai = embedding_parts()
    page = min(max(request.args.get("page", 1, type=int), 1), HISTORY_PAGES)
    found = ai.switching.history(page * HISTORY_SIZE + 1)[(page - 1) * HISTORY_SIZE :]
    shown = found[:HISTORY_SIZE]
    return render_template(
        "ai/history.html",
        history=[history_row(ai, switch) for switch in shown],
        page={
            "first": (page - 1) * HISTORY_SIZE + 1,
            "last": (page - 1) * HISTORY_SIZE + len(shown),
            "total": None,
            "previous_href": url_for("ai.history", page=page - 1) if page > 1 else None,
            "next_href": url_for("ai.history", page=page + 1) if len(found) > HISTORY_SIZE else None,
        },
    )


@blueprint.get("/settings/ai/switches/<int:switch_id>", endpoint="summary")
def summary_page(switch_id: int) -> ResponseReturnValue:
    """How one switch ended: the estimate against what it took, what was set aside, and the next step."""
    ai = embedding_parts()
    switch = ai.switching.find(switch_id)
    if switch is None:
        raise NotFound("page.not_found")
    if switch.status in OPEN:
        return redirect(url_for("ai.progress"), 303)
    return render_template("ai/summary.html", summary=summary(ai, switch, actor()))


# --- the strip on every page ---------------------------------------------------------------------------------------


@blueprint.get("/settings/ai/strip")
def strip_part() -> ResponseReturnValue:
    """The strip alone, for polling; the layout's context holds what it shows."""
    return render_template("components/strip.html")


def strip(who: Actor) -> JSON | None:
    """What `components/strip.html` says of the meaning search to those who may know; None when all is well."""
    if not who.may(READ):
        return None
    ai = container().ai
    if ai is None:
        return {"text": say(Unavailable("ai.absent"))}
    return _open_strip(ai) or _off_strip(ai)


def _open_strip(ai: EmbeddingParts) -> JSON | None:
    status = ai.switching.status()
    if status.switch is None:
        return None
    values = {"model": name_of(ai, status.switch.to_key), "n": percent(status), "phase": phase_label(status.phase)}
    attention = status.status == "failed" or status.interrupted
    if status.switch.kind == "dry_run":
        text = _("Dry run of the switch to %(model)s: %(n)s %%", **values)
    elif attention:
        text = _("The switch to %(model)s has stopped at %(n)s %% and needs you", **values)
    elif status.phase in ("preflight", "embeddings"):
        text = _("Switching to %(model)s: %(n)s %%", **values)
    else:
        text = _("Switching to %(model)s: %(n)s %% embedded, now in the phase %(phase)s", **values)
    href, part = url_for("ai.progress"), url_for("ai.strip_part")
    return {"text": text, "percent": values["n"], "href": href, "attention": attention, "poll_href": part}


def _off_strip(ai: EmbeddingParts) -> JSON | None:
    serving = ai.switching.serving()
    if serving is None:
        text: str | None = _("No model serves yet: search answers by words only")
    else:
        text = suspended(serving[0].suspended_reason)
        if text is None and not vector_search()["enabled"]:
            text = _("The meaning search is turned off in the settings: search answers by words only")
    if text is None:
        return None
    return {"text": text, "href": url_for("ai.index"), "link_text": _("Show AI & models"), "attention": True}
