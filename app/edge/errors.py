"""The one table from outcome to status, and the two ways to say it: a page, or `application/problem+json` (RFC 9457).

Sentences come from `core/messages.py` in the language of the request. Input is never echoed beyond the names and
numbers that an error carries; unexpected errors say nothing but a reference id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

import structlog
from apiflask import HTTPError
from flask import (
    Flask,
    Response,
    current_app,
    g,
    got_request_exception,
    jsonify,
    make_response,
    render_template,
    request,
)
from flask_babel import gettext
from flask_wtf.csrf import CSRFError
from pydantic import ValidationError
from sqlalchemy.exc import DataError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from werkzeug.exceptions import HTTPException

from app.core import errors
from app.core.errors import ChangeoverError, Invalid
from app.core.messages import sentence
from app.edge.context import is_api, is_htmx, known_actor, sign_in_redirect
from app.edge.logs import request_id

log = structlog.get_logger(__name__)

STATUS: Mapping[type[ChangeoverError], int] = {
    errors.Invalid: 422,
    errors.PreconditionNeeded: 428,
    errors.Unauthenticated: 401,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.Stale: 409,
    errors.PreconditionFailed: 412,
    errors.TooManyRequests: 429,
    errors.Unavailable: 503,
    errors.ModelServerFailed: 503,
    errors.ConfigurationError: 500,
}
HTTP_CODES: Mapping[int, str] = {
    400: "input.malformed",
    404: "page.not_found",
    405: "page.method",
    413: "page.too_large",
    415: "input.json",
    422: "input.invalid",
}
AWAY_SECONDS = 5
PYDANTIC_CODES: Mapping[str, str] = {"missing": "input.required", "extra_forbidden": "input.unknown_field"}


@dataclass(frozen=True)
class Problem:
    """What is said of one outcome. ``code`` is a key of the messages; ``fields`` are path, sentence and code."""

    status: int
    code: str
    detail: str
    fields: tuple[tuple[str, str, str], ...] = ()
    retry_after: int | None = None
    details: Mapping[str, object] = field(default_factory=dict)


def init(app: Flask) -> None:
    """Answer every error of a view or of the routing."""
    app.register_error_handler(HTTPError, _answer)
    app.register_error_handler(Exception, _answer)


def status_of(error: ChangeoverError) -> int:
    """The status of an error of ours: that of its own class, or of the nearest one above it."""
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def say(error: ChangeoverError) -> str:
    """The error's sentence in the language of the request."""
    values = {name: gettext(value) if name == "reason" and value else value for name, value in error.values.items()}
    text = sentence(error.code, values, gettext)
    return f"[{error.request_id}] {text}" if isinstance(error, errors.ModelServerFailed) else text


def field_errors(error: ChangeoverError) -> dict[str, str]:
    """Field to sentence, for a form that is shown again; the empty field is the form as a whole."""
    return {path: detail for path, detail, _ in _fields(error)} or {"": say(error)}


def problem_of(error: Exception) -> Problem:
    """What to say of any error; one that nobody foresaw says nothing of itself."""
    if isinstance(error, ChangeoverError):
        retry = getattr(error, "retry_after", None)
        return Problem(
            status_of(error),
            error.code,
            say(error),
            tuple(_fields(error)),
            int(retry) + 1 if retry else None,
            error.details,
        )
    if isinstance(error, HTTPError) and isinstance(error.__cause__, ValidationError):
        error = error.__cause__
    if isinstance(error, ValidationError):
        return Problem(422, "input.invalid", _text("input.invalid"), tuple(_pydantic_fields(error)))
    if isinstance(error, OperationalError | InterfaceError | PoolTimeout):
        return Problem(503, "page.database_away", _text("page.database_away"), retry_after=AWAY_SECONDS)
    if isinstance(error, DataError):
        return _plain(400)
    if isinstance(error, CSRFError):
        return Problem(403, "access.csrf", _text("access.csrf"))
    if isinstance(error, HTTPException):
        return _plain(error.code or 500)
    if isinstance(error, HTTPError):
        return _plain(error.status_code)
    return _plain(500)


