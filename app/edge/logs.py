"""Structured logs: one JSON object per line on standard error, with event, level, time and request_id.

An event is a constant name plus fields. Texts, queries, keys and values never get here: an error is logged as its
class and the places it passed through, without its message, since drivers put values into messages.
"""

from __future__ import annotations

import logging
import sys
import traceback
from time import perf_counter
from uuid import uuid4

import structlog
from flask import Flask, Response, g, request
from structlog.typing import EventDict, WrappedLogger

from app.edge.context import known_actor

log = structlog.get_logger("request")

FOREIGN_LEVEL = logging.WARNING
"""Libraries speak from here on; below it they log statements, addresses and bodies."""


def configure(level: str) -> None:
    """Send every log of the process, ours and the libraries', to standard error as JSON lines. Safe to repeat."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
        _plain_error,
    ]
    structlog.configure(
        processors=[*shared, structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=_stderr_logger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [other for other in root.handlers if not _is_ours(other)] + [handler]
    root.setLevel(FOREIGN_LEVEL)


def init(app: Flask) -> None:
    """Give each request an id (also the ``X-Request-Id`` of its answer) and one line."""
    app.before_request(_begin)
    app.after_request(_end)


def request_id() -> str:
    """The reference id of this request: what an error page shows and support finds in the logs."""
    if "request_id" not in g:
        g.request_id = uuid4().hex[:12]
    return str(g.request_id)


def places(error: BaseException) -> list[str]:
    """Where an error passed through, innermost last, its causes first: file, line and function, no values."""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    frames = traceback.extract_tb(error.__traceback__)[-12:]
    own = [f"{frame.filename.rpartition('/site-packages/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
    return [*(places(cause) if cause is not None else []), f"{type(error).__module__}.{type(error).__qualname__}", *own]


def _begin() -> None:
    g.began = perf_counter()
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=request_id())


def _end(response: Response) -> Response:
    response.headers["X-Request-Id"] = request_id()
    quiet = request.endpoint == "static" or request.path in ("/healthz", "/readyz")
    (log.debug if quiet else log.info)(
        "request",
        method=request.method,
        route=request.url_rule.rule if request.url_rule else None,
        status=response.status_code,
        ms=round((perf_counter() - g.get("began", perf_counter())) * 1000, 1),
        user=known_actor().id,
    )
    return response


def _plain_error(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Replace a traceback, whose last line is the message, by class and places."""
    given = event.pop("exc_info", None)
    error = given[1] if isinstance(given, tuple) else given if isinstance(given, BaseException) else None
    if given is True:
        error = sys.exc_info()[1]
    if isinstance(error, BaseException):
        event["error"] = type(error).__name__
        event["places"] = places(error)
    event.pop("stack_info", None)
    return event


def _stderr_logger(*_names: object) -> structlog.PrintLogger:
    return structlog.PrintLogger(sys.stderr)


def _is_ours(handler: logging.Handler) -> bool:
    return isinstance(handler.formatter, structlog.stdlib.ProcessorFormatter)
