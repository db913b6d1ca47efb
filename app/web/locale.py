"""The language of the interface and the light or dark of it."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import urlsplit

from flask import Blueprint, Response, redirect, request
from flask.typing import ResponseReturnValue

from app.core.errors import Invalid
from app.core.locale import LOCALES
from app.core.unit import Unit
from app.edge.context import LOCALE_COOKIE, actor, container, public, safe_next
from app.edge.transactions import in_unit
from app.web.pages import THEME_COOKIE, THEMES

blueprint = Blueprint("locale", __name__)

YEAR = timedelta(days=365)


@blueprint.post("/locale")
@public
@in_unit
def choose(*, unit: Unit) -> ResponseReturnValue:
    """Keep the language in this browser and, for a signed-in person, everywhere."""
    chosen = request.form.get("locale", "")
    if chosen not in LOCALES:
        raise Invalid("input.choice", path="locale", value=chosen[:20], allowed=", ".join(LOCALES))
    container().access.set_locale(unit, actor(), chosen)
    return _remember(LOCALE_COOKIE, chosen)


@blueprint.post("/theme")
@public
def choose_theme() -> ResponseReturnValue:
    """Keep light or dark in this browser."""
    chosen = request.form.get("theme", "")
    if chosen not in THEMES:
        raise Invalid("input.choice", path="theme", value=chosen[:20], allowed=", ".join(THEMES))
    return _remember(THEME_COOKIE, chosen)


def _remember(cookie: str, value: str) -> Response:
    came_from = urlsplit(request.headers.get("Referer", ""))
    here = f"{came_from.path}?{came_from.query}" if came_from.query else came_from.path
    response: Response = redirect(safe_next(request.form.get("next") or here), 303)  # type: ignore[assignment]
    secure = container().config.changeover_secure_cookies
    response.set_cookie(cookie, value, max_age=YEAR, samesite="Lax", secure=secure)
    return response
