"""Schemas of each registered entity: what a record looks like, what may be written, what a list may be asked."""

from __future__ import annotations

import json
from collections.abc import Sequence

from app.api.openapi.parts import LARGEST_ID, Json, closed, schema_ref
from app.core.access.conditions import LONGEST, MOST, SYSTEM_FIELDS, conditional_fields
from app.core.crud.many import CAP
from app.core.crud.query import SORTS, sortable
from app.core.crud.summary import FITTING, MOST_FIELDS, MOST_METRICS
from app.core.documents.text import LIMIT
from app.core.locale import LOCALES
from app.core.registry import Entity, Field

FILLED = r"[A-Za-z0-9]"
"""What is required must hold something that is seen; blanks and invisible characters alone are nothing."""
NO_ESCAPE_AT_END = r"^([^\\\\]|\\\\.)*$"
"""A pattern of ``like`` in which every backslash escapes something."""


def schema_name(entity: Entity, suffix: str = "") -> str:
    """``CmsContents`` for ``cms.contents``."""
    return "".join(part.capitalize() for part in entity.name.replace(".", "_").split("_")) + suffix


def schemas(entity: Entity) -> dict[str, Json]:
    """Every schema of an entity, by its component name."""
    found = {
        schema_name(entity, "Record"): record(entity),
        schema_name(entity, "Page"): page(entity),
        schema_name(entity, "Filter"): filter_of(entity),
        schema_name(entity, "Condition"): condition(entity),
        schema_name(entity, "Group"): group(entity),
    }
    if entity.editable:
        found[schema_name(entity, "Insert")] = inserted(entity)
        found[schema_name(entity, "Update")] = updated(entity, with_revision=True)
        found[schema_name(entity, "Values")] = updated(entity, with_revision=False)
    return found


def nullable(entity: Entity, item: Field) -> bool:
    """Whether a plain field may be empty; translated ones are texts."""
    if item.translated:
        return False
    columns = entity.model.__table__.columns
    return item.name not in columns or bool(columns[item.name].nullable)


def read_schema(entity: Entity, item: Field) -> Json:
    """A field's value in an answer."""
    types: dict[str, Json] = {
        "integer": {"type": "integer"},
        "datetime": {"type": "string", "format": "date-time"},
    }
    shape = dict(types.get(item.kind, {"type": "string"}))
    if item.kind == "choice":
        shape["enum"] = list(item.choices)
    return _described(item, _or_null(shape) if nullable(entity, item) else shape)


def write_schema(entity: Entity, item: Field, *, required: bool) -> Json:
    """A field's value in a body."""
    shape: Json
    if item.kind == "integer":
        shape = {"type": "integer", "minimum": -(10**17), "maximum": 10**17}
    elif item.kind == "datetime":
        shape = {"type": "string", "format": "date-time"}
    elif item.kind == "choice":
        shape = {"type": "string", "enum": list(item.choices)}
    else:
        shape = {"type": "string", "maxLength": LIMIT if item.kind == "text" else item.limit}
        if required:
            shape |= {"minLength": 1, "pattern": FILLED}
    return _described(item, _or_null(shape) if not required and nullable(entity, item) else shape)


def _described(item: Field, shape: Json) -> Json:
    return {"description": item.label, **shape}


def _or_null(shape: Json) -> Json:
    found = {**shape, "type": [shape["type"], "null"]}
    if "enum" in found:
        found["enum"] = [*found["enum"], None]
    return found


def record(entity: Entity) -> Json:
    """The answer. Fields that the caller may not read are absent."""
    instant = {"type": ["string", "null"], "format": "date-time"}
    properties: Json = {
        "id": {"type": "integer", "minimum": 1},
        "entity": {"type": "string", "const": entity.name},
        "revision": {"type": "integer", "minimum": 1, "description": "Also the entity tag"},
        "reference": {"type": "string", "description": "How people name it, where they do"},
        "title": {"type": "string", "description": "In the caller's language where there is one"},
        "locale": {"type": "string", "enum": list(LOCALES), "description": "The language of the title"},
        **{item.name: read_schema(entity, item) for item in entity.plain_fields},
        "created_at": instant,
        "updated_at": instant,
        "deleted_at": instant,
    }
    if entity.translation_model is not None:
        texts = {item.name: read_schema(entity, item) for item in entity.translated_fields}
        properties["translations"] = {
            "type": "object",
            "properties": {code: {"type": "object", "properties": texts} for code in LOCALES},
        }
    return {
        "type": "object",
        "description": entity.label,
        "required": ["id", "entity", "revision"],
        "properties": properties,
    }


