"""Why a modification was not applied; the audit by time and by kind of record."""

from __future__ import annotations

from alembic import op

revision = "0009"
down_revision = "0007"

STATEMENTS = (
    "alter table modifications add column error_values jsonb not null default '{}'",
    "create index modifications_due_idx on modifications (expires_at) where status = 'pending'",
    "create index modification_votes_user_idx on modification_votes (user_id)",
    "create index audit_entries_at_idx on audit_entries (at)",
    "create index audit_entries_entity_idx on audit_entries (entity, id desc)",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
