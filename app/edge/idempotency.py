"""A second submit of the same key or form gets the first outcome: `@idempotent`, below `@in_unit`.

::

    def _made(unit: Unit, resource: Resource) -> ResponseReturnValue:
        record = container().records.get(unit, actor(), str(resource["entity"]), int(resource["id"] or 0))
        return to_json(record), 201

    @blueprint.post("/insert/<module>/<name>")
    @blueprint.input(…)                 # where there is one
    @in_unit
    @idempotent(_made)
    def insert(module: str, name: str, *, unit: Unit) -> Made:
        record = container().records.create(unit, actor(), f"{module}.{name}", …)
        return Made(_answer(record, 201), {"entity": record.entity, "id": record.id})

The view returns :class:`Made`: its answer, and the ids of what it made. Anything else it returns made nothing (a form
that is shown again) and is not remembered. A repeat runs ``render(unit, resource)`` instead of the view; it reads
through a service, so that permissions are checked again, and gets ids only, so that a secret can't come back: a
token's replay says that it is not shown again. The status is the first one's, the header ``Idempotency-Replayed`` is
``true``.

The key is the header ``Idempotency-Key`` of the API, and the hidden field ``submission`` of a form (the template
writes ``{{ forms.once() }}`` into it). Without either the view simply runs. On a page a double click waits for
the first one; in the API it is told 409 with ``Retry-After``.

For an effect that opens its own unit (a switch, which calls a model server first): `@idempotent_apart(render)` without
`@in_unit`. Its view gets the keyword ``remember``, a function of (unit, resource) that the effect calls in its unit.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps

from flask import Flask, Response, current_app, make_response, request
from flask.typing import ResponseReturnValue

from app.core.errors import Busy, Invalid
from app.core.idempotency.service import Claim, Outcome, Resource
from app.core.unit import Unit
from app.edge.context import actor, container, is_api
from app.edge.transactions import origin

HEADER = "Idempotency-Key"
FIELD = "submission"
REPLAYED = "Idempotency-Replayed"
WAIT_OF_PAGES = 5_000
"""Milliseconds that the second of two clicks waits for the first."""
ACCEPTED = 202
_KEY = re.compile(r"[\x20-\x7e]{1,255}")
_NOT_CONTENT = frozenset({FIELD, "csrf_token"})

Render = Callable[[Unit, Resource], ResponseReturnValue]
Remember = Callable[[Unit, Resource], None]


@dataclass(frozen=True)
class Made:
    """What a creating view returns: the answer of this once, and the ids that a repeat is rendered from."""

    answer: ResponseReturnValue
    resource: Resource


def idempotent(render: Render) -> Callable[[Callable[..., ResponseReturnValue | Made]], Callable[..., Response]]:
    """See the module. The view must be called with the keyword ``unit``."""

    def decorate(view: Callable[..., ResponseReturnValue | Made]) -> Callable[..., Response]:
        @wraps(view)
        def once(*args: object, unit: Unit, **kwargs: object) -> Response:
            claim = _claim()
            outcome = None if claim is None else container().idempotency.outcome(unit, claim)
            if outcome is not None:
                return _again(render(unit, outcome.resource), outcome)
            made = view(*args, unit=unit, **kwargs)
            if not isinstance(made, Made):
                return make_response(made)
            answer = make_response(made.answer)
            if claim is not None:
                container().idempotency.remember(unit, claim, Outcome(answer.status_code, made.resource))
            return answer

        once.is_idempotent = True  # type: ignore[attr-defined]
        return once

    return decorate


def idempotent_apart(
    render: Render, status: int = ACCEPTED
) -> Callable[[Callable[..., ResponseReturnValue]], Callable[..., Response]]:
    """As :func:`idempotent`, for a view whose effect opens its own unit; ``status`` is what a made answer has."""

    def decorate(view: Callable[..., ResponseReturnValue]) -> Callable[..., Response]:
        @wraps(view)
        def once(*args: object, **kwargs: object) -> Response:
            claim = _claim()
            if claim is not None:
                with container().units(origin=origin()) as unit:
                    outcome = container().idempotency.outcome(unit, claim)
                    if outcome is not None:
                        return _again(render(unit, outcome.resource), outcome)
            return make_response(view(*args, remember=_keeper(claim, status), **kwargs))

        once.is_idempotent = True  # type: ignore[attr-defined]
        return once

    return decorate


def init(app: Flask) -> None:
    """Give the templates ``submission_token()``, which makes a form count once however often it is sent."""
    app.jinja_env.globals["submission_token"] = partial(secrets.token_urlsafe, 16)


def _keeper(claim: Claim | None, status: int) -> Remember:
    """Takes the lock in the effect's unit too, where a twin may have come first: then this one fails as running."""

    def remember(unit: Unit, resource: Resource) -> None:
        if claim is None:
            return
        if container().idempotency.outcome(unit, claim) is not None:
            raise Busy("idempotency.running", retry_after=1)
        container().idempotency.remember(unit, claim, Outcome(status, resource))

    return remember


def _again(answer: ResponseReturnValue, outcome: Outcome) -> Response:
    response = make_response(answer)
    response.status_code = outcome.status
    response.headers[REPLAYED] = "true"
    return response


def _claim() -> Claim | None:
    """The request as a claim; None without a key. Raises :class:`Invalid` for a key that has another form."""
    key = request.headers.get(HEADER) if is_api() else request.form.get(FIELD)
    who = actor()
    if key is None or who.id is None:
        return None
    if not _KEY.fullmatch(key):
        raise Invalid("input.invalid", fields=[Invalid("idempotency.key", path=HEADER if is_api() else FIELD)])
    rule = request.url_rule.rule if request.url_rule else request.path
    return Claim(who.id, f"{request.method} {rule}", key, _canonical(), 0 if is_api() else WAIT_OF_PAGES)


def _canonical() -> bytes:
    """Address, query and body in one form: the order of names and the blanks between them don't count."""
    fields: object = None
    body = request.get_data(cache=True) if not request.form else b""
    if request.form:
        fields = sorted((name, values) for name, values in request.form.lists() if name not in _NOT_CONTENT)
    elif body and request.is_json:
        try:
            fields = current_app.json.loads(body)
        except ValueError:
            fields = body.hex()
    elif body:
        fields = body.hex()
    return json.dumps([request.path, sorted(request.args.lists()), fields], sort_keys=True).encode()
