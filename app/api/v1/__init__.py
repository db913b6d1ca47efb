"""Version 1 of the API: one resource per file. A new one is added to the list below.

A blueprint holds its whole addresses (``url_prefix="/api/v1/…"``). Under ``/api`` somebody must be known, by a bearer
token or by the session; a token needs the scope read for reads and write for the rest, admin where
`app/edge/context.py` says so. Errors are raised, never rendered here.
"""

from __future__ import annotations

from apiflask import APIBlueprint

from app.api.v1 import (
    approvals,
    audit,
    bulk,
    documentation,
    documentation_ingest,
    documentation_queries,
    embeddings,
    evaluations,
    health,
    queues,
    records,
    roles,
    search,
    search_health,
    search_suggestions,
    settings,
    summaries,
    tokens,
    users,
    vector_health,
)

BLUEPRINTS: tuple[APIBlueprint, ...] = (
    approvals.blueprint,
    audit.blueprint,
    bulk.blueprint,
    documentation.blueprint,
    documentation_ingest.blueprint,
    documentation_queries.blueprint,
    embeddings.models,
    embeddings.switches,
    evaluations.blueprint,
    health.blueprint,
    queues.blueprint,
    records.blueprint,
    roles.blueprint,
    search.blueprint,
    search_health.blueprint,
    search_suggestions.blueprint,
    settings.blueprint,
    summaries.blueprint,
    tokens.blueprint,
    users.blueprint,
    vector_health.blueprint,
)
