"""The engine that the setting ``search.engine`` names; PostgreSQL's words answer whenever Elasticsearch can't."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from app.core.errors import Unavailable
from app.search.engines.elasticsearch import ElasticsearchEngine, RawTerms
from app.search.engines.ports import KeywordLeg, Scope, SearchEngine
from app.search.engines.snapshot import SnapshotInPostgres
from app.search.matching import ParsedQuery

DEGRADED = "engine_unavailable"


class ChosenEngine(SnapshotInPostgres):
    """A :class:`~app.search.engines.ports.SearchEngine` that asks ``elasticsearch`` when ``is_chosen`` says so."""

    def __init__(
        self, postgres: SearchEngine, elasticsearch: ElasticsearchEngine, is_chosen: Callable[[Any], bool]
    ) -> None:
        super().__init__(postgres)
        self._elasticsearch = elasticsearch
        self._is_chosen = is_chosen

    def keyword(self, session: Any, query: ParsedQuery, scope: Scope, locale: str | None, window: int) -> KeywordLeg:
        """The chosen engine's answer, or PostgreSQL's with ``degraded`` saying so."""
        if not self._is_chosen(session):
            return self._postgres.keyword(session, query, scope, locale, window)
        try:
            return self._elasticsearch.keyword(session, query, scope, locale, window)
        except Unavailable:
            return replace(self._postgres.keyword(session, query, scope, locale, window), degraded=DEGRADED)

    def matching(
        self, session: Any, words: Mapping[str, AbstractSet[str]], lexemes: Mapping[str, Sequence[str]]
    ) -> Mapping[str, AbstractSet[str]]:
        """Asked of the engine whose leg it was; nothing is marked when that engine went away since."""
        if not isinstance(lexemes, RawTerms):
            return self._postgres.matching(session, words, lexemes)
        try:
            return self._elasticsearch.matching(session, words, lexemes)
        except Unavailable:
            return {}
