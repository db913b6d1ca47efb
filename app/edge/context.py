"""A request becomes an actor, a language and the parts it may use.

Who asks is settled once per request: an ``Authorization`` header counts alone, even when it is no good, and never
falls back to the cookie (`core.md`); else the session counts; else nobody is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, TypeVar, cast
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from flask import Flask, Response, current_app, flash, g, redirect, request, session, url_for
from flask_babel import Babel, gettext
from flask_login import LoginManager, UserMixin, current_user, login_user, logout_user

from app.container import Container
from app.core.access.models import User
from app.core.contracts.actor import ANONYMOUS, Actor
from app.core.errors import Conflict, Forbidden, Unauthenticated
from app.core.locale import DEFAULT_LOCALE, LOCALES

if TYPE_CHECKING:
    from app.embeddings.parts import EmbeddingParts

View = TypeVar("View", bound=Callable[..., object])

API = "/api/"
API_PAGE = "/api/docs"
"""The one page among them."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
ADMINISTERED = (
    "/api/v1/settings",
    "/api/v1/tokens",
    "/api/v1/users",
    "/api/v1/roles",
    "/api/v1/embedding-",
    "/api/v1/vector-health",
    "/api/v1/queues",
    "/api/v1/documentation/queries",
)
"""Where a token that changes something needs the scope admin."""
VIEWING_AS = "viewing_as"
"""In the session of an administrator: id and session version of the person as whom they view the console."""
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


def embedding_parts() -> EmbeddingParts:
    """The part that runs the vectors, for someone who may look at it.

    Raises :class:`Unavailable` where it is not installed, and :class:`Forbidden`.
    """
    found = container().embedding_parts()
    found.switching.permit_reading(actor())
    return found


def public(view: View) -> View:
    """Mark a view that needs nobody to be signed in."""
    view.is_public = True  # type: ignore[attr-defined]
    return view


def open_to_guests(view: View) -> View:
    """Mark a view that a guest may use although it is no reading: nothing is changed for anybody but this browser."""
    view.is_open_to_guests = True  # type: ignore[attr-defined]
    return view


def is_api() -> bool:
    """Whether the request asks the API, where errors are JSON."""
    if request.path == API_PAGE:
        return False
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
    if person.signed_in and person.scopes is not None:
        return wished or person.locale
    chosen = request.cookies.get(LOCALE_COOKIE, "")
    if person.signed_in and not (chosen in LOCALES and is_borrowed(person)):
        return person.locale
    return chosen if chosen in LOCALES else wished or DEFAULT_LOCALE


def is_borrowed(person: Actor) -> bool:
    """Whether the account is not that of whoever sits there: a guest's, or one that is viewed as."""
    return person.is_guest or person.impersonator_id is not None


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


def view_as(user: User) -> None:
    """From the next request on this session acts as ``user``; it stays the administrator's."""
    session[VIEWING_AS] = f"{user.id}:{user.session_version}"


def stop_viewing() -> None:
    """From the next request on this session acts as its owner again."""
    session.pop(VIEWING_AS, None)


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
    if who.is_guest and request.method not in SAFE_METHODS and not getattr(view, "is_open_to_guests", False):
        raise Forbidden("access.guest")  # permissions are held to reading in `Actor.may`; this closes what needs none
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
    owner = current_user._get_current_object()
    if not isinstance(owner, SessionUser):
        return ANONYMOUS
    return _viewed(owner.actor) if VIEWING_AS in session else owner.actor


def _viewed(owner: Actor) -> Actor:
    """The person as whom the session's owner views the console, or the owner when that has ended.

    What was sent as the other person is never done as the administrator: raises :class:`Conflict` for it.
    """
    user_id, _, version = str(session[VIEWING_AS]).partition(":")
    if user_id.isdigit() and version.isdigit():
        with container().units() as unit:
            found = container().access.impersonation.actor(unit, owner, int(user_id), int(version))
        if found is not None:
            return found
    stop_viewing()
    g.actor = owner
    if request.method not in SAFE_METHODS:
        raise Conflict("access.view_ended")
    flash(gettext("Viewing as the other person has ended; you are yourself again."), "warning")
    return owner


def _session_user(stored: str) -> SessionUser | None:
    user_id, _, version = stored.partition(":")
    if not (user_id.isdigit() and version.isdigit()):
        return None
    with container().units() as unit:
        found = container().access.actor_by_session(unit, int(user_id), int(version))
    return None if found is None else SessionUser(found, int(version))
