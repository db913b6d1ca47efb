"""`sao.tickets`: its fields, what is searchable of it, and how lines of an import become it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from app.core.contracts.documents import Document
from app.core.crud.lines import ImportLine, read_foreign
from app.core.locale import LOCALES
from app.core.messages import N_
from app.core.registry import Entity, Field, Values
from app.sao.models import Ticket
from app.sao.service import ENTITY, number_new

PREFIX = "SAO-"
STATUSES = ("open", "in_progress", "waiting", "resolved", "closed")
PRIORITIES = ("low", "normal", "high", "urgent")
URGENCIES: Mapping[object, str] = {"1": "high", "2": "normal", "3": "low"}

_REFERENCE = re.compile(rf"{PREFIX}([1-9][0-9]{{0,14}})")


def documents(ticket: Ticket, now: datetime) -> list[Document]:
    """One document in the ticket's locale; its number is part of the title, so that it is found by it."""
    if ticket.deleted_at is not None:
        return []
    title = f"{PREFIX}{ticket.number} {ticket.subject}"
    return [Document(ENTITY, ticket.id, ticket.locale, title, ticket.description, ticket.revision)]


def from_line(line: ImportLine) -> Values:
    """A line of the seed (it has ``subject``), or a foreign one; a seed key such as SAO-12 is the ticket's number.

    Helpdesk lines: urgency 1 is high, 2 normal, 3 low; with a ``resolution`` the ticket is resolved.
    """
    if "subject" in line.raw:
        values = {"locale": line.source.locale, **line.raw}
        key = values.pop("key", None)
        found = _REFERENCE.fullmatch(key) if isinstance(key, str) else None
        return {**values, "external_id": key, **({"number": int(found[1])} if found else {})}
    foreign = read_foreign(line.raw, line.source)
    return {
        "external_id": foreign.key,
        "subject": foreign.title,
        "description": foreign.text,
        "locale": foreign.locale,
        "status": "resolved" if foreign.extra.get("resolution") else "open",
        "priority": URGENCIES.get(str(foreign.extra.get("urgency")), "normal"),
    }


TICKETS = Entity(
    name=ENTITY,
    label=N_("Ticket"),
    label_plural=N_("Tickets"),
    model=Ticket,
    title_field="subject",
    key_field="external_id",
    reference_field="number",
    reference_prefix=PREFIX,
    votes=1,
    documents=documents,
    complete=number_new,
    from_line=from_line,
    fields=(
        Field("number", N_("Number"), "integer", editable=False),
        Field("subject", N_("Subject"), required=True, limit=300),
        Field("description", N_("Description"), "text", listed=False, protected=True),
        Field("locale", N_("Language"), "choice", choices=tuple(LOCALES), listed=False),
        Field("status", N_("Status"), "choice", choices=STATUSES),
        Field("priority", N_("Priority"), "choice", choices=PRIORITIES),
        Field("requester", N_("Requester"), "login"),
        Field("assignee", N_("Assignee"), "login"),
        Field("external_id", N_("Imported as"), limit=400, listed=False, editable=False),
        Field("created_at", N_("Created"), "datetime", listed=False, editable=False),
    ),
)
