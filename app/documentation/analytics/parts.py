"""Builds what keeps questions from what the container hands in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.core.clock import Clock
from app.core.elasticsearch.client import Cluster
from app.core.settings.schema import ENGINES, QUERY_DAYS, QUERY_LOG, QUERY_STORE, QUERY_TEXT, QUERY_TEXTS
from app.core.settings.service import Settings
from app.core.unit import Unit, Units
from app.documentation.analytics.elasticsearch_questions import ElasticsearchQuestions
from app.documentation.analytics.log import QuestionLog, Rules
from app.documentation.analytics.ports import QuestionStore
from app.documentation.analytics.store import PostgresQuestions


def build(units: Units, clock: Clock, settings: Settings, keys: Sequence[str], cluster: Cluster | None) -> QuestionLog:
    """``keys``: the present secret, then those before it; ``cluster`` None: Elasticsearch has no address."""

    def rules(session: Any) -> Rules:
        values = settings.values(Unit(session), (QUERY_LOG, QUERY_TEXT, QUERY_DAYS, QUERY_STORE))
        with_text = values[QUERY_TEXT] == QUERY_TEXTS[0]
        return Rules(bool(values[QUERY_LOG]), with_text, int(values[QUERY_DAYS] or 30), str(values[QUERY_STORE]))

    postgres, elasticsearch = ENGINES
    stores: dict[str, QuestionStore] = {postgres: PostgresQuestions()}
    if cluster is not None:
        stores[elasticsearch] = ElasticsearchQuestions(cluster)
    return QuestionLog(units, clock, settings.audit, keys, rules, stores=stores)
