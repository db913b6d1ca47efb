"""Kept questions in Elasticsearch: one strict index behind an alias. The unit of the caller is not used.

Writes go to the alias and demand one, so that a question never makes an index by itself, with fields that are guesses.
Deletion looks for the documents and deletes them one by one: `_delete_by_query` is no part of what every server has.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from app.core.elasticsearch.client import Action, Cluster
from app.core.errors import Conflict, Unavailable
from app.core.unit import Unit
from app.documentation.analytics.ports import Made

PAGE = 1_000
"""Documents of one look for what to erase."""
FIRST = 1
"""The version of a document that was never written again."""
KEYWORD: Mapping[str, Any] = {"type": "keyword"}
COUNT: Mapping[str, Any] = {"type": "integer", "coerce": False}
FIELDS: Mapping[str, Mapping[str, Any]] = {
    "id": KEYWORD,
    "logged_at": {"type": "date"},
    "user_ref": KEYWORD,
    "tenant": KEYWORD,
    "profile": KEYWORD,
    "locale": KEYWORD,
    "query": {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 512}}},
    "retrieved_count": COUNT,
    "citation_count": COUNT,
    "answered": {"type": "boolean"},
    "latency_ms": {"type": "float", "coerce": False},
    "index": KEYWORD,
}
"""The reviewed fields and their types (`seed-facts.md` 18); numbers are taken as numbers only."""
STRICT = "strict"


class ElasticsearchQuestions:
    """The :class:`~app.documentation.analytics.ports.QuestionStore` in a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._alias = f"{cluster.prefix}-documentation_queries"
        self._index = f"{self._alias}-1"
        self.place = f"the index {self._alias}"

    def add(self, unit: Unit, values: Mapping[str, Any], milliseconds: int) -> None:
        source = {**values, "id": str(values["id"]), "logged_at": values["logged_at"].isoformat()}
        self._cluster.add(self._alias, source["id"], source, milliseconds / 1000)

    def prune(self, unit: Unit, before: datetime, most: int) -> int:
        old = {"range": {"logged_at": {"lt": before.isoformat()}}}
        hits = self._hits({"query": old, "size": most, "_source": False})
        return self._deleted([hit["_id"] for hit in hits])

    def erase(self, unit: Unit, references: Collection[str] | None, query: str | None) -> int:
        filters: list[Mapping[str, Any]] = []
        if references is not None:
            filters.append({"terms": {"user_ref": list(references)}})
        if query is not None:
            filters.append({"match": {"query": {"query": query, "operator": "and", "zero_terms_query": "all"}}})
        if not filters:
            raise ValueError("nothing says what to erase")
        if not self._cluster.indexes(self._alias):
            return 0
        self._cluster.refresh(self._alias)
        return self._deleted(self._with_text({"bool": {"filter": filters}}, query))

    def ensure(self, unit: Unit, *, anew: bool) -> Made:
        found = self._cluster.indexes(f"{self._alias},{self._index}")
        if found and not anew:
            self._check(found)
            return "there"
        self._cluster.drop(list(found))
        mappings = {"dynamic": STRICT, "properties": FIELDS}
        settings = {"number_of_shards": 1}
        self._cluster.create(self._index, {"settings": settings, "mappings": mappings, "aliases": {self._alias: {}}})
        return "recreated" if found else "created"

    def _with_text(self, condition: Mapping[str, Any], query: str | None) -> list[str]:
        """The ids of what fulfils the condition, and has exactly this text where one is given.

        An index of words finds more than the very text, and its keyword holds none above 512 characters.
        """
        body: dict[str, Any] = {"query": condition, "size": PAGE, "_source": ["query"], "sort": [{"id": "asc"}]}
        chosen: list[str] = []
        while hits := self._hits(body):
            chosen += [hit["_id"] for hit in hits if query is None or hit["_source"].get("query") == query]
            body["search_after"] = hits[-1]["sort"]
        return chosen

    def _hits(self, body: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """What is found; nothing where the index was never made. Within the time of a search, and at once while away:
        the upkeep looks every minute."""
        try:
            hits: Sequence[Mapping[str, Any]] = self._cluster.search(self._alias, body)["hits"]["hits"]
        except Unavailable as error:
            if error.code != "engine.not_built":
                raise
            return ()
        return hits

    def _deleted(self, keys: Sequence[str]) -> int:
        """Delete these, and let no later look find them. Raises :class:`Unavailable` when any could not be."""
        if not keys:
            return 0
        report = self._cluster.bulk([Action(self._index, key, FIRST, None) for key in keys])
        self._cluster.refresh(self._alias)
        if report.refused:
            raise Unavailable("engine.blocked", kind=report.refused[0][2])
        return report.done

    def _check(self, found: Mapping[str, Mapping[str, Any]]) -> None:
        """Raises :class:`Conflict` unless the index is ours as a whole: its name, its alias, its strict fields."""
        item = found.get(self._index, {}) if len(found) == 1 else {}
        mappings = item.get("mappings", {})
        present = mappings.get("properties", {})
        foreign = {name for name in present.keys() | FIELDS.keys() if present.get(name) != FIELDS.get(name)}
        if mappings.get("dynamic") != STRICT or self._alias not in item.get("aliases", {}):
            foreign.add("*")
        if foreign:
            raise Conflict("documentation.query_index", index=self._alias, fields=", ".join(sorted(foreign)))