def page(entity: Entity) -> Json:
    return {
        "type": "object",
        "required": ["items", "total", "total_relation", "page", "size", "sort", "next_cursor"],
        "properties": {
            "items": {"type": "array", "items": schema_ref(schema_name(entity, "Record"))},
            "total": {"type": ["integer", "null"], "minimum": 0, "description": "Null where a cursor continues"},
            "total_relation": {"type": ["string", "null"], "enum": ["eq", "gte", None]},
            "page": {"type": "integer", "minimum": 1},
            "size": {"type": "integer", "minimum": 1},
            "sort": {"type": "string"},
            "next_cursor": {"type": ["string", "null"], "description": "Null on the last page"},
        },
    }


def inserted(entity: Entity) -> Json:
    """What a new record needs. Texts stand per language, or beside the other fields for one language."""
    plain = {item.name: item for item in entity.plain_fields if item.editable}
    properties = {name: write_schema(entity, item, required=item.required) for name, item in plain.items()}
    needed = [name for name, item in plain.items() if item.required and not _has_default(entity, name)]
    return _with_texts(entity, properties, needed, new=True)


def updated(entity: Entity, *, with_revision: bool) -> Json:
    """Only what is named changes. ``revision`` is the one that was edited, unless ``If-Match`` says it."""
    properties: Json = {
        item.name: write_schema(entity, item, required=item.required) for item in entity.plain_fields if item.editable
    }
    if with_revision:
        properties["revision"] = {"type": "integer", "minimum": 0, "maximum": LARGEST_ID}
    return _with_texts(entity, properties, [], new=False)


def _has_default(entity: Entity, name: str) -> bool:
    return entity.model.__table__.columns[name].server_default is not None


def _with_texts(entity: Entity, properties: Json, needed: Sequence[str], *, new: bool) -> Json:
    """The body, once per way to give the texts: nested by language, or flat for one."""
    plain = closed(properties, *needed)
    texts = {item.name: item for item in entity.translated_fields if item.editable}
    if not texts:
        return plain
    written = {name: write_schema(entity, item, required=item.required) for name, item in texts.items()}
    first = [name for name, item in texts.items() if item.required] if new else []
    per_locale: Json = closed(written, *first)
    removable = per_locale if new else {"anyOf": [per_locale, {"type": "null"}]}
    nested = {
        "type": "object",
        "properties": dict.fromkeys(LOCALES, removable),
        "additionalProperties": False,
        "minProperties": 1 if new else 0,
    }
    locale = {"type": "string", "enum": list(LOCALES), "description": "The language of the texts beside it"}
    by_locale = closed({**properties, "translations": nested}, *needed, *(["translations"] if new else []))
    flat = closed({**properties, **written, "locale": locale}, *needed, *(first if new else []))
    return {"anyOf": [by_locale, flat]}


def filter_of(entity: Entity) -> Json:
    """Equalities, or a tree of conditions."""
    equal = {name: _or_null(_comparable(item)) for name, item in conditional_fields(entity).items()}
    return {
        "anyOf": [
            {"type": "object", "properties": equal, "additionalProperties": False, "description": "Equalities"},
            schema_ref(schema_name(entity, "Condition")),
            schema_ref(schema_name(entity, "Group")),
        ]
    }


def condition(entity: Entity) -> Json:
    """One comparison, by the kind of its field. ``between`` has both ends included; null equals null only."""
    kinds: dict[str, list[str]] = {}
    fields = conditional_fields(entity)
    for name, item in fields.items():
        kinds.setdefault(json.dumps(_comparable(item)), []).append(name)
    return {"anyOf": [one for names in kinds.values() for one in _comparisons(fields[names[0]], names)]}


