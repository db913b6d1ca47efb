"""When a space's server was last compared with its fixed text; how often a switch's work failed in a row."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.execute("alter table vector_spaces add column checked_at timestamptz, add column check_result text")
    op.execute("alter table switches add column troubles integer not null default 0")
