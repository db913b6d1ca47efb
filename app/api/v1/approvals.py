"""Changes that wait for approval, as JSON. Only a person at a browser votes; a script's token is refused (403)."""

from __future__ import annotations

from typing import Any

from apiflask import APIBlueprint
from flask import Response, jsonify, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext
from pydantic import BaseModel, ConfigDict, Field

from app.core.approvals.ask import read_ask
from app.core.approvals.diff import new_of, old_of
from app.core.approvals.inbox import Shown
from app.core.approvals.models import Modification
from app.core.errors import Invalid
from app.core.messages import sentence
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.transactions import in_unit

blueprint = APIBlueprint("approvals_api", __name__, url_prefix="/api/v1/approvals")

LARGEST = 2**31 - 1


class NewVote(BaseModel):
    """A vote. ``reason`` is needed to disapprove. ``round`` is the one that was looked at; an edit begins another."""

    model_config = ConfigDict(extra="forbid", strict=True)

    approves: bool
    reason: str = Field(default="", max_length=1000)
    round: int | None = Field(default=None, ge=1, le=LARGEST)


class Edit(BaseModel):
    """Other values for a captured change, as for an insert or update; for a setting ``{"value": …}``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    values: dict[str, Any]
    round: int | None = Field(default=None, ge=1, le=LARGEST)


@blueprint.get("")
@in_unit
def index(*, unit: Unit) -> ResponseReturnValue:
    """The caller's own changes and those that they may vote on, newest first.

    Filters: ``state``, ``mine``, ``to_vote``, ``subject`` (an entity or a setting), ``record``; ``cursor`` continues.
    """
    found = container().approvals.inbox.page(unit, actor(), read_ask(single_values()))
    return {"items": [as_json(shown) for shown in found.items], "next_cursor": found.next_cursor}


@blueprint.get("/<int:modification_id>")
@in_unit
def show(modification_id: int, *, unit: Unit) -> ResponseReturnValue:
    """One change with its votes, and what has changed of the record since it was made."""
    return _one(unit, container().approvals.get(unit, actor(), modification_id))


@blueprint.post("/<int:modification_id>/votes")
@blueprint.input(NewVote, location="json", arg_name="wished")
@in_unit
def vote(modification_id: int, wished: NewVote, *, unit: Unit) -> ResponseReturnValue:
    """Vote. With the deciding vote the change is applied, or its ``status`` says why not: conflict, failed."""
    approvals = container().approvals
    return _one(unit, approvals.vote(unit, actor(), modification_id, wished.approves, wished.reason, wished.round))


@blueprint.patch("/<int:modification_id>")
@blueprint.input(Edit, location="json", arg_name="wished")
@in_unit
def edit(modification_id: int, wished: Edit, *, unit: Unit) -> ResponseReturnValue:
    """The author gives other values; the votes so far count no more."""
    return _one(unit, container().approvals.edit(unit, actor(), modification_id, wished.values, wished.round))


@blueprint.post("/<int:modification_id>/withdraw")
@in_unit
def withdraw(modification_id: int, *, unit: Unit) -> ResponseReturnValue:
    """The author takes the change back."""
    return _one(unit, container().approvals.withdraw(unit, actor(), modification_id))


def captured(unit: Unit, modification: Modification) -> Response:
    """The answer to a write that now waits for votes: 202, ``{"captured": {…}}`` and where to look."""
    response = jsonify({"captured": as_json(container().approvals.inbox.one(unit, actor(), modification))})
    response.status_code = 202
    response.headers["Location"] = url_for("approvals_api.show", modification_id=modification.id)
    return response


def as_json(shown: Shown) -> dict[str, Any]:
    """A modification as its reader may see it."""
    return {
        "id": shown.id,
        "kind": shown.kind,
        "subject": shown.subject,
        "record_id": shown.record_id,
        "title": shown.title or None,
        "operation": shown.operation,
        "status": shown.state,
        "round": shown.round,
        "author": {"id": shown.author_id, "name": shown.author},
        "mine": shown.is_mine,
        "may_vote": shown.may_vote,
        "votes_needed": shown.votes_needed,
        "votes": [
            {
                "voter": {"id": vote.user_id, "name": vote.voter},
                "approves": vote.approves,
                "reason": vote.reason,
                "at": vote.at.isoformat(),
                "counts": vote.counts,
            }
            for vote in shown.votes
        ],
        "diff": {path: {"old": old_of(change), "new": new_of(change)} for path, change in shown.diff.items()},
        "hidden_fields": shown.hidden,
        "current": None if shown.current is None else dict(shown.current),
        "changed_since": list(shown.moved),
        "reason": shown.reason or None,
        "error": _error(shown),
        "applied_revision": shown.applied_revision,
        "created_at": shown.created_at.isoformat(),
        "expires_at": shown.expires_at.isoformat(),
        "resolved_at": None if shown.resolved_at is None else shown.resolved_at.isoformat(),
    }


def single_values() -> dict[str, str]:
    """The query's values; one that is given twice is refused, so that no filter is lost silently."""
    twice = [name[:100] for name, values in request.args.lists() if len(values) > 1]
    if twice:
        raise Invalid("input.invalid", fields=[Invalid("input.repeated", path=name, field=name) for name in twice])
    return dict(request.args.items())


def _error(shown: Shown) -> dict[str, Any] | None:
    if shown.error_code is None:
        return None
    refused = [
        {"path": each["path"], "code": each["code"], "detail": sentence(each["code"], each["values"], gettext)}
        for each in shown.error_values.get("refused", ())
    ]
    return {
        "code": shown.error_code,
        "detail": sentence(shown.error_code, shown.error_values, gettext),
        "errors": refused,
    }


def _one(unit: Unit, modification: Modification) -> dict[str, Any]:
    return as_json(container().approvals.inbox.one(unit, actor(), modification))