def _comparisons(item: Field, names: Sequence[str]) -> list[Json]:
    """What fields of one kind may be compared with."""
    exact = _comparable(item)
    ordered = {"type": "string", "maxLength": item.limit} if item.kind == "choice" else exact
    found = [
        _comparison(names, ["=", "!="], _or_null(exact)),
        _comparison(names, [">", ">=", "<", "<="], ordered),
        _comparison(names, ["in"], {"type": "array", "items": exact, "maxItems": LONGEST}),
        _comparison(names, ["between"], {"type": "array", "items": ordered, "minItems": 2, "maxItems": 2}),
    ]
    if exact["type"] == "string" and "format" not in exact:
        pattern = {"type": "string", "maxLength": item.limit, "pattern": NO_ESCAPE_AT_END}
        found.append(_comparison(names, ["like"], {**pattern, "description": "`%` is any text, `_` any character"}))
    return found


def _comparison(names: Sequence[str], operators: Sequence[str], value: Json) -> Json:
    return closed(
        {
            "property": {"type": "string", "enum": list(names)},
            "operator": {"type": "string", "enum": list(operators)},
            "value": value,
        },
        "property",
        "operator",
        "value",
    )


def group(entity: Entity) -> Json:
    """At most 10 deep and 100 conditions in all."""
    name = schema_name(entity)
    return closed(
        {
            "operator": {"type": "string", "enum": ["and", "or"]},
            "filters": {
                "type": "array",
                "maxItems": MOST,
                "items": {"anyOf": [schema_ref(f"{name}Condition"), schema_ref(f"{name}Group")]},
            },
        },
        "operator",
        "filters",
    )


def _comparable(item: Field) -> Json:
    if item.kind == "integer":
        return {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1}
    if item.kind == "datetime":
        return {"type": "string", "format": "date-time"}
    if item.kind == "choice":
        return {"type": "string", "enum": list(item.choices)}
    return {"type": "string", "maxLength": LIMIT if item.kind == "text" else item.limit}


def sort_pattern(entity: Entity) -> str:
    """Up to three of the fields that a list may be sorted by."""
    one = f"-?({'|'.join(sortable(entity))})"
    return f"^{one}(,{one}){{0,{SORTS - 1}}}$"


def field_pattern(entity: Entity) -> str:
    """Names of fields with commas between."""
    names = "|".join(dict.fromkeys([*SYSTEM_FIELDS, *(item.name for item in entity.fields)]))
    return f"^({names})(,({names}))*$"


def group_pattern(entity: Entity) -> str:
    """Up to two fields that records may be grouped by."""
    one = "|".join(name for name, item in conditional_fields(entity).items() if item.kind != "text")
    return f"^({one})(,({one})){{0,{MOST_FIELDS - 1}}}$"


def metric_pattern(entity: Entity) -> str:
    """Figures: each function of the fields that it fits."""
    fields = conditional_fields(entity).items()
    fitting = [
        rf"{function}\(({'|'.join(name for name, item in fields if item.kind in kinds)})\)"
        for function, kinds in FITTING.items()
    ]
    one = "|".join(fitting)
    return f"^({one})(,({one})){{0,{MOST_METRICS - 1}}}$"


def members(**properties: Json) -> Json:
    """An answer with these members, all of them there."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def previewed(entity: Entity) -> Json:
    """What a change of many records is about: named ids, or what a list is restricted by."""
    ids = {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": LARGEST_ID}, "minItems": 1}
    by_id = {"ids": {**ids, "maxItems": CAP}}
    by_list = {"filter": schema_ref(schema_name(entity, "Filter")), "q": {"type": "string", "maxLength": 200}}
    return {"anyOf": [_asked(entity, by_id, ["ids"]), _asked(entity, by_list, ["filter"])]}


def changed_at_once(entity: Entity) -> Json:
    """The preview's token, with the operation and values that were previewed."""
    token = {"type": "string", "minLength": 1, "description": "Of the preview"}
    return _asked(entity, {"token": token}, ["token"])


def _asked(entity: Entity, more: Json, needed: Sequence[str]) -> Json:
    """For an update with its values, for anything else without."""
    values = schema_ref(schema_name(entity, "Values"))
    update = {"operation": {"type": "string", "const": "update"}, "values": values, **more}
    other = {"operation": {"type": "string", "enum": ["delete", "restore"]}, **more}
    return {"anyOf": [closed(update, "operation", "values", *needed), closed(other, "operation", *needed)]}
