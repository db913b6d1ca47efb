"""Pieces of the document that every operation shares: errors, headers, parameters, security."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel

Json = dict[str, Any]

PROBLEM = "application/problem+json"
LARGEST_ID = 2**63 - 1


def ref(kind: str, name: str) -> Json:
    """A reference to a component."""
    return {"$ref": f"#/components/{kind}/{name}"}


def schema_ref(name: str) -> Json:
    return ref("schemas", name)


@dataclass(frozen=True)
class Answer:
    """One outcome that is no error. ``schema`` None: no body. ``headers`` are names of :data:`HEADERS`."""

    status: int
    description: str
    schema: type[BaseModel] | Json | None = None
    media: str = "application/json"
    headers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Operation:
    """What the code of a view does not say by itself: its answers, its query, a body that it reads on its own.

    ``errors`` are statuses beyond those of every operation; ``headers`` names of :data:`PARAMETERS`.
    """

    answers: tuple[Answer, ...]
    query: tuple[Json, ...] = ()
    body: type[BaseModel] | Json | None = None
    errors: tuple[int, ...] = ()
    headers: tuple[str, ...] = ()


def query(name: str, schema: Json, description: str, **more: Any) -> Json:
    """A parameter of the query; an object travels as JSON."""
    base: Json = {"name": name, "in": "query", "description": description, **more}
    if "$ref" in schema or schema.get("type") == "object":
        return {**base, "content": {"application/json": {"schema": schema}}}
    return {**base, "schema": schema}


def closed(properties: Json, *needed: str) -> Json:
    """An object that takes no other members."""
    found: Json = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": list(needed)} if needed else found


PROBLEM_SCHEMA: Json = {
    "type": "object",
    "description": "RFC 9457. ``code`` names the kind of outcome and stays; the sentences follow the language.",
    "required": ["type", "title", "status", "detail", "code", "errors", "reference"],
    "properties": {
        "type": {"type": "string", "description": "``urn:changeover:`` and the code"},
        "title": {"type": "string"},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": {"type": "string", "description": "What happened, in the caller's language"},
        "code": {"type": "string"},
        "errors": {
            "type": "array",
            "description": "One entry per field that is wrong; empty when the error is not about fields",
            "items": {
                "type": "object",
                "required": ["path", "detail", "code"],
                "properties": {
                    "path": {"type": "string", "description": "The field, dotted: ``translations.en.title``"},
                    "detail": {"type": "string"},
                    "code": {"type": "string"},
                },
            },
        },
        "reference": {"type": "string", "description": "Finds this request in the logs"},
    },
}

HEADERS: Mapping[str, Json] = {
    "ETag": {"description": "The record's revision, quoted", "schema": {"type": "string", "pattern": '^"[0-9]+"$'}},
    "Content-Language": {"description": "The languages of the answer", "schema": {"type": "string"}},
    "Location": {"description": "Address of what was made", "schema": {"type": "string"}},
    "RateLimit": {
        "description": "What is left: ``r`` requests, and ``t`` seconds until the budget is whole again. "
        "Absent while nothing is counted",
        "schema": {"type": "string"},
    },
    "RateLimit-Policy": {
        "description": "The budget that this request counts in: ``q`` requests in ``w`` seconds",
        "schema": {"type": "string"},
    },
    "Retry-After": {"description": "Seconds", "schema": {"type": "integer", "minimum": 1}},
    "WWW-Authenticate": {"description": "Bearer", "schema": {"type": "string"}},
    "Idempotency-Replayed": {
        "description": "``true`` when an earlier request with this key was answered, and this is its outcome",
        "schema": {"type": "string", "enum": ["true"]},
    },
    "X-Request-Id": {"description": "Finds this request in the logs", "schema": {"type": "string"}},
}

PARAMETERS: Mapping[str, Json] = {
    "Idempotency-Key": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "A text of your choice that names this one effect, kept for 24 hours: the same request again "
        "gets the first outcome, another one 422, and while the first still runs 409.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    },
    "If-Match": {
        "name": "If-Match",
        "in": "header",
        "description": "The entity tag of the revision that the change was made on; `*` is any",
        "schema": {"type": "string", "pattern": r'^(\*|(W/)?"[!#-~]*")$'},
    },
}

ERRORS: Mapping[int, str] = {
    400: "What was sent can't be read",
    401: "Nobody is signed in, or the token is unknown, expired or revoked",
    403: "The permission or the scope is missing, or a cookie came without the form token",
    404: "Not there, or not for this caller: they look the same",
    409: "The state of things forbids it now: a later revision, a running switch, the same request still running",
    412: "``If-Match`` names another revision",
    413: "Too large",
    415: "The body is no JSON",
    422: "The input is wrong; ``errors`` names each field",
    428: "A precondition is needed: ``If-Match`` or ``revision``",
    429: "Too many requests",
    503: "A part that is needed does not answer; nothing was changed",
}
EVERYWHERE = (400, 401, 403, 422, 429, 503)
"""Errors that every operation of a signed-in caller may have."""
_HEADERS_OF_ERRORS = {401: ("WWW-Authenticate",), 409: ("Retry-After",), 429: ("Retry-After",), 503: ("Retry-After",)}

SECURITY_SCHEMES: Json = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "A token made on the page Tokens, with scopes and an end. A request with this header never "
        "uses the cookie.",
    },
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": "changeover",
        "description": "The session of a browser. Whatever changes something needs the header ``X-CSRFToken`` too.",
    },
}
SECURITY: list[Json] = [{"bearer": []}, {"cookie": []}]


def error_name(status: int) -> str:
    """The name of an error's component: ``Conflict`` for 409."""
    return "".join(part.capitalize() for part in HTTPStatus(status).phrase.replace("-", " ").split())


def error_responses() -> Json:
    """The components of all errors."""
    return {
        error_name(status): {
            "description": description,
            "headers": header_refs(_HEADERS_OF_ERRORS.get(status, ())),
            "content": {PROBLEM: {"schema": schema_ref("Problem")}},
        }
        for status, description in ERRORS.items()
    }


def header_refs(names: Iterable[str]) -> Json:
    """The given headers and those of every answer."""
    return {name: ref("headers", name) for name in (*names, "RateLimit", "RateLimit-Policy", "X-Request-Id")}
