"""Coming in and going out."""

from __future__ import annotations

from flask import Blueprint, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from app.core.access.actor import actor_of
from app.core.errors import ChangeoverError, TooManyRequests
from app.core.unit import Unit
from app.edge import context
from app.edge.context import actor, container, open_to_guests, public, safe_next
from app.edge.errors import say, status_of
from app.edge.transactions import in_unit

blueprint = Blueprint("auth", __name__)


@blueprint.get("/sign-in")
@public
def sign_in() -> ResponseReturnValue:
    """The form; a signed-in person is sent on."""
    if actor().signed_in:
        return redirect(safe_next(request.args.get("next")), 303)
    return _form(200)


@blueprint.post("/sign-in")
@public
@in_unit
def sign_in_send(*, unit: Unit) -> ResponseReturnValue:
    """Check the password. A refusal is an answer, not an error: the unit must keep the counted failure."""
    login, password = request.form.get("user_name", ""), request.form.get("password", "")
    try:
        user = container().access.sign_in(unit, login, password, request.remote_addr or "")
    except ChangeoverError as refusal:
        return _form(status_of(refusal), refusal)
    context.sign_in(user, actor_of(user, registry=container().registry))
    return redirect(safe_next(request.form.get("next")), 303)


@blueprint.post("/sign-out")
@open_to_guests
@in_unit
def sign_out(*, unit: Unit) -> ResponseReturnValue:
    """End the person's sessions, also those of other browsers: a copied cookie must not outlive this."""
    container().access.sign_out(unit, actor())
    context.sign_out()
    return redirect(url_for("auth.sign_in"), 303)


@blueprint.post("/people/<int:user_id>/view")
@in_unit
def view_as(user_id: int, *, unit: Unit) -> ResponseReturnValue:
    """View the console as this person, in this browser, until it is stopped or the session ends."""
    context.view_as(container().access.impersonation.start(unit, actor(), user_id))
    return redirect("/", 303)


@blueprint.post("/view-as/stop")
@open_to_guests
@in_unit
def stop_viewing(*, unit: Unit) -> ResponseReturnValue:
    """Be oneself again; without anybody viewed as it does nothing."""
    who = actor()
    container().access.impersonation.end(unit, who)
    context.stop_viewing()
    viewed = who.id if who.impersonator_id is not None else None
    return redirect(url_for("people.show", user_id=viewed) if viewed is not None else "/", 303)


def _form(status: int, refusal: ChangeoverError | None = None) -> ResponseReturnValue:
    wait = refusal.retry_after if isinstance(refusal, TooManyRequests) else None
    form = {
        "user_name": request.form.get("user_name", "")[:200],
        "next": safe_next(request.values.get("next")),
        "error": None if refusal is None else say(refusal),
        "wait_seconds": wait,
    }
    response = make_response(render_template("auth/sign_in.html", form=form), status)
    if wait is not None:
        response.headers["Retry-After"] = str(wait)
    return response
