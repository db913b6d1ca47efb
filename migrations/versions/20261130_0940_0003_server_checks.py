"""When the server of a vector space was last compared with the space's fixed text, and what came of it."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.execute("alter table vector_spaces add column checked_at timestamptz, add column check_result text")
