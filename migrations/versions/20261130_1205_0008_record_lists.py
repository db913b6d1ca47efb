"""Indexes of what lists of contents and tickets are ordered and filtered by, deleted records left out.

Choices end with the instant of the change: a list filtered by one of them is ordered by that unless told otherwise.
"""

from __future__ import annotations

from alembic import op

revision = "0008"
down_revision = "0009"

INDEXES = {
    "cms_contents_updated_idx": "cms_contents (updated_at, id)",
    "cms_contents_status_idx": "cms_contents (status, updated_at, id)",
    "cms_contents_category_idx": "cms_contents (category, updated_at, id)",
    "cms_contents_author_idx": "cms_contents (author, id)",
    "sao_tickets_updated_idx": "sao_tickets (updated_at, id)",
    "sao_tickets_status_idx": "sao_tickets (status, updated_at, id)",
    "sao_tickets_priority_idx": "sao_tickets (priority, updated_at, id)",
    "sao_tickets_subject_idx": "sao_tickets (subject, id)",
    "sao_tickets_requester_idx": "sao_tickets (requester, id)",
    "sao_tickets_assignee_idx": "sao_tickets (coalesce(assignee, ''), id)",
}


def upgrade() -> None:
    for name, columns in INDEXES.items():
        op.execute(f"create index {name} on {columns} where deleted_at is null")
