"""What each operation answers and is asked, by its endpoint: the half that views don't say in types.

An operation that is missing here fails `tests/api/test_openapi.py`. Operations on records are described once for all
entities in `records.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import get_args

from app.api.openapi import people, shapes
from app.api.openapi.parts import LARGEST_ID, Answer, Json, Operation, closed, query
from app.core.approvals import ask as approvals_ask
from app.core.approvals.parts import STATES
from app.core.audit import ask as audit_ask
from app.core.contracts.strategy import Cost, Matching, Mode
from app.core.locale import LOCALES
from app.core.registry import Registry

NOTHING = Answer(204, "Done")


Told = Operation | Callable[[Registry], Operation]
"""An operation, or how to tell it from what is registered."""


def ok(schema: type[shapes.Shape], description: str = "As asked") -> Operation:
    """An operation with one answer and no query."""
    return Operation((Answer(200, description, schema),))


ID: Json = {"type": "integer", "minimum": 1, "maximum": LARGEST_ID}
FLAG: Json = {"type": "string", "enum": ["true", "false", "1", "0"]}
TEXT: Json = {"type": "string", "maxLength": 200}
ONLY: Json = {"type": "array", "maxItems": 20, "items": {"type": "string", "enum": ["sao.tickets.status:open"]}}
"""One of many: which values there are is for the records to say."""
CURSOR = query("cursor", ID, "`next_cursor` of the page before")
REPLAYED = ("Idempotency-Replayed",)


def search(registry: Registry) -> Operation:
    """The kinds of records are those of the registry."""
    names: Json = {"type": "array", "items": {"type": "string", "enum": list(registry.names())}}
    number: Json = {"type": "integer", "minimum": 1, "maximum": 100}
    return Operation(
        (Answer(200, "One page of hits", shapes.SearchPage),),
        query=(
            query(
                "q", {"type": "string", "maxLength": 1000, "pattern": "[A-Za-z0-9]"}, "What to look for", required=True
            ),
            query(
                "entity", names, "Kinds of records; without it all that the caller may see", style="form", explode=True
            ),
            query("locale", {"type": "string", "enum": list(LOCALES)}, "Only this language"),
            query("only", ONLY, "Only records with these values of declared fields", style="form", explode=True),
            query("mode", {"type": "string", "enum": list(get_args(Mode))}, "Whether words or meaning lead"),
            query("cost", {"type": "string", "enum": list(get_args(Cost))}, "How much an answer may cost"),
            query("matching", {"type": "string", "enum": list(get_args(Matching))}, "How forgiving words are"),
            query("retries", {"type": "integer", "minimum": 0, "maximum": 10}, "How often a poor answer is retried"),
            query("page", number, "Which page"),
            query("size", number, "Hits on a page"),
            query("facets", FLAG, "Whether to count what the matches are"),
            query("explain", FLAG, "Whether to say how the answer came about"),
        ),
    )


def search_why(registry: Registry) -> Operation:
    """One record in one search."""
    names: Json = {"type": "string", "enum": list(registry.names())}
    return Operation(
        (Answer(200, "What became of the record", shapes.Free),),
        query=(
            query("entity", names, "The kind of the record", required=True),
            query("id", ID, "The record", required=True),
            query(
                "q", {"type": "string", "maxLength": 1000, "pattern": "[A-Za-z0-9]"}, "What was asked", required=True
            ),
            query("among", names, "The kind of records that the search looks in"),
            query("locale", {"type": "string", "enum": list(LOCALES)}, "Only this language"),
            query("only", ONLY, "Only records with these values of declared fields", style="form", explode=True),
            query("mode", {"type": "string", "enum": list(get_args(Mode))}, "Whether words or meaning lead"),
            query("cost", {"type": "string", "enum": list(get_args(Cost))}, "How much an answer may cost"),
            query("matching", {"type": "string", "enum": list(get_args(Matching))}, "How forgiving words are"),
        ),
        errors=(404,),
    )


APPROVALS = Operation(
    (Answer(200, "Newest first", people.Approvals),),
    query=(
        query("state", {"type": "string", "enum": list(STATES)}, "Only those in this state"),
        query("mine", FLAG, "Only the caller's own"),
        query("to_vote", FLAG, "Only those that wait for the caller's vote"),
        query("subject", TEXT, "An entity or the name of a setting"),
        query("record", ID, "Only those of this record"),
        query("size", {"type": "integer", "minimum": 1, "maximum": approvals_ask.MOST}, "How many"),
        CURSOR,
    ),
)
DAY: Json = {"type": "string", "format": "date"}
AUDIT_QUERY = (
    query("person", TEXT, "A user name: who did it, or the administrator behind them"),
    query("action", TEXT, "What was done"),
    query("entity", TEXT, "Of which kind of record"),
    query("record", ID, "Of which record"),
    query("channel", {"type": "string", "enum": list(audit_ask.CHANNELS)}, "From where"),
    query("from", DAY, "First day or instant, UTC"),
    query("to", DAY, "Last day or instant, included"),
    query("size", {"type": "integer", "minimum": 1, "maximum": audit_ask.MOST}, "How many"),
    CURSOR,
)

PEOPLE: Mapping[str, Operation] = {
    "users_api.index": ok(people.People),
    "users_api.create": Operation((Answer(201, "Added", people.Person, headers=("Location", *REPLAYED)),)),
    "users_api.show": ok(people.Person),
    "users_api.update": Operation((Answer(200, "The person as they are now", people.Person),), errors=(409,)),
    "users_api.set_password": Operation((NOTHING,)),
    "users_api.end_sessions": Operation((NOTHING,)),
    "users_api.tokens": ok(shapes.Tokens),
    "users_api.revoke": Operation((NOTHING,)),
    "roles_api.index": ok(people.Roles),
    "roles_api.create": Operation((Answer(201, "Added", people.Role, headers=("Location", *REPLAYED)),)),
    "roles_api.show": ok(people.Role),
    "roles_api.update": Operation((Answer(200, "The role as it is now", people.Role),), errors=(409,)),
    "roles_api.delete": Operation((NOTHING,), errors=(409,)),
    "roles_api.permissions": ok(people.Permissions),
    "roles_api.me": ok(people.Me),
    "tokens_api.index": ok(shapes.Tokens),
    "tokens_api.create": Operation(
        (Answer(201, "The token with its secret, shown this once", shapes.TokenMade, headers=REPLAYED),)
    ),
    "tokens_api.revoke": Operation((NOTHING,)),
}
CONTROL: Mapping[str, Operation] = {
    "approvals_api.index": APPROVALS,
    "approvals_api.show": ok(people.Approval),
    "approvals_api.vote": Operation((Answer(200, "With the vote", people.Approval),), errors=(409,)),
    "approvals_api.edit": Operation((Answer(200, "As it is now", people.Approval),), errors=(409,)),
    "approvals_api.withdraw": Operation((Answer(200, "Taken back", people.Approval),), errors=(409,)),
    "audit_api.index": Operation((Answer(200, "Newest first", people.Audit),), query=AUDIT_QUERY),
    "audit_api.export_csv": Operation((Answer(200, "CSV", {"type": "string"}, "text/csv"),), query=AUDIT_QUERY),
    "settings_api.index": ok(shapes.Settings),
    "settings_api.show": ok(shapes.SettingShown),
    "settings_api.update": Operation(
        (
            Answer(200, "The setting as it is now", shapes.SettingShown),
            Answer(202, "Kept; it waits for votes", people.CapturedSetting, headers=("Location",)),
        ),
        errors=(409,),
    ),
}
IDS: Json = {"type": ["array", "null"], "items": ID, "description": "Failures; without it all undecided ones"}
NOTE: Json = {"type": ["string", "null"], "maxLength": 500}
DECISION: Json = {
    "anyOf": [
        closed({"resolution": {"const": "retry"}, "ids": IDS, "note": NOTE}, "resolution"),
        closed(
            {
                "resolution": {"const": "set_aside"},
                "ids": IDS,
                "note": {"type": "string", "maxLength": 500, "pattern": "[A-Za-z0-9]", "description": "Why"},
            },
            "resolution",
            "note",
        ),
    ]
}
MACHINERY: Mapping[str, Told] = {
    "openapi_api.show": ok(shapes.Free),
    "health.alive": ok(shapes.Alive),
    "health.ready": Operation(
        (Answer(200, "All parts are there", shapes.Ready), Answer(503, "A part is away", shapes.Ready))
    ),
    "search_api.search": search,
    "search_api.why": search_why,
    "search_suggestions_api.suggestions": ok(shapes.Free, "Words of texts that the caller may see"),
    "search_health_api.index": ok(shapes.Free, "Every engine that has an address"),
    "documentation_api.retrieve": Operation((Answer(200, "The passages, best first", shapes.Free),)),
    "documentation_api.answer": Operation((Answer(200, "The answer and its sources", shapes.Free),)),
    "documentation_queries_api.erase": Operation((Answer(200, "How many were deleted", shapes.Free),)),
    "documentation_ingest_api.ingest": Operation(
        (Answer(201, "In the collection", shapes.Free, headers=REPLAYED),), errors=(409,)
    ),
    "evaluations_api.index": ok(shapes.Items, "Newest first"),
    "evaluations_api.show": Operation((Answer(200, "The run and its cases", shapes.Free),)),
    "evaluations_api.diff": Operation((Answer(200, "Both runs, figure by figure and case by case", shapes.Free),)),
    "queues_api.index": ok(shapes.Free),
    "queues_api.failure": Operation((Answer(200, "Done", shapes.Free),), errors=(404,)),
    "embedding_models_api.index": ok(shapes.EmbeddingModels),
    "embedding_switches_api.start": Operation(
        (
            Answer(200, "What it would cost; nothing has started", shapes.Free),
            Answer(202, "Started", shapes.Free, headers=REPLAYED),
        ),
        errors=(404, 409),
    ),
    "embedding_switches_api.current": ok(shapes.Free),
    "embedding_switches_api.history": ok(shapes.Items, "The latest first"),
    "embedding_switches_api.resume": Operation((Answer(202, "Goes on", shapes.Free),), errors=(409,)),
    "embedding_switches_api.abandon": Operation((Answer(202, "Given up", shapes.Free),), errors=(409,)),
    "embedding_switches_api.decide": Operation((Answer(200, "Decided", shapes.Free),), body=DECISION, errors=(409,)),
    "vector_health_api.index": ok(shapes.Free, "Every space"),
    "vector_health_api.repair": Operation((Answer(200, "What it did", shapes.Free),), errors=(409,)),
    "vector_health_api.sample": Operation((Answer(200, "What differs", shapes.Free),), errors=(409,)),
}
DESCRIBED: Mapping[str, Told] = {**PEOPLE, **CONTROL, **MACHINERY}
