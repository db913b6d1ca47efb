"""What a role is for, and which of the default permissions it has been offered already."""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0005"

STATEMENTS = (
    "alter table roles add column description text not null default ''",
    "alter table roles add column offered text[] not null default '{}'",
    "update roles set offered = permissions where is_system",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
