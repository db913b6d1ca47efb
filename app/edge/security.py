"""What protects the browser: headers, the session cookie, and a token in every form (ASVS 3.4, 3.5.1)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from flask import Flask, Response, request
from flask.json.provider import DefaultJSONProvider
from flask_wtf.csrf import CSRFProtect
from secure import (
    CacheControl,
    ContentSecurityPolicy,
    CrossOriginOpenerPolicy,
    CrossOriginResourcePolicy,
    PermissionsPolicy,
    ReferrerPolicy,
    Secure,
    StrictTransportSecurity,
    XContentTypeOptions,
    XFrameOptions,
)

from app.core.config import Config
from app.core.errors import Invalid

MEGABYTE = 1024 * 1024
LARGEST_BODY = 64 * MEGABYTE
SESSION_LENGTH = timedelta(hours=12)
"""A session ends when it was not used for so long."""
FORM_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})


def _number(text: str) -> int | float:
    """JSON has one kind of number: 3.0 is the whole number 3 (JSON Schema, "integer")."""
    found = float(text)
    return int(found) if found.is_integer() and abs(found) < 2**53 else found


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no JSON")


class BoundedJson(DefaultJSONProvider):
    """JSON whose nesting is bounded by the reader: a body made to exhaust it is refused, not an error of ours."""

    sort_keys = False

    def loads(self, s: str | bytes, **kwargs: Any) -> Any:
        try:
            return super().loads(s, parse_float=_number, parse_constant=_no_number, **kwargs)
        except RecursionError:
            raise Invalid("input.json") from None


def init(app: Flask, config: Config) -> None:
    """Set the cookie's rules, refuse forms without our token and oversized bodies, and send the headers."""
    app.config.update(
        SECRET_KEY=config.secret_key.get_secret_value(),
        SESSION_COOKIE_NAME="__Host-changeover" if config.changeover_secure_cookies else "changeover",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        SESSION_COOKIE_SECURE=config.changeover_secure_cookies,
        PERMANENT_SESSION_LIFETIME=SESSION_LENGTH,
        MAX_CONTENT_LENGTH=LARGEST_BODY,
        MAX_FORM_MEMORY_SIZE=LARGEST_BODY,
        WTF_CSRF_CHECK_DEFAULT=False,
        WTF_CSRF_TIME_LIMIT=None,
    )
    app.json = BoundedJson(app)
    csrf = CSRFProtect()
    csrf.init_app(app)

    def check_form() -> None:
        """A request with an ``Authorization`` header never uses the cookie, so no other site can ride on it."""
        if request.method in FORM_METHODS and request.endpoint and "Authorization" not in request.headers:
            csrf.protect()

    app.before_request(check_form)
    app.after_request(_Headers(config.changeover_secure_cookies))


class _Headers:
    """Adds the headers to each answer; pages are never kept by caches, static files are."""

    def __init__(self, secure_cookies: bool) -> None:
        self.always = Secure(
            csp=_policy(),
            coop=CrossOriginOpenerPolicy().same_origin(),
            corp=CrossOriginResourcePolicy().same_origin(),
            hsts=StrictTransportSecurity().max_age(31_536_000).include_subdomains() if secure_cookies else None,
            permissions=PermissionsPolicy().geolocation().microphone().camera(),
            referrer=ReferrerPolicy().same_origin(),
            xcto=XContentTypeOptions().nosniff(),
            xfo=XFrameOptions().deny(),
        )
        self.fresh = Secure(cache=CacheControl().no_store())

    def __call__(self, response: Response) -> Response:
        self.always.set_headers(response)
        if request.endpoint != "static":
            self.fresh.set_headers(response)
        return response


def _policy() -> ContentSecurityPolicy:
    return (
        ContentSecurityPolicy()
        .default_src("'self'")
        .script_src("'self'")
        .style_src("'self'")
        .img_src("'self'", "data:")
        .object_src("'none'")
        .base_uri("'none'")
        .form_action("'self'")
        .frame_ancestors("'none'")
    )
