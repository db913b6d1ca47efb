"""Which addresses stand for each page in the audit: a row per GET route of a page, or why a route has none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Stage = Literal["signed out", "idle", "switching", "afterwards"]


@dataclass(frozen=True)
class Shown:
    """One address, the status that it answers with, and when it is looked at.

    ``{switch}``, ``{role}`` and ``{run}`` are ids of what the audit made. ``repeats`` selects more of the same on a
    long page: looked at once, in English and light, and left out of the other runs.
    """

    address: str
    status: int = 200
    stage: Stage = "idle"
    repeats: str = ""


def _each(*addresses: str) -> tuple[Shown, ...]:
    return tuple(map(Shown, addresses))


ROWS: Mapping[str, tuple[Shown, ...]] = {
    "/account": _each("/account"),
    "/account/tokens": _each("/account/tokens"),
    "/api/docs": (Shown("/api/docs", repeats=".api-entry:nth-of-type(n+4)"),),
    "/approvals": _each("/approvals", "/approvals?show=all"),
    "/approvals/<int:modification_id>": _each("/approvals/1"),
    "/audit": (*_each("/audit"), Shown("/audit?record=x", 422)),
    "/documentation": _each("/documentation"),
    "/documentation/<corpus>/<path:source>": _each("/documentation/user/searching"),
    "/documentation/ask": _each("/documentation/ask", "/documentation/ask?q=How+do+I+search"),
    "/documentation/sources": _each("/documentation/sources"),
    "/documentation/sources/<corpus>/<locale>/<path:source>": _each("/documentation/sources/user/en/searching"),
    "/evaluations": _each("/evaluations"),
    "/evaluations/<int:run_id>": _each("/evaluations/{run}"),
    "/evaluations/<int:run_id>/compare": _each("/evaluations/{run}/compare"),
    "/people": _each("/people"),
    "/people/<int:user_id>": _each("/people/1", "/people/2"),
    "/people/new": _each("/people/new"),
    "/queues": _each("/queues"),
    "/records/<name>": (
        *_each("/records/cms.contents?columns=open", "/records/sao.tickets?status=closed&priority=high"),
        *_each("/records/cms.contents?deleted=1", "/records/cms.contents?q=zzqqxx"),
        Shown("/records/cms.contents?field=id&operator=%3D&value=x", 422),
    ),
    "/records/<name>/<int:record_id>": _each(
        "/records/cms.contents/5", "/records/cms.contents/7", "/records/sao.tickets/5"
    ),
    "/records/<name>/<int:record_id>/edit": _each("/records/cms.contents/5/edit"),
    "/records/<name>/bulk": _each(
        "/records/cms.contents/bulk?operation=delete&ids=8&ids=9&ids=999",
        "/records/cms.contents/bulk?operation=update&field=status&ids=8",
        "/records/cms.contents/bulk?operation=update&field=status&value=draft&ids=8&ids=9",
        "/records/cms.contents/bulk?operation=delete&ids=999",
    ),
    "/records/<name>/new": _each("/records/sao.tickets/new"),
    "/roles": _each("/roles"),
    "/roles/<int:role_id>": _each("/roles/1", "/roles/{role}"),
    "/roles/new": _each("/roles/new"),
    "/search": (
        *_each("/search", "/search?q=badge", "/search?q=zzqqxx&mode=basic"),
        *_each("/search?q=dublin+badge&cost=fast&only=sao.tickets.status:closed&explain=true"),
        Shown("/search?q=badge", stage="switching"),
    ),
    "/settings": _each("/settings", "/settings?q=zzqqxx"),
    "/settings/ai": (*_each("/settings/ai"), Shown("/settings/ai", stage="switching")),
    "/settings/ai/health": _each("/settings/ai/health"),
    "/settings/ai/progress": (Shown("/settings/ai/progress", stage="switching"),),
    "/settings/ai/switch": _each("/settings/ai/switch?target=openai_compatible:wordllama-256"),
    "/settings/ai/switches": (Shown("/settings/ai/switches", stage="afterwards"),),
    "/settings/search": _each("/settings/search"),
    "/settings/ai/switches/<int:switch_id>": (Shown("/settings/ai/switches/{switch}", stage="afterwards"),),
    "/sign-in": (Shown("/sign-in", stage="signed out"),),
}
ERRORS = (
    Shown("/nowhere", 404),
    Shown("/sign-out", 405),
    Shown("/records/cms.contents?sort=nothing", 422),
    Shown("/settings/ai/switches/999", 404),
)
"""Pages of errors, which have no route of their own."""
NO_PAGE: Mapping[str, str] = {
    "/": "leads to search",
    "/healthz": "JSON",
    "/queues/body": "a part of /queues",
    "/readyz": "JSON",
    "/records": "leads to the first list",
    "/settings/ai/progress/part": "a part of /settings/ai/progress",
    "/settings/ai/strip": "a part of every page",
    "/static/<path:filename>": "files",
}
API = "/api/v1/"


def shown_at(stage: Stage, *, briefly: bool = False) -> list[Shown]:
    """Every address of a stage, those of errors among the idle ones; ``briefly``: one for each route."""
    rows = [[shown for shown in row if shown.stage == stage] for row in (*ROWS.values(), ERRORS)]
    return [shown for row in rows for shown in (row[:1] if briefly else row)]
