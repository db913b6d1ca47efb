"""What people look after themselves: name, language, password and tokens."""

from __future__ import annotations

from collections.abc import Mapping

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _

from app.core.access.actor import actor_of
from app.core.access.authority import oneself
from app.core.access.passwords import SHORTEST
from app.core.access.tokens import LONGEST_DAYS
from app.core.errors import Invalid, TooManyRequests
from app.core.idempotency.service import Resource
from app.core.locale import LOCALES
from app.core.unit import Unit
from app.edge import context
from app.edge.context import actor, container
from app.edge.errors import field_errors, say, status_of
from app.edge.idempotency import Made, idempotent
from app.edge.transactions import in_unit
from app.web.forms import text_field

blueprint = Blueprint("account", __name__)

DAYS = 30


@blueprint.get("/account")
@in_unit
def index(*, unit: Unit) -> ResponseReturnValue:
    """The person's own account."""
    return _page(unit, {})


@blueprint.post("/account")
@in_unit
def save(*, unit: Unit) -> ResponseReturnValue:
    """Change name and language."""
    values = {name: request.form.get(name, "") for name in ("display_name", "locale")}
    try:
        container().access.account.update(unit, actor(), values)
    except Invalid as refusal:
        return _page(unit, field_errors(refusal)), 422
    flash(_("Saved."), "success")
    return redirect(url_for("account.index"), 303)


@blueprint.post("/account/password")
@in_unit
def password(*, unit: Unit) -> ResponseReturnValue:
    """Change the password; this browser stays signed in. A refusal is an answer: the counted failure must be kept."""
    sent, address = request.form, request.remote_addr or ""
    try:
        if sent.get("password") != sent.get("repeated"):
            raise Invalid("access.password_differs", path="repeated")
        user = container().access.account.change_password(
            unit, actor(), sent.get("current", ""), sent.get("password", ""), address
        )
    except (Invalid, TooManyRequests) as refusal:
        errors = {"": say(refusal)} if isinstance(refusal, TooManyRequests) else field_errors(refusal)
        return _page(unit, errors), status_of(refusal)
    context.sign_in(user, actor_of(user, registry=container().registry))
    flash(_("The password is changed, and all other sessions have ended."), "success")
    return redirect(url_for("account.index"), 303)


@blueprint.get("/account/tokens")
@in_unit
def tokens(*, unit: Unit) -> ResponseReturnValue:
    """The person's tokens and the form for a new one."""
    return _tokens(unit, {})


def _made(unit: Unit, resource: Resource) -> ResponseReturnValue:
    """The form was sent again: the token is in the list, its secret was shown once."""
    flash(_("The token was made already. Its secret was shown once and can't be shown again."), "warning")
    return redirect(url_for("account.tokens"), 303)


@blueprint.post("/account/tokens")
@in_unit
@idempotent(_made)
def make_token(*, unit: Unit) -> ResponseReturnValue | Made:
    """Make a token and show its secret, this once."""
    sent = request.form
    days = sent.get("days", "")
    try:
        number = int(days) if days.isdecimal() and len(days) < 6 else 0
        token, secret = container().tokens.mint(unit, actor(), sent.get("name", ""), sent.getlist("scopes"), number)
    except Invalid as refusal:
        return _tokens(unit, field_errors(refusal)), 422
    return Made(_tokens(unit, {}, {"name": token.name, "secret": secret}), {"id": token.id})


@blueprint.post("/account/tokens/<int:token_id>/revoke")
@in_unit
def revoke(token_id: int, *, unit: Unit) -> ResponseReturnValue:
    """End one of the person's own tokens."""
    container().tokens.revoke(unit, actor(), token_id)
    flash(_("The token is revoked; scripts that use it are refused."), "success")
    return redirect(url_for("account.tokens"), 303)


def _page(unit: Unit, errors: Mapping[str, str]) -> str:
    user = container().access.account.user(unit, actor())
    typed = request.form if errors and "display_name" in request.form else None
    locales = [(known.code, known.name) for known in LOCALES.values()]
    name, chosen = (typed.get("display_name"), typed.get("locale")) if typed else (user.display_name, user.locale)
    hint = _("At least %(number)s characters. A sentence that only you know is easier than a riddle.", number=SHORTEST)
    return render_template(
        "account/index.html",
        user=user,
        fields=[
            text_field("display_name", _("Name"), name, errors, required=True, maxlength=200, autocomplete="name"),
            text_field("locale", _("Language"), chosen, errors, kind="select", required=True, options=locales),
        ],
        passwords=[
            _secret("current", _("Present password"), errors, "current-password"),
            _secret("password", _("New password"), errors, "new-password", hint),
            _secret("repeated", _("New password again"), errors, "new-password"),
        ],
        error=errors.get(""),
    )


def _secret(
    name: str, label: str, errors: Mapping[str, str], autocomplete: str, help: str | None = None
) -> dict[str, object]:
    return text_field(name, label, "", errors, kind="password", required=True, autocomplete=autocomplete, help=help)


def _tokens(unit: Unit, errors: Mapping[str, str], made: Mapping[str, str] | None = None) -> str:
    oneself(actor())
    typed = request.form if errors else {}
    chosen = request.form.getlist("scopes") if errors else ["read"]
    name_help = _("What uses it, so that you know later which one to revoke.")
    days_help = _("Days until it expires, at most %(number)s.", number=LONGEST_DAYS)
    scopes = (
        ("read", _("Read"), _("Search and read records.")),
        ("write", _("Write"), _("Create, change and delete records.")),
        ("admin", _("Administer"), _("Change settings, people and roles; control switches.")),
    )
    return render_template(
        "account/tokens.html",
        tokens=container().tokens.mine(unit, actor()),
        fields=[
            text_field("name", _("Name"), typed.get("name"), errors, required=True, maxlength=100, help=name_help),
            text_field("days", _("Valid for"), typed.get("days", DAYS), errors, kind="number", required=True)
            | {"help": days_help},
        ],
        scopes=[(*scope, scope[0] in chosen) for scope in scopes],
        scopes_error=errors.get("scopes"),
        made=made,
    )