def _answer(error: Exception) -> Response:
    if isinstance(error, HTTPException) and (error.code is None or error.code < 400):
        return make_response(error.get_response(request.environ))
    if isinstance(error, errors.Unauthenticated) and not is_api() and "Authorization" not in request.headers:
        return sign_in_redirect()
    problem = problem_of(error)
    _log(error, problem)
    g.failed = True
    response = _problem_json(problem) if _wants_json() else _page(problem)
    if problem.retry_after is not None:
        response.headers["Retry-After"] = str(problem.retry_after)
    if problem.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, HTTPException) and getattr(error, "valid_methods", None):
        response.headers["Allow"] = ", ".join(sorted(error.valid_methods))  # type: ignore[attr-defined]
    return response


def _wants_json() -> bool:
    return is_api() or "Authorization" in request.headers


def _log(error: Exception, problem: Problem) -> None:
    if problem.status == 500:
        got_request_exception.send(current_app._get_current_object(), exception=error)  # type: ignore[attr-defined]
        log.error("unexpected_error", exc_info=error)
    elif problem.status == 503:
        log.warning("unavailable", code=problem.code, error=type(error).__name__)


def _problem_json(problem: Problem) -> Response:
    body: dict[str, object] = {
        "type": f"urn:changeover:{problem.code}",
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": problem.detail,
        "code": problem.code,
        "errors": [{"path": path, "detail": detail, "code": code} for path, detail, code in problem.fields],
        "reference": request_id(),
        **problem.details,
    }
    response = jsonify(body)
    response.status_code = problem.status
    response.mimetype = "application/problem+json"
    return response


def _page(problem: Problem) -> Response:
    error = {
        "status": problem.status,
        "title": _title(problem.status),
        "happened": problem.detail,
        "next": _next(problem),
        "reference": request_id(),
        "signed_in": known_actor().signed_in,
    }
    template = "errors/_error.html" if is_htmx() else "errors/error.html"
    try:
        page = render_template(template, error=error)
    except Exception as failure:
        log.error("error_page_failed", exc_info=failure)
        page = f"{problem.detail} {request_id()}"
        return Response(page, problem.status, mimetype="text/plain")
    return make_response(page, problem.status)


def _next(problem: Problem) -> str | None:
    """What to do, where the sentence does not say it."""
    if problem.code == "input.invalid" and problem.fields:
        return " ".join(f"{path}: {detail}" for path, detail, _ in problem.fields)
    if problem.code == "access.forbidden":
        return str(gettext("Ask an administrator for the permission."))
    if problem.status == 404:
        return str(gettext("Check the address, or search for what you need."))
    if problem.status == 500:
        return str(gettext("Try again. If it happens again, tell your administrator the reference."))
    return None


def _title(status: int) -> str:
    titles = {
        401: gettext("Sign in first"),
        403: gettext("You may not do this"),
        404: gettext("Not found"),
        409: gettext("Not possible now"),
        422: gettext("Something in the input is not right"),
        429: gettext("Too many attempts"),
        500: gettext("Something went wrong"),
        503: gettext("A part does not answer"),
    }
    return str(titles.get(status, gettext("This did not work")))


def _fields(error: ChangeoverError) -> Iterator[tuple[str, str, str]]:
    if error.path:
        yield error.path, say(error), error.code
    if isinstance(error, Invalid):
        for one in error.fields:
            yield from _fields(one)


def _pydantic_fields(error: ValidationError) -> Iterator[tuple[str, str, str]]:
    for item in error.errors(include_url=False, include_context=False, include_input=False):
        path = ".".join(str(part) for part in item["loc"])[:200]
        code = PYDANTIC_CODES.get(item["type"], "input.type")
        if code == "input.type":
            yield path, _text("input.wrong"), "input.wrong"
        else:
            yield path, sentence(code, {"field": path}, gettext), code


def _plain(status: int) -> Problem:
    code = HTTP_CODES.get(status, "input.malformed" if 400 <= status < 500 else "page.unexpected")
    return Problem(status, code, _text(code))


def _text(code: str) -> str:
    return sentence(code, {}, gettext)
