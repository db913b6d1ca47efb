"""What the pages of vector health and of the queues show: failed jobs, since when a worker holds its job, samples."""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.execute("alter table processes add column job_since timestamptz, add column job_ids jsonb")
    op.execute("alter table vector_spaces add column sampled_at timestamptz, add column sample jsonb")
    op.execute(
        """
        create table job_failures (
            queue text not null, job text not null, ids jsonb not null default '{}', error text not null, code text,
            times integer not null default 1, first_at timestamptz not null default clock_timestamp(),
            last_at timestamptz not null default clock_timestamp(), worked_at timestamptz,
            primary key (queue, job))
        """
    )
