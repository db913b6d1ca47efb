"""The document as the page `/api/docs` shows it: groups of operations and the schemas, as plain nested values."""

from __future__ import annotations

import json
import re
from typing import Any

from app.api.openapi.parts import Json

DEEPEST = 6
"""Levels of a schema that are written out; what lies deeper is named only."""
_CODE = re.compile(r"``?([^`]+)``?")


def page_context(document: Json, base: str) -> dict[str, object]:
    """The context of `templates/api/index.html`; ``base`` is the console's own address, for the examples."""
    groups: dict[str, list[dict[str, object]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            groups.setdefault(operation["tags"][0], []).append(_operation(document, base, path, method, operation))
    schemas = document["components"]["schemas"]
    return {
        "introduction": pieces(document["info"]["description"]),
        "groups": [
            {"name": name, "anchor": _anchor("group", name), "operations": groups[name]} for name in sorted(groups)
        ],
        "schemas": [
            {"name": name, "anchor": _anchor("schema", name), "node": _node(schema)} for name, schema in schemas.items()
        ],
    }


def pieces(text: str) -> list[tuple[str, bool]]:
    """``text`` as (words, is code), so that a template can mark code."""
    found: list[tuple[str, bool]] = []
    for number, part in enumerate(_CODE.split(" ".join(text.split()))):
        if part:
            found.append((part, number % 2 == 1))
    return found


def _anchor(kind: str, name: str) -> str:
    return f"{kind}-{re.sub(r'[^A-Za-z0-9]+', '-', name)}"


def _operation(document: Json, base: str, path: str, method: str, operation: Json) -> dict[str, object]:
    parameters = [_resolved(document, parameter) for parameter in operation.get("parameters", ())]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    answers = [_answer(document, status, answer) for status, answer in operation["responses"].items()]
    return {
        "anchor": _anchor("operation", operation["operationId"]),
        "method": method.upper(),
        "path": path,
        "summary": pieces(operation["summary"]),
        "description": pieces(operation.get("description", "")),
        "parameters": [
            {
                "name": parameter["name"],
                "where": parameter["in"],
                "required": parameter.get("required", False),
                "type": _type(_schema_of(parameter)),
                "description": pieces(parameter.get("description", "")),
            }
            for parameter in parameters
        ],
        "body": None if body is None else _node(body),
        "answers": [answer for answer in answers if int(str(answer["status"])) < 400],
        "errors": [answer for answer in answers if int(str(answer["status"])) >= 400],
        "curl": _curl(document, base, path, method, parameters, body),
        "is_open": operation.get("security") == [],
    }


def _answer(document: Json, status: str, answer: Json) -> dict[str, object]:
    answer = _resolved(document, answer)
    content = answer.get("content", {})
    schema = next((media["schema"] for media in content.values()), None)
    return {
        "status": status,
        "media": next(iter(content), None),
        "description": pieces(answer["description"]),
        "node": None if schema is None else _node(schema),
    }


def _resolved(document: Json, value: Json) -> Json:
    """What a reference points to, or the value itself."""
    found: Any = value
    while "$ref" in found:
        target: Any = document
        for part in found["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        found = target
    return dict(found)


def _schema_of(parameter: Json) -> Json:
    if "content" in parameter:
        return dict(parameter["content"]["application/json"]["schema"])
    return dict(parameter["schema"])


def _node(schema: Any, depth: int = 0) -> dict[str, object]:
    """A schema as a tree: its type in words, its members, what it leans on."""
    if not isinstance(schema, dict) or not schema:
        return {"type": "any value"}
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return {"type": name, "ref": _anchor("schema", name)}
    node: dict[str, object] = {"type": _type(schema), "description": pieces(schema.get("description", ""))}
    if depth >= DEEPEST:
        return node
    required = schema.get("required", ())
    node["members"] = [
        {"name": name, "required": name in required, "node": _node(inner, depth + 1)}
        for name, inner in schema.get("properties", {}).items()
    ]
    if isinstance(schema.get("additionalProperties"), dict):
        node["each_value"] = _node(schema["additionalProperties"], depth + 1)
    if isinstance(schema.get("items"), dict):
        node["each_item"] = _node(schema["items"], depth + 1)
    node["choices"] = [
        _node(inner, depth + 1) for word in ("anyOf", "oneOf", "allOf") for inner in schema.get(word, ())
    ]
    return node


def _type(schema: Json) -> str:
    """A schema in words: ``text, at most 200 characters``."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "const" in schema:
        return json.dumps(schema["const"])
    kinds = schema.get("type", "one of" if any(word in schema for word in ("anyOf", "oneOf")) else "any value")
    words = " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
    parts = [words if "format" not in schema else f"{words} ({schema['format']})"]
    if "enum" in schema:
        parts = ["one of " + ", ".join(json.dumps(value) for value in schema["enum"])]
    names = {"minimum": "≥", "maximum": "≤", "minLength": "at least", "maxLength": "at most", "minItems": "at least"}
    parts += [f"{word} {schema[name]}" for name, word in names.items() if name in schema]
    if "default" in schema:
        parts.append(f"default {json.dumps(schema['default'])}")
    return ", ".join(parts)


def _curl(document: Json, base: str, path: str, method: str, parameters: list[Json], body: Any) -> str:
    address = base.rstrip("/") + re.sub(r"{(\w+)}", r"$\1", path)
    lines = [
        f"curl {'' if method == 'get' else f'-X {method.upper()} '}'{address}'",
        "-H 'Authorization: Bearer $TOKEN'",
    ]
    names = {parameter["name"] for parameter in parameters if parameter["in"] == "header"}
    if "Idempotency-Key" in names:
        lines.append('-H "Idempotency-Key: $KEY"')
    if "If-Match" in names:
        lines.append("-H 'If-Match: \"3\"'")
    if body is not None:
        lines.append("-H 'Content-Type: application/json'")
        lines.append(f"-d '{json.dumps(example(document, body), ensure_ascii=False)}'")
    return " \\\n  ".join(lines)


def example(document: Json, schema: Any, depth: int = 0) -> Any:
    """A small value that fits the schema: what is required, and the first of each choice."""
    if not isinstance(schema, dict) or depth > DEEPEST:
        return "…"
    schema = _resolved(document, schema)
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return example(document, schema[word][0], depth + 1)
    for word in ("const", "default"):
        if word in schema:
            return schema[word]
    if schema.get("enum"):
        return schema["enum"][0]
    return _plain_example(document, schema, depth)


def _plain_example(document: Json, schema: Json, depth: int) -> Any:
    kinds = schema.get("type", "string")
    kind = kinds[0] if isinstance(kinds, list) else kinds
    if kind == "object":
        members = schema.get("properties", {})
        shown = [name for name in members if name in schema.get("required", ())] or list(members)[:1]
        return {name: example(document, members[name], depth + 1) for name in shown}
    if kind == "array":
        return [example(document, schema.get("items", {}), depth + 1)]
    values = {"integer": max(1, schema.get("minimum", 1)), "number": 1.5, "boolean": True, "null": None}
    if kind in values:
        return values[kind]
    return "2026-11-30T08:00:00Z" if schema.get("format") == "date-time" else "text"
