"""A request becomes an actor, a language and the parts it may use.

Who asks is settled once per request: an ``Authorization`` header counts alone, even when it is no good, and never
falls back to the cookie (`core.md`); else the session counts; else nobody is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, tzinfo
from typing import TypeVar, cast
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from flask import Flask, Response, current_app, g, redirect, request, session, url_for
from flask_babel import Babel
from flask_login import LoginManager, UserMixin, current_user, login_user, logout_user

from app.container import Container
from app.core.access.models import User
from app.core.contracts.actor import ANONYMOUS, Actor
from app.core.errors import Forbidden, Unauthenticated
from app.core.locale import DEFAULT_LOCALE, LOCALES

View = TypeVar("View", bound=Callable[..., object])

API = "/api/"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
ADMINISTERED = ("/api/v1/settings", "/api/v1/tokens", "/api/v1/embedding-")
"""Where a token that changes something needs the scope admin."""
LOCALE_COOKIE = "locale"
ZONE_COOKIE = "timezone"
_ZONE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}")


class SessionUser(UserMixin):  # type: ignore[misc]
    """What the cookie holds of a person: the id and the version of their sessions."""

    def __init__(self, actor: Actor, version: int) -> None:
        self.actor = actor
        self.version = version

    def get_id(self) -> str:
        return f"{self.actor.id}:{self.version}"


def init(app: Flask, babel: Babel, login: LoginManager) -> None:
    """Tell the libraries how we answer who is asking, in which language and zone."""
    login.init_app(app)
    login.session_protection = None
    login.user_loader(_session_user)
    babel.init_app(app, locale_selector=locale, timezone_selector=zone)
    app.before_request(_admit)


def container() -> Container:
    """The parts of the running console."""
    return cast(Container, current_app.extensions["changeover"])


def public(view: View) -> View:
    """Mark a view that needs nobody to be signed in."""
    view.is_public = True  # type: ignore[attr-defined]
    return view


def is_api() -> bool:
    """Whether the request asks the API, where errors are JSON."""
    return request.path.startswith(API) or request.path in ("/healthz", "/readyz")


def is_htmx() -> bool:
    """Whether a part of a page is asked for."""
    return request.headers.get("HX-Request") == "true"


def actor() -> Actor:
    """Who is asking. Raises :class:`Unauthenticated` for a token that is no good."""
    if "actor" not in g:
        g.actor = _resolve()
    return cast(Actor, g.actor)


def known_actor() -> Actor:
    """Who is asking as far as it is settled already: for error pages, which must not ask the database again."""
    return cast(Actor, g.get("actor", ANONYMOUS))


def locale() -> str:
    """The person's language; a script's ``Accept-Language``; before sign-in the cookie or what the browser prefers."""
    if not request:
        return DEFAULT_LOCALE
    wished = request.accept_languages.best_match(list(LOCALES))
    person = known_actor()
    if person.signed_in and person.scopes is None:
        return person.locale
    if person.signed_in:
        return wished or person.locale
    chosen = request.cookies.get(LOCALE_COOKIE, "")
    return chosen if chosen in LOCALES else wished or DEFAULT_LOCALE


def zone() -> tzinfo:
    """The browser's time zone when its cookie names one that exists, else UTC."""
    name = request.cookies.get(ZONE_COOKIE, "") if request else ""
    if not _ZONE_NAME.fullmatch(name):
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return UTC


def sign_in(user: User, actor: Actor) -> None:
    """Begin a new session for the person; nothing of the one before stays (ASVS 7.2.4)."""
    session.clear()
    session.permanent = True
    login_user(SessionUser(actor, user.session_version))
    g.actor = actor


def sign_out() -> None:
    """Forget the person in this browser."""
    logout_user()
    session.clear()
    g.actor = ANONYMOUS


def safe_next(target: str | None) -> str:
    """``target`` when it is an address inside the console, else the start page: a link never leads elsewhere."""
    if not target or not target.startswith("/") or target.startswith(("//", "/\\")) or "\\" in target:
        return "/"
    parts = urlsplit(target)
    return target if not parts.scheme and not parts.netloc and target.isprintable() else "/"


def sign_in_redirect() -> Response:
    """Send a person to the sign-in and back to where they were afterwards."""
    if is_htmx():
        here = urlsplit(request.headers.get("HX-Current-URL", ""))
        back = safe_next(f"{here.path}?{here.query}" if here.query else here.path)
        response = Response(status=401)
        response.headers["HX-Redirect"] = url_for("auth.sign_in", next=back)
        return response
    back = request.full_path.rstrip("?") if request.method in SAFE_METHODS else "/"
    return cast(Response, redirect(url_for("auth.sign_in", next=safe_next(back)), 303))


def _admit() -> Response | None:
    """Refuse nobody at pages and API, and tokens without the scope; permissions are the services' business."""
    if request.endpoint == "static":
        return None
    if request.endpoint is None:
        if not is_api() and "Authorization" not in request.headers:
            actor()  # who gets lost in the console keeps its frame around the error
        return None
    view = current_app.view_functions.get(request.endpoint)
    if getattr(view, "is_public", False):
        if not is_api():
            actor()
        return None
    who = actor()
    if not who.signed_in:
        if is_api() or "Authorization" in request.headers:
            raise Unauthenticated("access.sign_in")
        return sign_in_redirect()
    if who.scopes is not None and _scope() not in who.scopes:
        raise Forbidden("access.scope", scope=_scope())
    return None


def _scope() -> str:
    if request.method in SAFE_METHODS:
        return "read"
    return "admin" if request.path.startswith(ADMINISTERED) else "write"


def _resolve() -> Actor:
    header = request.headers.get("Authorization")
    if header is not None:
        scheme, _, secret = header.partition(" ")
        if scheme.lower() != "bearer":
            raise Unauthenticated("access.token_invalid")
        with container().units() as unit:
            return container().tokens.actor(unit, secret.strip())
    return current_user.actor if isinstance(current_user._get_current_object(), SessionUser) else ANONYMOUS


def _session_user(stored: str) -> SessionUser | None:
    user_id, _, version = stored.partition(":")
    if not (user_id.isdigit() and version.isdigit()):
        return None
    with container().units() as unit:
        found = container().access.actor_by_session(unit, int(user_id), int(version))
    return None if found is None else SessionUser(found, int(version))
