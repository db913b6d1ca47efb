"""Who may use the console: the list, and a page per person with roles, sessions, tokens and what happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _

from app.core.access.actor import ADMINISTRATOR
from app.core.access.models import User
from app.core.access.people import PAGE, Asked
from app.core.errors import Conflict, Invalid
from app.core.idempotency.service import Resource
from app.core.locale import LOCALES
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.errors import field_errors, status_of
from app.edge.idempotency import Made, idempotent
from app.edge.transactions import in_unit
from app.web.forms import checkbox, offset_pages, text_field

blueprint = Blueprint("people", __name__)

SWITCHES = ("needs_approval", "is_guest", "is_active")
RECENT = 10


@blueprint.get("/people")
@in_unit
def index(*, unit: Unit) -> ResponseReturnValue:
    """Everybody with their roles; ``q``, ``role`` and ``state`` filter, ``page`` from 1."""
    people = container().access.people
    form = {name: request.args.get(name, "").strip()[:100] for name in ("q", "role", "state")}
    active = {"active": True, "disabled": False}.get(form["state"])
    number = request.args.get("page", "1")
    page = min(int(number), 100_000) if number.isdecimal() and int(number) > 0 else 1
    found, total = people.page(unit, actor(), Asked(form["q"], form["role"] or None, active, page))
    return render_template(
        "people/index.html",
        people=found,
        form=form,
        roles=[("", _("All roles")), *((name, name) for name in container().access.roles.names(unit, actor()))],
        states=[("", _("All states")), ("active", _("Active")), ("disabled", _("Disabled"))],
        page=offset_pages("people.index", form, page, PAGE, len(found), total),
        can_change=actor().may("users.update"),
    )


@blueprint.get("/people/new")
@in_unit
def new(*, unit: Unit) -> ResponseReturnValue:
    """The form for a new person."""
    return _new_form(unit, {})


def _made(unit: Unit, resource: Resource) -> ResponseReturnValue:
    return redirect(url_for("people.show", user_id=resource["id"]), 303)


@blueprint.post("/people/new")
@in_unit
@idempotent(_made)
def create(*, unit: Unit) -> ResponseReturnValue | Made:
    """Add a person; refusals stand at their fields."""
    password = request.form.get("password") or None
    try:
        login = request.form.get("login", "")
        user = container().access.people.create(unit, actor(), login, _sent(unit, is_new=True), password)
    except (Invalid, Conflict) as refusal:
        return _new_form(unit, field_errors(refusal)), status_of(refusal)
    flash(_("%(name)s is added.", name=user.display_name), "success")
    return Made(redirect(url_for("people.show", user_id=user.id), 303), {"id": user.id})


@blueprint.get("/people/<int:user_id>")
@in_unit
def show(user_id: int, *, unit: Unit) -> ResponseReturnValue:
    """One person: who they are, what they may do, sessions, tokens and what happened lately."""
    return _page(unit, container().access.people.get(unit, actor(), user_id), {})


@blueprint.post("/people/<int:user_id>")
@in_unit
def update(user_id: int, *, unit: Unit) -> ResponseReturnValue:
    """Change the person; a refusal changes nothing and stands at its field or above the form."""
    people = container().access.people
    try:
        people.update(unit, actor(), user_id, _sent(unit, is_new=False))
    except (Invalid, Conflict) as refusal:
        return _page(unit, people.get(unit, actor(), user_id), field_errors(refusal)), status_of(refusal)
    return _back(user_id, _("Saved. Roles count from the next request on."))


@blueprint.post("/people/<int:user_id>/password")
@in_unit
def set_password(user_id: int, *, unit: Unit) -> ResponseReturnValue:
    """Give the person a new password."""
    people = container().access.people
    try:
        people.set_password(unit, actor(), user_id, request.form.get("password", ""))
    except Invalid as refusal:
        return _page(unit, people.get(unit, actor(), user_id), {}, field_errors(refusal)), 422
    return _back(user_id, _("The password is changed, and all sessions have ended."))


@blueprint.post("/people/<int:user_id>/end-sessions")
@in_unit
def end_sessions(user_id: int, *, unit: Unit) -> ResponseReturnValue:
    """Sign the person out everywhere."""
    container().access.people.end_sessions(unit, actor(), user_id)
    return _back(user_id, _("All sessions have ended."))


@blueprint.post("/people/<int:user_id>/tokens/<int:token_id>/revoke")
@in_unit
def revoke(user_id: int, token_id: int, *, unit: Unit) -> ResponseReturnValue:
    """End one of the person's tokens."""
    container().tokens.revoke_of(unit, actor(), user_id, token_id)
    return _back(user_id, _("The token is revoked; scripts that use it are refused."))


def _back(user_id: int, said: str) -> ResponseReturnValue:
    flash(said, "success")
    return redirect(url_for("people.show", user_id=user_id), 303)


