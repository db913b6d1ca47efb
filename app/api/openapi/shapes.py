"""Answers of operations whose views return plain mappings, as models of their own."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Shape(BaseModel):
    """An answer. What is not named here is not promised."""

    model_config = ConfigDict(extra="allow")


class Free(Shape):
    """An object whose members are those of the page beside it; see the handbook for what they mean."""


class Items(Shape):
    """A list of objects."""

    items: list[dict[str, Any]]


class Alive(Shape):
    status: Literal["ok"]


class Part(Shape):
    state: Literal["ok", "away", "behind", "none", "unknown"]
    alive: int = 0


class Ready(Shape):
    status: Literal["ready", "not_ready"]
    parts: dict[str, Part]


class SettingShown(Shape):
    """One setting. ``managed`` ones are written by the program."""

    name: str
    value: bool | int | str | None
    default: bool | int | str | None
    kind: str
    managed: bool
    editable: bool
    needs_confirmation: bool
    choices: list[Any] | None
    value_is_listed: bool


class Settings(Shape):
    items: list[SettingShown]


class TokenShown(Shape):
    """A token without its secret."""

    id: int
    name: str
    scopes: list[Literal["read", "write", "admin", "all"]]
    created_at: datetime
    expires_at: datetime


class TokenMade(TokenShown):
    """``token`` is the secret; a repeated request gets none, for it is not stored."""

    token: str | None = None


class Tokens(Shape):
    items: list[TokenShown]


class Piece(Shape):
    """A part of a snippet; ``marked`` where a word of the question stands."""

    text: str
    marked: bool


class Hit(Shape):
    entity: str
    id: int
    key: str | None
    title: str
    locale: str
    snippet: list[Piece]
    score: float
    url: str


class SearchMeta(Shape):
    """``search`` says how the answer came about, and why it was degraded if it was."""

    total: int
    total_relation: Literal["eq", "gte"]
    page: int
    pages: int
    size: int
    did_you_mean: str | None
    relaxations: list[dict[str, Any]]
    search: dict[str, Any]
    facets: list[dict[str, Any]] = Field(default=[])
    explain: dict[str, Any] | None = Field(default=None)


class SearchPage(Shape):
    data: list[Hit]
    meta: SearchMeta


class EmbeddingModels(Shape):
    """``serving`` is the model that search uses now, None before any does."""

    items: list[dict[str, Any]]
    serving: dict[str, Any] | None = Field(default=None)


class Modification(Shape):
    """A captured change, as its author sees it."""

    id: int
    entity: str
    record_id: int | None
    operation: str
    status: str
    votes_needed: int
    expires_at: datetime


class Captured(Shape):
    captured: Modification


class ChangedRecord(Shape):
    id: int
    revision: int


class ManyChanged(Shape):
    """``unchanged`` had the values already; ``modifications`` wait for votes."""

    operation: Literal["update", "delete", "restore"]
    count: int
    records: list[ChangedRecord]
    unchanged: list[int]
    modifications: list[Modification]


class Bucket(Shape):
    group: dict[str, Any]
    count: int
    metrics: dict[str, Any]


class SummaryMeta(Shape):
    """``truncated``: the smallest groups are left out."""

    total_records: int
    aggregated_records: int
    truncated: bool


class Summary(Shape):
    groups: list[Bucket]
    meta: SummaryMeta
