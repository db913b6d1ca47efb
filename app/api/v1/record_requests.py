"""What the routes of records share: reading the query, the body and the precondition of a request, and answering.

The entity tag of a record is its revision. A change names the revision that it was made on, in the body or by
``If-Match``; ``If-Match: *`` says in so many words that any will do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from flask import Response, current_app, jsonify, request

from app.core.crud.serialise import Record, etag, json_value, to_json
from app.core.crud.service import ANY_REVISION, Captured
from app.core.errors import ChangeoverError, Invalid, PreconditionFailed, PreconditionNeeded, Stale
from app.core.locale import LOCALES
from app.edge.context import locale

LISTED = ("q", "filter", "sort", "page", "size", "cursor", "deleted", "fields", "locale")
UNKNOWN_TAG = 0
"""A revision that no record has: a tag that is not one of ours fits nothing."""
_TAG = re.compile(r'(?:W/)?"([^"]*)"')
Body = dict[str, object]


def asked(known: Collection[str] = LISTED) -> dict[str, object]:
    """The query's values; one that is unknown or given twice is refused, so that no filter is lost silently.

    ``filter`` is parsed JSON. ``locale`` is always there: the one named, else the language of the request.
    """
    problems: list[ChangeoverError] = []
    for name, values in request.args.lists():
        if name not in known:
            problems.append(Invalid("input.unknown_field", path=name[:100], field=name[:100]))
        elif len(values) > 1:
            problems.append(Invalid("input.repeated", path=name, field=name))
    if problems:
        raise Invalid("input.invalid", fields=problems)
    found: dict[str, object] = dict(request.args.items())
    if found.get("filter"):
        found["filter"] = _json(str(found["filter"]))
    if "locale" in known:
        found["locale"] = found.get("locale") or locale()
    return found


def _json(text: str) -> object:
    try:
        value = current_app.json.loads(text)
    except (ValueError, Invalid):
        value = None
    if not isinstance(value, dict):
        raise Invalid("input.invalid", fields=[Invalid("input.json", path="filter")])
    return value


def body() -> Body:
    """The body, which must be a JSON object."""
    try:
        value = request.get_json()
    except RecursionError:
        raise Invalid("input.json") from None
    if not isinstance(value, dict):
        raise Invalid("input.json")
    return value


def asked_locale(found: Mapping[str, object]) -> str:
    """The language named in the query, else that of the request. Raises :class:`Invalid` for one that we don't have."""
    code = str(found.get("locale") or locale())
    if code not in LOCALES:
        refused = Invalid("input.choice", path="locale", value=code[:20], allowed=", ".join(LOCALES))
        raise Invalid("input.invalid", fields=[refused])
    return code


@dataclass(frozen=True)
class Precondition:
    """The revision that a change was made on; ``by_header`` decides how a later one is told: 412, else 409."""

    revision: int
    by_header: bool

    def hold(self, change: Callable[[int], Record | Captured]) -> Record | Captured:
        """Run the change. Raises :class:`PreconditionFailed` instead of :class:`Stale` when the header demanded it."""
        try:
            return change(self.revision)
        except Stale as stale:
            if not self.by_header:
                raise
            failed = PreconditionFailed(stale.code, path=stale.path, **stale.values)
            failed.details = stale.details
            raise failed from stale


def precondition(stated: object = None) -> Precondition:
    """The precondition of this request; ``stated`` is the revision of its body or query.

    Raises :class:`PreconditionNeeded` when there is none, :class:`Invalid` for one that can't be read and for two that
    differ.
    """
    header = request.headers.get("If-Match")
    if stated is None and header is None:
        raise PreconditionNeeded("record.revision_needed", path="revision")
    tagged = None if header is None else _tag(header)
    if stated is None:
        assert tagged is not None
        return Precondition(tagged, by_header=True)
    if isinstance(stated, bool) or not isinstance(stated, int):
        raise Invalid("input.invalid", fields=[Invalid("input.type", path="revision", expected="integer")])
    if tagged not in (None, ANY_REVISION, stated):
        raise Invalid("input.invalid", fields=[Invalid("input.wrong", path="revision")])
    return Precondition(max(stated, UNKNOWN_TAG), by_header=False)


def stated_revision() -> int | None:
    """``revision`` of the query, for requests without a body."""
    raw = request.args.get("revision")
    if raw is None:
        return None
    if not (raw.isascii() and raw.isdigit() and len(raw) < 19):
        raise Invalid("input.invalid", fields=[Invalid("input.type", path="revision", expected="integer")])
    return int(raw)


def _tag(header: str) -> int:
    if header.strip() == "*":
        return ANY_REVISION
    found = _TAG.fullmatch(header.strip())
    if found is None:
        raise Invalid("input.invalid", fields=[Invalid("input.type", path="If-Match", expected='"3"')])
    tag = found[1]
    return int(tag) if tag.isascii() and tag.isdigit() and len(tag) < 19 else UNKNOWN_TAG


def answer(result: Record | Captured, status: int = 200) -> Response:
    """A record with its tag and language, or 202 with the change that waits for votes."""
    if isinstance(result, Captured):
        return captured_answer(result)
    response = jsonify(to_json(result))
    response.status_code = status
    response.headers["ETag"] = etag(result)
    return in_language(response, [result.locale])


def in_language(response: Response, used: Collection[str]) -> Response:
    """Say which languages the answer holds, and that another caller may get others."""
    if used:
        response.headers["Content-Language"] = ", ".join(sorted(set(used)))
    response.vary.update(("Accept-Language", "Authorization", "Cookie"))
    return response


def captured_answer(result: Captured) -> Response:
    """202: the change was kept and waits for votes."""
    response = jsonify({"captured": captured_json(result)})
    response.status_code = 202
    response.headers["Location"] = f"/api/v1/approvals/{result.modification.id}"
    return response


def captured_json(result: Captured) -> dict[str, object]:
    """A captured change as its author sees it."""
    found = result.modification
    return {
        "id": found.id,
        "entity": result.entity,
        "record_id": result.record_id,
        "operation": found.operation,
        "status": found.status,
        "votes_needed": found.votes_needed,
        "expires_at": json_value(found.expires_at),
    }
