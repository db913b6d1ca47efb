"""Since when a generation of an engine's indexes answers, which spaces are copied, and versions of what is written."""

from __future__ import annotations

from alembic import op

revision = "0014"
down_revision = "0013"

STATEMENTS = (
    "alter table serving add column generation_since timestamptz",
    "create table copied_spaces ("
    "space_id integer primary key references vector_spaces (id) on delete cascade, "
    "since timestamptz not null default clock_timestamp())",
    "create sequence engine_versions as bigint",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
