"""Questions that the documentation was asked, kept when an administrator wants them (`seed-facts.md` 18)."""

from __future__ import annotations

from alembic import op

revision = "0012"
down_revision = "0011"

# `app/documentation/analytics/models.py` makes the same table where it was removed by hand: keep them alike.
STATEMENTS = (
    """create table documentation_queries (
        id uuid primary key,
        logged_at timestamptz not null,
        user_ref text not null constraint documentation_queries_user_ref_check check (user_ref ~ '^[0-9a-f]{64}$'),
        tenant text not null,
        profile text not null,
        locale text not null,
        query text,
        retrieved_count integer not null
            constraint documentation_queries_retrieved_count_check check (retrieved_count >= 0),
        citation_count integer not null
            constraint documentation_queries_citation_count_check check (citation_count >= 0),
        answered boolean not null,
        latency_ms double precision not null
            constraint documentation_queries_latency_ms_check check (latency_ms >= 0),
        index text not null
    )""",
    "create index documentation_queries_logged_at_idx on documentation_queries (logged_at)",
    "create index documentation_queries_user_ref_idx on documentation_queries (user_ref)",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