def _sent(unit: Unit, *, is_new: bool) -> dict[str, object]:
    """The form's values for the service; a box that is not checked is false."""
    sent = request.form
    tenant = sent.get("tenant_id", "").strip()
    values: dict[str, object] = {
        "display_name": sent.get("display_name", ""),
        "email": sent.get("email", ""),
        "locale": sent.get("locale", ""),
        "roles": sent.getlist("roles"),
        "tenant_id": None if not tenant else int(tenant) if tenant.isdecimal() and len(tenant) < 20 else tenant,
        **{name: name in sent for name in SWITCHES},
    }
    if is_new:
        values["is_active"] = True
    return values


def _new_form(unit: Unit, errors: Mapping[str, str]) -> str:
    shown = {**_typed(), "roles": request.form.getlist("roles")} if request.method == "POST" else {"locale": "en"}
    help_text = _("At least 8 characters. Without one, nobody can sign in as this person.")
    password = text_field("password", _("Password"), "", errors, kind="password", help=help_text)
    login = text_field("login", _("User name"), request.form.get("login", ""), errors, required=True, maxlength=64)
    return render_template(
        "people/new.html",
        login={**login, "help": _("Small letters, digits, dot, dash, _ and @. It can't be changed later.")},
        fields=_fields(shown, errors),
        switches=_switches(shown, errors, is_new=True),
        roles=_roles(unit, shown.get("roles", ())),
        roles_error=errors.get("roles"),
        password={**password, "autocomplete": "new-password"},
        error=errors.get(""),
    )


def _page(unit: Unit, user: User, errors: Mapping[str, str], password_errors: Mapping[str, str] | None = None) -> str:
    who = actor()
    typed = bool(errors) and request.method == "POST"
    held = [role.name for role in user.roles]
    shown = {**_typed(), "roles": request.form.getlist("roles")} if typed else {**_stored(user), "roles": held}
    passwords = password_errors or {}
    return render_template(
        "people/person.html",
        user=user,
        revoke_of=user.id,
        fields=_fields(shown, errors),
        switches=_switches(shown, errors, is_new=False),
        roles=_roles(unit, shown["roles"]),
        roles_error=errors.get("roles"),
        error=errors.get(""),
        password=text_field("password", _("New password"), "", passwords, kind="password", required=True),
        tokens=container().tokens.of(unit, who, user.id),
        history=container().audit_log.history(unit, who, "users", user.id, size=RECENT),
        can_read_audit=who.may("audit.select"),
        can_change=who.may("users.update"),
        can_view_as=_can_view_as(user),
    )


def _can_view_as(user: User) -> bool:
    who = actor()
    own = who.impersonator_id is None and who.scopes is None and who.may("users.impersonate")
    return own and user.is_active and user.id != who.id and all(role.name != ADMINISTRATOR for role in user.roles)


def _stored(user: User) -> dict[str, object]:
    names = ("display_name", "email", "locale", "tenant_id", *SWITCHES)
    return {name: getattr(user, name) for name in names}


def _typed() -> dict[str, object]:
    names = ("display_name", "email", "locale", "tenant_id")
    typed: dict[str, object] = {name: request.form.get(name, "")[:500] for name in names}
    return typed | {name: name in request.form for name in SWITCHES}


def _fields(shown: Mapping[str, object], errors: Mapping[str, str]) -> list[dict[str, object]]:
    locales = [(known.code, known.name) for known in LOCALES.values()]
    tenant_help = _("A number that row rules can compare with; leave it empty when there is only one.")
    return [
        text_field("display_name", _("Name"), shown.get("display_name"), errors, required=True, maxlength=200),
        text_field("email", _("E-mail address"), shown.get("email"), errors, kind="email", maxlength=254),
        {**text_field("locale", _("Language"), shown.get("locale"), errors, required=True, kind="select")}
        | {"options": locales},
        text_field("tenant_id", _("Tenant"), shown.get("tenant_id"), errors, help=tenant_help),
    ]


def _switches(shown: Mapping[str, object], errors: Mapping[str, str], *, is_new: bool) -> list[dict[str, object]]:
    labels = {
        "needs_approval": (_("Needs approval"), _("Changes of moderated records and settings wait for votes.")),
        "is_guest": (_("Guest"), _("Signed in but only reads, whatever the roles grant.")),
        "is_active": (_("Active"), _("Without it the person is signed out at once, and tokens are refused.")),
    }
    names = SWITCHES[:2] if is_new else SWITCHES
    return [checkbox(name, *labels[name], bool(shown.get(name)), errors) for name in names]


def _roles(unit: Unit, chosen: object) -> Sequence[tuple[str, bool]]:
    held = chosen if isinstance(chosen, list | tuple) else ()
    return [(name, name in held) for name in container().access.roles.names(unit, actor())]
