"""The OpenAPI 3.1 document, generated from the routes, their docstrings and models, and the registry.

APIFlask reads summaries, descriptions and the bodies that `@blueprint.input` declares; here each route of records is
written out per entity, and what views don't say in types is added from `described.py` and `records.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from apiflask import APIFlask
from pydantic import BaseModel
from werkzeug.routing import Rule

from app.api.openapi import entities
from app.api.openapi.described import DESCRIBED
from app.api.openapi.parts import (
    ERRORS,
    EVERYWHERE,
    HEADERS,
    LARGEST_ID,
    PARAMETERS,
    PROBLEM_SCHEMA,
    SECURITY,
    SECURITY_SCHEMES,
    Answer,
    Json,
    Operation,
    error_name,
    error_responses,
    header_refs,
    ref,
    schema_ref,
)
from app.api.openapi.records import PER_ENTITY, WRITES
from app.core.registry import Entity, Registry

VERSION = "3.1.1"
PREFIX = "/api/v1"
ENTITY = "{module}/{name}"
DESCRIPTION = (
    "What scripts ask of the console. Who asks is a bearer token or a browser's session; what they may do is what the "
    "person may. Errors are `application/problem+json`. Whatever makes something takes an `Idempotency-Key`."
)
_CONVERTERS: Mapping[str, Json] = {
    "int": {"type": "integer", "minimum": 1, "maximum": LARGEST_ID},
    "default": {"type": "string", "minLength": 1},
}
_REFERENCE = re.compile(r'"#/components/schemas/([^"]+)"')
_ARGUMENT = re.compile(r"<(?:(\w+)(?:\([^)]*\))?:)?(\w+)>")


def document(app: APIFlask, registry: Registry) -> Json:
    """The whole document. Call it inside an application context."""
    return _Writer(app, registry).written()


def written(app: APIFlask, registry: Registry) -> str:
    """The document as it is checked in."""
    return json.dumps(document(app, registry), indent=1, ensure_ascii=False) + "\n"


def operations(app: APIFlask) -> Iterator[tuple[Rule, str]]:
    """Every (rule, method) of the API, by address and method."""
    found = [
        (rule, method)
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith(PREFIX + "/") or rule.endpoint.startswith("health.")
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})
    ]
    return iter(sorted(found, key=lambda item: (item[0].rule, item[1])))


class _Writer:
    def __init__(self, app: APIFlask, registry: Registry) -> None:
        self.app = app
        self.registry = registry
        base: Any = app._get_spec("json", force_update=True)
        self.base: Json = base
        self.schemas: Json = {}

    def written(self) -> Json:
        paths: Json = {}
        for rule, method in operations(self.app):
            for address, operation in self._expanded(rule, method):
                paths.setdefault(address, {})[method.lower()] = operation
        for entity in self.registry:
            self.schemas.update(entities.schemas(entity))
        self.schemas["Problem"] = PROBLEM_SCHEMA
        return {
            "openapi": VERSION,
            "info": {"title": "Changeover", "version": "1", "description": DESCRIPTION},
            "servers": [{"url": "/"}],
            "security": SECURITY,
            "tags": [{"name": name} for name in sorted({o["tags"][0] for p in paths.values() for o in p.values()})],
            "paths": paths,
            "components": {
                "schemas": dict(sorted(self.schemas.items())),
                "responses": error_responses(),
                "parameters": dict(PARAMETERS),
                "headers": dict(HEADERS),
                "securitySchemes": SECURITY_SCHEMES,
            },
        }

    def _expanded(self, rule: Rule, method: str) -> Iterator[tuple[str, Json]]:
        """A route of records once per entity, any other as it stands."""
        path = _ARGUMENT.sub(r"{\2}", rule.rule)
        describe = PER_ENTITY.get(rule.endpoint)
        if describe is None:
            told = DESCRIBED.get(rule.endpoint, Operation(()))
            known = told if isinstance(told, Operation) else told(self.registry)
            yield path, self._operation(rule, method, path, known)
            return
        for entity in self.registry:
            if entity.editable or path.split("/")[3] not in WRITES:
                module, _, name = entity.name.partition(".")
                address = path.replace(ENTITY, f"{module}/{name}")
                yield address, self._operation(rule, method, path, describe(entity), entity)

    def _operation(self, rule: Rule, method: str, path: str, told: Operation, entity: Entity | None = None) -> Json:
        read: Json = self.base["paths"].get(path, {}).get(method.lower(), {})
        view = self.app.view_functions[rule.endpoint]
        name = rule.endpoint.replace("_api.", ".")
        found: Json = {
            "operationId": f"{name}.{entity.name}" if entity else name,
            "tags": [entity.name if entity else name.partition(".")[0].replace("_", " ")],
            "summary": read.get("summary", ""),
        }
        if read.get("description"):
            found["description"] = read["description"]
        headers = [*told.headers, *(["Idempotency-Key"] if getattr(view, "is_idempotent", False) else [])]
        arguments = [] if entity is None else ["module", "name"]
        declared = [one for one in read.get("parameters", ()) if one["in"] == "query"]
        parameters = [
            *_path_parameters(rule, arguments),
            *_cleaned(declared),
            *told.query,
            *(ref("parameters", name) for name in headers),
        ]
        if parameters:
            found["parameters"] = parameters
        body = self._body(read, told)
        if body is not None:
            found["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
        found["responses"] = self._responses(told, has_path="{" in path, has_body=body is not None, view=view)
        if getattr(view, "is_public", False):
            found["security"] = []
        return found

    def _body(self, read: Json, told: Operation) -> Json | None:
        if told.body is not None:
            return self._schema(told.body)
        content = read.get("requestBody", {}).get("content", {})
        for media in content.values():
            schema = media["schema"]
            self._keep(schema)
            return dict(schema)
        return None

    def _keep(self, schema: Json) -> None:
        """Take over what a body leans on from the document that APIFlask makes."""
        for name in _REFERENCE.findall(json.dumps(schema)):
            if name not in self.schemas:
                self.schemas[name] = _cleaned(self.base["components"]["schemas"][name])
                self._keep(self.schemas[name])

    def _responses(self, told: Operation, *, has_path: bool, has_body: bool, view: object) -> Json:
        found = {str(answer.status): self._answer(answer) for answer in told.answers}
        if getattr(view, "is_public", False):
            return found
        statuses = {*EVERYWHERE, *told.errors, *([404] if has_path else []), *([413, 415] if has_body else [])}
        statuses |= {409} if getattr(view, "is_idempotent", False) else set()
        for status in sorted(statuses & set(ERRORS)):
            found.setdefault(str(status), ref("responses", error_name(status)))
        return dict(sorted(found.items()))

    def _answer(self, answer: Answer) -> Json:
        found: Json = {"description": answer.description, "headers": header_refs(answer.headers)}
        if answer.schema is not None:
            found["content"] = {answer.media: {"schema": self._schema(answer.schema)}}
        return found

    def _schema(self, given: type[BaseModel] | Json) -> Json:
        """A reference to the model's component, which is added with all that it leans on."""
        if isinstance(given, dict):
            return given
        schema = given.model_json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
        self._hoist(schema)
        self.schemas[given.__name__] = _cleaned(schema)
        return schema_ref(given.__name__)

    def _hoist(self, schema: Json) -> None:
        for name, inner in schema.pop("$defs", {}).items():
            self.schemas[name] = _cleaned(inner)


def _cleaned(schema: Any) -> Any:
    """Without titles that are made from names, and without defaults that say "left out": neither tells anything."""
    if isinstance(schema, list):
        return [_cleaned(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _cleaned(inner) for name, inner in value.items()} if key == "properties" else _cleaned(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str)) and not (key == "default" and value == "")
    }


def _path_parameters(rule: Rule, filled: list[str]) -> list[Json]:
    return [
        {"name": name, "in": "path", "required": True, "schema": dict(_CONVERTERS[converter or "default"])}
        for converter, name in _ARGUMENT.findall(rule.rule)
        if name not in filled
    ]
