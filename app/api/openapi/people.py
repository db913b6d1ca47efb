"""Answers about people, roles, tokens, approvals and the audit, as models."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from app.api.openapi.shapes import Shape


class Person(Shape):
    id: int
    login: str
    display_name: str
    email: str | None
    locale: str
    roles: list[str]
    tenant_id: int | None
    needs_approval: bool
    is_guest: bool
    is_active: bool
    created_at: datetime | None


class People(Shape):
    items: list[Person]
    total: int
    page: int
    size: int


class RowRule(Shape):
    permission: str
    condition: dict[str, Any]
    note: str


class FieldRule(Shape):
    entity: str
    ability: Literal["read", "write"]
    fields: list[str]


class Role(Shape):
    """``people``: how many have it (in lists only)."""

    id: int
    name: str
    is_system: bool
    description: str
    permissions: list[str]
    row_rules: list[RowRule]
    field_rules: list[FieldRule]


class Roles(Shape):
    items: list[Role]


class Permission(Shape):
    """``conditional_fields``: those that row rules may name."""

    name: str
    label: str
    entity: str = ""
    ability: str = ""
    conditional_fields: list[str] = []


class Permissions(Shape):
    items: list[Permission]


class Me(Shape):
    """``scopes`` is null for a session. What is absent from ``rows``, ``readable`` and ``writable`` is unrestricted."""

    id: int
    login: str
    display_name: str
    locale: str
    roles: list[str]
    permissions: list[str]
    scopes: list[str] | None
    tenant_id: int | None
    needs_approval: bool
    is_guest: bool
    impersonator: str | None
    rows: dict[str, dict[str, Any]]
    readable: dict[str, list[str]]
    writable: dict[str, list[str]]


class Author(Shape):
    id: int | None
    name: str


class Vote(Shape):
    """``counts`` is false for a vote of an earlier round."""

    voter: Author
    approves: bool
    reason: str | None
    at: datetime
    counts: bool


class Approval(Shape):
    """A captured change; ``changed_since`` names captured fields of which the record has other values now."""

    id: int
    kind: Literal["record", "setting"]
    subject: str
    record_id: int | None
    operation: str
    status: str
    round: int
    author: Author
    mine: bool
    may_vote: bool
    votes_needed: int
    votes: list[Vote]
    diff: dict[str, dict[str, Any]]
    changed_since: list[str]
    created_at: datetime
    expires_at: datetime
    resolved_at: datetime | None


class Approvals(Shape):
    items: list[Approval]
    next_cursor: Any


class AuditActor(Shape):
    id: int | None
    login: str


class AuditEntry(Shape):
    """A change of null is of a field whose values are not shown."""

    id: int
    at: datetime
    actor: AuditActor
    impersonator: str | None
    channel: str
    address: str | None
    request_id: str | None
    token_id: int | None
    action: str
    entity: str
    record_id: int | None
    revision: int | None
    changes: dict[str, Any]


class Audit(Shape):
    items: list[AuditEntry]
    next_cursor: Any


class CapturedSetting(Shape):
    captured: Approval
