"""Runs of evaluations with the result of each case."""

from __future__ import annotations

from alembic import op

revision = "0013"
down_revision = "0012"

STATEMENTS = (
    """create table evaluation_runs (
        id bigserial primary key,
        at timestamptz not null default clock_timestamp(),
        kind text not null check (kind in ('suite', 'dataset')),
        suite text not null,
        collection text not null,
        model text,
        retrieval text not null,
        k integer,
        git_sha text check (git_sha ~ '^[0-9a-f]{40}$'),
        cases integer not null,
        passed integer not null,
        metrics jsonb not null,
        floors jsonb not null default '{}',
        breaches jsonb not null default '[]',
        settings jsonb not null default '{}',
        started_by text not null
    )""",
    "create index evaluation_runs_suite_idx on evaluation_runs (suite, collection, id desc)",
    """create table evaluation_results (
        run_id bigint not null references evaluation_runs (id) on delete cascade,
        position integer not null,
        case_id text not null,
        query text not null,
        passed boolean not null,
        known_red boolean not null default false,
        rank integer,
        score double precision,
        expected jsonb not null default '[]',
        reasons jsonb not null default '[]',
        retrieved jsonb not null default '[]',
        primary key (run_id, case_id)
    )""",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
