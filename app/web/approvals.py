"""Approvals: what waits for votes, one change with its difference, and voting on it."""

from __future__ import annotations

from dataclasses import replace

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _

from app.core.approvals.ask import ApprovalAsk, read_ask
from app.core.approvals.inbox import Shown
from app.core.approvals.parts import STATES
from app.core.approvals.rights import is_voter, needed
from app.core.errors import Invalid
from app.core.messages import N_
from app.core.registry import Entity
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.errors import field_errors
from app.edge.transactions import in_unit
from app.web import approval_words as words
from app.web.record_words import word

blueprint = Blueprint("approvals", __name__)

VOTE, MINE, ALL = VIEWS = ("vote", "mine", "all")
LABELS = {VOTE: N_("For me to vote on"), MINE: N_("My own changes"), ALL: N_("All")}
OUTCOMES = {
    "applied": N_("Approved and applied."),
    "pending": N_("Your vote counts. More votes are needed before it is applied."),
    "disapproved": N_("Disapproved. Nothing was written."),
}


@blueprint.get("/approvals")
@in_unit
def index(*, unit: Unit) -> ResponseReturnValue:
    """What waits for the person's vote, what they sent themselves, or all that they may see, by state."""
    inbox, who = container().approvals.inbox, actor()
    votes = is_voter(container().registry, who)
    asked_view = request.args.get("show", "")
    view = asked_view if asked_view in VIEWS else (VOTE if votes else MINE)
    given = {name: request.args.get(name, "") for name in ("state", "subject", "cursor")}
    ask = _asked(read_ask(given), view)
    found = inbox.page(unit, who, ask)
    kept = {name: value for name, value in given.items() if value and name != "cursor"}
    more = found.next_cursor and url_for(".index", show=view, cursor=found.next_cursor, **kept)  # type: ignore[arg-type]
    return render_template(
        "approvals/index.html",
        views=[(name, _(label), name == view) for name, label in LABELS.items() if votes or name == MINE],
        show=view,
        waiting=inbox.waiting(unit, who),
        rows=[_row(shown) for shown in found.items],
        state=given["state"],
        states=[("", _("Any state")), *((state, words.state_chip(state)["label"]) for state in STATES)],
        subject=given["subject"],
        subjects=[("", _("Everything")), *((name, words.subject_label(name)) for name in _moderated())],
        more=more,
        needs_approval=who.needs_approval,
    )


@blueprint.get("/approvals/<int:modification_id>")
@in_unit
def show(modification_id: int, *, unit: Unit) -> ResponseReturnValue:
    """One change: the difference, the votes, and what has changed since."""
    return _page(unit, modification_id, {})


@blueprint.post("/approvals/<int:modification_id>/approve")
@in_unit
def approve(modification_id: int, *, unit: Unit) -> ResponseReturnValue:
    """Vote for the change as it was shown."""
    return _vote(unit, modification_id, True)


@blueprint.post("/approvals/<int:modification_id>/disapprove")
@in_unit
def disapprove(modification_id: int, *, unit: Unit) -> ResponseReturnValue:
    """Vote against it, with a reason; that ends it."""
    return _vote(unit, modification_id, False)


@blueprint.post("/approvals/<int:modification_id>/withdraw")
@in_unit
def withdraw(modification_id: int, *, unit: Unit) -> ResponseReturnValue:
    """The author takes the change back."""
    container().approvals.withdraw(unit, actor(), modification_id)
    flash(_("Withdrawn. Nothing was written."), "success")
    return redirect(url_for(".show", modification_id=modification_id), 303)


def pending_on(unit: Unit, entity: str, record_id: int) -> list[dict[str, object]]:
    """What waits on a record, for `templates/approvals/_pending.html` on its page."""
    found = container().approvals.inbox.of_record(unit, actor(), entity, record_id)
    return [_row(shown) for shown in found]


def _vote(unit: Unit, modification_id: int, approves: bool) -> ResponseReturnValue:
    seen = request.form.get("round", "")
    reason = request.form.get("reason", "")
    number = int(seen) if seen.isascii() and seen.isdigit() and len(seen) < 10 else None
    try:
        status = container().approvals.vote(unit, actor(), modification_id, approves, reason, number).status
    except Invalid as refusal:
        return _page(unit, modification_id, field_errors(refusal), reason), 422
    if status in OUTCOMES:
        flash(_(OUTCOMES[status]), "success")
    return redirect(url_for(".show", modification_id=modification_id), 303)


def _page(unit: Unit, modification_id: int, errors: dict[str, str], reason: str = "") -> str:
    approvals = container().approvals
    modification = approvals.get(unit, actor(), modification_id)
    shown = approvals.inbox.one(unit, actor(), modification)
    plain, texts = words.differences(shown)
    return render_template(
        "approvals/show.html",
        change=_row(shown),
        shown=shown,
        plain=plain,
        texts=[(code, word(code), changes) for code, changes in texts],
        why=words.why(shown),
        moved=[words.path_label(shown, path) for path in shown.moved],
        may_vote=shown.may_vote,
        may_withdraw=shown.is_mine and shown.state == "pending",
        permission=needed(modification),
        errors=errors,
        reason=reason,
    )


def _row(shown: Shown) -> dict[str, object]:
    return {
        "id": shown.id,
        "href": url_for("approvals.show", modification_id=shown.id),
        "title": words.title_of(shown),
        "object_href": words.address_of(shown),
        "operation": _(words.OPERATIONS[shown.operation]),
        "summary": words.summary(shown),
        "state": words.state_chip(shown.state),
        "author": shown.author,
        "is_mine": shown.is_mine,
        "votes": shown.approvals,
        "votes_needed": shown.votes_needed,
        "created_at": shown.created_at,
        "expires_at": shown.expires_at,
        "resolved_at": shown.resolved_at,
        "is_pending": shown.state == "pending",
    }


def _asked(ask: ApprovalAsk, view: str) -> ApprovalAsk:
    return replace(ask, mine=view == MINE, to_vote=view == VOTE, state=None if view == VOTE else ask.state)


def _moderated() -> list[str]:
    entities: list[Entity] = [entity for entity in container().registry if entity.votes]
    return [entity.name for entity in entities if actor().may(entity.permission("select"))]
