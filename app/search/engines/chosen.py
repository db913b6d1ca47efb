"""The engine that the setting ``search.engine`` names; PostgreSQL's words answer whenever Elasticsearch can't."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

import structlog

from app.core.elasticsearch.client import LEG_SHARE, SLOW
from app.core.errors import Unavailable
from app.search.engines.elasticsearch import ElasticsearchEngine, RawTerms
from app.search.engines.ports import KeywordLeg, Scope, SearchEngine
from app.search.engines.snapshot import SnapshotInPostgres
from app.search.matching import ParsedQuery

DEGRADED = "engine_unavailable"
TIMEOUT = "engine_timeout"
NONSENSE = (LookupError, TypeError, ValueError, AttributeError)
"""What reading an answer of another shape raises: as good as none."""

log = structlog.get_logger(__name__)


class ChosenEngine(SnapshotInPostgres):
    """A :class:`~app.search.engines.ports.SearchEngine` that asks ``elasticsearch`` when ``is_chosen`` says so."""

    def __init__(
        self, postgres: SearchEngine, elasticsearch: ElasticsearchEngine, is_chosen: Callable[[Any], bool]
    ) -> None:
        super().__init__(postgres)
        self._elasticsearch = elasticsearch
        self._is_chosen = is_chosen

    def keyword(
        self,
        session: Any,
        query: ParsedQuery,
        scope: Scope,
        locale: str | None,
        window: int,
        seconds: float | None = None,
    ) -> KeywordLeg:
        """The chosen engine's answer, or PostgreSQL's with ``degraded`` saying so.

        The chosen one may take its share of ``seconds``, so that some are left for the other.
        """
        if not self._is_chosen(session):
            return self._postgres.keyword(session, query, scope, locale, window, seconds)
        share = None if seconds is None else seconds * LEG_SHARE
        try:
            return self._elasticsearch.keyword(session, query, scope, locale, window, share)
        except (Unavailable, *NONSENSE) as error:
            late = isinstance(error, Unavailable) and error.values.get("kind") == SLOW
            if not isinstance(error, Unavailable):
                log.warning("search.engine_unreadable", error=type(error).__name__)
            rest = None if seconds is None else seconds * (1 - LEG_SHARE)
            leg = self._postgres.keyword(session, query, scope, locale, window, rest)
            return replace(leg, degraded=TIMEOUT if late else DEGRADED)

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
