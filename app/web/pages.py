"""What every page shows around its own: the rail, the strip, the person, the language; and the start page."""

from __future__ import annotations

from dataclasses import dataclass

from flask import Blueprint, current_app, g, redirect, request
from flask.typing import ResponseReturnValue
from flask_babel import gettext

from app.core.approvals.rights import is_voter
from app.core.contracts.actor import Actor
from app.core.locale import LOCALES
from app.core.messages import N_
from app.edge.context import container, is_borrowed, is_htmx, known_actor, locale

blueprint = Blueprint("pages", __name__)

THEME_COOKIE = "theme"
THEMES = ("light", "dark")


@dataclass(frozen=True)
class Place:
    """One entry of the rail. ``key`` is the letter after ``g``; ``permission`` None: everybody who is signed in."""

    label: str
    path: str
    icon: str
    key: str
    permission: str | None = None


Group = tuple[str, tuple[Place, ...]]

WORK = N_("Work")
APPROVALS = "/approvals"
NAV: tuple[Group, ...] = (
    (
        N_("Know"),
        (Place(N_("Documentation"), "/documentation", "book", "d"), Place(N_("API"), "/api/docs", "keyboard", "")),
    ),
    (
        N_("Run"),
        (
            Place(N_("AI & models"), "/settings/ai", "ai", "a", "settings.select"),
            Place(N_("Vector health"), "/settings/ai/health", "check", "v", "settings.select"),
            Place(N_("Search indexes"), "/settings/search", "search", "i", "settings.select"),
            Place(N_("Queues"), "/queues", "queue", "q", "queues.select"),
            Place(N_("Evaluations"), "/evaluations", "half", "", "evaluations.select"),
        ),
    ),
    (
        N_("Administer"),
        (
            Place(N_("People"), "/people", "people", "p", "users.select"),
            Place(N_("Roles"), "/roles", "lock", "r", "roles.select"),
            Place(N_("Settings"), "/settings", "settings", "e", "settings.select"),
            Place(N_("Audit"), "/audit", "log", "l", "audit.select"),
        ),
    ),
)
RECORDS = {"cms.contents": ("content", "c"), "sao.tickets": ("ticket", "t")}
"""Icon and letter of the records that have their own."""


@blueprint.get("/")
def start() -> ResponseReturnValue:
    """The start page is search."""
    return redirect("/search", 303)


def layout() -> dict[str, object]:
    """What `layouts/base.html` asks for on every page.

    On an error page the strip is left out: it would ask the database again.
    """
    person = known_actor()
    hook = None if g.get("failed") or not person.signed_in else container().strip
    return {
        "nav": _nav(person) if person.signed_in else [],
        "strip": hook(person) if hook else None,
        "person": {"name": person.display_name, "user_name": person.login} if person.signed_in else None,
        "viewing": {"name": person.display_name, "by": person.impersonator_login} if person.impersonator_id else None,
        "has_account": not is_borrowed(person),
        "locale": locale(),
        "locales": [(known.code, known.name) for known in LOCALES.values()],
        "theme": _theme(),
    }


def _nav(person: Actor) -> list[dict[str, object]]:
    groups: list[dict[str, object]] = []
    for label, places in (_work(), *NAV):
        items = [
            {
                "label": gettext(place.label),
                "href": place.path,
                "icon": place.icon,
                "key": place.key,
                "active": _active(place.path),
                "count": _count(place, person),
            }
            for place in places
            if (place.permission is None or person.may(place.permission)) and _is_routed(place.path)
        ]
        if items:
            groups.append({"label": gettext(label), "links": items})
    return groups


def _work() -> Group:
    """Search and the records that people edit."""
    records = []
    for entity in container().registry:
        if entity.editable:
            icon, key = RECORDS.get(entity.name, ("record", ""))
            path, permission = f"/records/{entity.name}", entity.permission("select")
            records.append(Place(entity.label_plural, path, icon, key, permission))
    person = known_actor()
    if is_voter(container().registry, person) or person.needs_approval:
        records.append(Place(N_("Approvals"), APPROVALS, "vote", "o"))
    return WORK, (Place(N_("Search"), "/search", "search", "s"), *records)


def _count(place: Place, person: Actor) -> int:
    """The number beside a place: changes that wait for this person's vote."""
    if place.path != APPROVALS or g.get("failed") or is_htmx():
        return 0
    with container().units() as unit:
        return container().approvals.inbox.waiting(unit, person)


def _is_routed(path: str) -> bool:
    """Whether somebody answers the address: a part that is not wired has no entry."""
    routes = current_app.create_url_adapter(request)
    return routes is not None and routes.test(path, method="GET")


def _active(path: str) -> str | None:
    """``page`` for the place itself, ``true`` for a page below it that has no place of its own, else None."""
    if request.path == path:
        return "page"
    longer = [place.path for _, places in NAV for place in places if len(place.path) > len(path)]
    below = request.path.startswith(path + "/") and not any(request.path.startswith(other) for other in longer)
    return "true" if below else None


def _theme() -> str | None:
    """The person's choice; None follows the system."""
    chosen = request.cookies.get(THEME_COOKIE, "")
    return chosen if chosen in THEMES else None
