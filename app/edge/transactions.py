"""One unit of work per request: opened here, committed after the view has answered, rolled back on any error."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from flask import has_request_context, request

from app.core.unit import Origin
from app.edge.context import container, is_api
from app.edge.logs import request_id

Answer = TypeVar("Answer")


def in_unit(view: Callable[..., Answer]) -> Callable[..., Answer]:
    """Give the view the keyword ``unit``; what it returns is rendered by then, and the commit follows.

    Not for views that call a model or search server: no transaction stays open meanwhile (`architecture.md` 2).
    """

    @wraps(view)
    def in_one_unit(*args: object, **kwargs: object) -> Answer:
        with container().units(origin=origin()) as unit:
            return view(*args, unit=unit, **kwargs)

    return in_one_unit


def origin() -> Origin:
    """Where this request came from, for the audit of what it changes; without a request, a command asked for it."""
    if not has_request_context():
        return Origin("command")
    return Origin("api" if is_api() else "page", request.remote_addr, request_id())
