"""How records lie in Elasticsearch: one document per record, its texts in a field per locale, strict mapping.

The texts are cut into words by `search/matching.py` before they are sent, as for PostgreSQL, so that both engines see
the same words and identifiers; Elasticsearch leaves out stop words, folds accents and stems.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from app.core.contracts.copies import Shape, StoredPassage
from app.core.elasticsearch.fields import filter_fields, stored
from app.core.elasticsearch.names import PASSAGES, vector_field
from app.core.locale import LOCALES
from app.core.registry import Entity
from app.search.engines.elasticsearch_stopwords import STOP_WORDS
from app.search.matching import identifiers_of, words_of

STEMMERS: Mapping[str, str] = {"en": "porter2", "it": "italian"}
"""The token filter `stemmer` of each locale, Snowball's as in PostgreSQL, so that both engines find the same words; a
locale without one is found by its exact words. ``light_italian`` leaves verbs as they are: nDCG@10 of words on 200
questions of squad-it .796, with this one .823 as on PostgreSQL."""
TOMBSTONE_SECONDS = 3600
"""How long a deleted document refuses a late older write (`search-measured.md` 9): the default is 60 s."""
HEADING_LIMIT = 1000
SIMILARITIES: Mapping[str, str] = {"cosine": "cosine", "l2": "l2_norm", "ip": "max_inner_product"}
"""How Elasticsearch names what makes passages near. The index of a field is its default one, which was measured to beat
`int8_hnsw` (`search-measured.md` 9)."""


@dataclass(frozen=True)
class Text:
    """One locale of a record, cleaned as in `search_documents`."""

    locale: str
    title: str
    body: str


@dataclass(frozen=True)
class Indexed:
    """What is searchable of one record, with the values that conditions may name. ``texts`` empty: it is removed.

    ``version`` grows with each reading of the record: an older one never replaces a newer one
    (`elasticsearch_store.version_of`). ``passages`` are its vectors by space.
    """

    entity: str
    record_id: int
    version: int
    texts: Sequence[Text] = ()
    values: Mapping[str, object] | None = None
    passages: Mapping[int, Sequence[StoredPassage]] = field(default_factory=dict)


def index_body(entity: Entity, meta: Mapping[str, object], shards: int = 1) -> dict[str, Any]:
    """Settings and mappings of a new index of ``entity``."""
    return {
        "settings": {
            "number_of_shards": shards,
            "gc_deletes": f"{TOMBSTONE_SECONDS}s",
            "refresh_interval": "1s",
            "analysis": _analysis(),
        },
        "mappings": {"dynamic": "strict", "_meta": dict(meta), "properties": _properties(entity)},
    }


def vector_properties(shapes: Sequence[Shape]) -> dict[str, Any]:
    """The nested part of a document with a field for each space: a passage has the one of its own space."""
    properties: dict[str, Any] = {"locale": {"type": "keyword"}, "n": {"type": "integer"}}
    for shape in shapes:
        name = vector_field(shape.space_id).removeprefix(f"{PASSAGES}.")
        kind = SIMILARITIES[shape.similarity]
        properties[name] = {"type": "dense_vector", "dims": shape.dimensions, "similarity": kind}
    return {PASSAGES: {"type": "nested", "properties": properties}}


def source_of(indexed: Indexed, spaces: Sequence[int] = ()) -> dict[str, Any]:
    """The document of a record that has texts, with its vectors of ``spaces``."""
    source: dict[str, Any] = {
        "entity": indexed.entity,
        "record_id": indexed.record_id,
        "locales": [text.locale for text in indexed.texts],
        "heading_length": min(len(text.title) for text in indexed.texts),
        "fields": {name: stored(value) for name, value in (indexed.values or {}).items() if value is not None},
    }
    for text in indexed.texts:
        source[f"title_{text.locale}"] = " ".join(words_of(text.title))
        source[f"body_{text.locale}"] = " ".join(words_of(text.body))
        source[f"identifiers_{text.locale}"] = identifiers_of(text.title, text.body)
        source[f"heading_{text.locale}"] = text.title[:HEADING_LIMIT].lower()
    passages = [
        {"locale": one.locale, "n": one.n, vector_field(space).removeprefix(f"{PASSAGES}."): list(one.vector)}
        for space in spaces
        for one in indexed.passages.get(space, ())
    ]
    if passages:
        source[PASSAGES] = passages
    return source


def analyser(locale: str) -> str:
    return f"words_{locale}"


def _analysis() -> dict[str, Any]:
    filters: dict[str, Any] = {}
    analysers: dict[str, Any] = {}
    for code in LOCALES:
        chain = ["lowercase", f"stop_{code}", "asciifolding"]
        words = sorted(STOP_WORDS.get(code, ()))
        filters[f"stop_{code}"] = {"type": "stop", "stopwords": words or "_none_"}
        if code in STEMMERS:
            filters[f"stem_{code}"] = {"type": "stemmer", "language": STEMMERS[code]}
            chain.append(f"stem_{code}")
        analysers[analyser(code)] = {"type": "custom", "tokenizer": "whitespace", "filter": chain}
    return {"filter": filters, "analyzer": analysers}


def _properties(entity: Entity) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "entity": {"type": "keyword"},
        "record_id": {"type": "long"},
        "locales": {"type": "keyword"},
        "heading_length": {"type": "integer"},
        "fields": {
            "properties": {name: {"type": _type(python_type)} for name, python_type in filter_fields(entity).items()}
        },
    }
    for code in LOCALES:
        words = {"type": "text", "analyzer": analyser(code)}
        properties[f"title_{code}"] = properties[f"body_{code}"] = words
        properties[f"identifiers_{code}"] = {"type": "keyword"}
        properties[f"heading_{code}"] = {"type": "keyword"}
    return properties


def _type(python_type: type) -> str:
    if python_type is bool:
        return "boolean"
    if python_type in (int, datetime):
        return "long"
    return "double" if python_type is float else "keyword"
