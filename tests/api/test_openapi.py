"""The OpenAPI document: valid, complete, as checked in, served; and that every creating route takes a key."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from apiflask import APIFlask
from openapi_spec_validator import validate

from app.api.openapi.described import DESCRIBED
from app.api.openapi.document import operations
from app.api.openapi.records import PER_ENTITY
from tests.api.openapi_file import FILE, generated
from tests.fixtures.clients import Api, Browser

WITHOUT_KEY = {
    "approvals_api.vote": "one vote per person and round is a key of the table; the same vote again changes nothing",
    "approvals_api.withdraw": "withdrawing twice is withdrawn once",
    "bulk_api.preview": "changes nothing",
    "documentation_api.answer": "reads and answers; nothing is made",
    "documentation_queries_api.erase": "the second finds none",
    "embedding_switches_api.resume": "a switch that runs normally can't be resumed; nothing is made",
    "embedding_switches_api.abandon": "there is one open switch; the second finds none",
    "embedding_switches_api.decide": "decides about failures by id; nothing is made",
    "queues_api.failure": "the second finds no such failed job",
    "records_api.restore": "names a revision; the second is stale",
    "vector_health_api.repair": "repairs what is missing; the second finds nothing to repair",
    "vector_health_api.sample": "reads and compares; nothing is made",
}
"""Routes by POST that make nothing anew, and why a repeat is harmless."""


@pytest.fixture
def document(app: APIFlask) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(generated(app))
    return found


def test_is_valid(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1.")
    validate(document)


def test_is_the_one_that_is_checked_in(app: APIFlask) -> None:
    """`make openapi` writes it anew."""
    assert generated(app) == FILE.read_text(encoding="utf-8")


def test_every_operation_is_described(app: APIFlask) -> None:
    real = {rule.endpoint for rule, _ in operations(app)}
    assert real == set(DESCRIBED) | set(PER_ENTITY)


def test_every_operation_says_what_it_does_and_answers(document: dict[str, Any]) -> None:
    seen = set()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert operation["summary"], (method, path)
            assert operation["operationId"] not in seen
            seen.add(operation["operationId"])
            assert any(int(status) < 400 for status in operation["responses"]), (method, path)


def test_every_entity_has_paths_and_schemas_of_its_own(app: APIFlask, document: dict[str, Any]) -> None:
    assert "/api/v1/insert/cms/contents" in document["paths"]
    assert "/api/v1/select/documentation/user" in document["paths"]
    assert "/api/v1/insert/documentation/user" not in document["paths"]
    by_locale, flat = document["components"]["schemas"]["CmsContentsInsert"]["anyOf"]
    assert by_locale["properties"]["status"]["enum"] == ["draft", "published", "archived"]
    assert by_locale["properties"]["translations"]["properties"]["it"]["required"] == ["title"]
    assert flat["properties"]["title"]["maxLength"] == 500
    assert "key" not in flat["properties"]
    assert document["components"]["schemas"]["SaoTicketsInsert"]["required"] == ["subject"]
    assert document["components"]["schemas"]["CmsContentsRecord"]["properties"]["valid_from"] == {
        "description": "Valid from",
        "type": ["string", "null"],
        "format": "date-time",
    }


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    text = json.dumps(document)
    for kind, components in document["components"].items():
        if kind != "securitySchemes":
            for name in components:
                assert f'"#/components/{kind}/{name}"' in text, (kind, name)


def test_every_creating_route_takes_a_key(app: APIFlask) -> None:
    without = {
        rule.endpoint
        for rule, method in operations(app)
        if method == "POST" and not getattr(app.view_functions[rule.endpoint], "is_idempotent", False)
    }
    assert without == set(WITHOUT_KEY)


def test_the_document_says_which_operations_take_a_key(document: dict[str, Any]) -> None:
    key = {"$ref": "#/components/parameters/Idempotency-Key"}
    assert key in document["paths"]["/api/v1/insert/cms/contents"]["post"]["parameters"]
    assert key not in document["paths"]["/api/v1/update/cms/contents/{record_id}"]["patch"]["parameters"]


def test_is_served_to_whoever_is_signed_in(api: Api, app: APIFlask, client: Browser, document: dict[str, Any]) -> None:
    assert client.get("/api/v1/openapi.json").status_code == 401
    answer = api.get("/api/v1/openapi.json")
    assert answer.status_code == 200
    assert answer.mimetype == "application/json"
    assert answer.json == document


def test_the_page_shows_every_operation(admin_client: Browser, client: Browser, document: dict[str, Any]) -> None:
    assert client.get("/api/docs").status_code == 303
    page = admin_client.get("/api/docs")
    assert page.status_code == 200
    assert 'class="rail"' in page.text
    for path in document["paths"]:
        assert f'<code class="api-path">{path}</code>' in page.text
    for name in document["components"]["schemas"]:
        assert f'<code class="api-path">{name}</code>' in page.text
    assert re.search(r">CmsContentsInsert</a></span>\s*</div>", page.text)
    assert "-H &#34;Idempotency-Key: $KEY&#34;" in page.text
