"""How fields of records are shown: kinds of columns, words and colours of choices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from flask_babel import gettext

from app.core.crud.serialise import Record
from app.core.crud.validation import Scalar
from app.core.messages import N_
from app.core.registry import Entity, Field
from app.edge.context import zone
from app.web.filters import number

WORDS: Mapping[str, str] = {
    "draft": N_("Draft"),
    "published": N_("Published"),
    "archived": N_("Archived"),
    "open": N_("Open"),
    "in_progress": N_("In progress"),
    "waiting": N_("Waiting"),
    "resolved": N_("Resolved"),
    "closed": N_("Closed"),
    "low": N_("Low"),
    "normal": N_("Normal"),
    "high": N_("High"),
    "urgent": N_("Urgent"),
    "en": N_("English"),
    "it": N_("Italian"),
}
TONES: Mapping[str, str] = {
    "published": "success", "resolved": "success", "open": "primary", "in_progress": "primary", "waiting": "warning",
    "high": "warning", "urgent": "danger",
}  # fmt: skip
KINDS: Mapping[str, str] = {"integer": "mono", "datetime": "time", "choice": "badge", "login": "person"}


@dataclass(frozen=True)
class Badge:
    """A choice as a word with a colour."""

    label: str
    tone: str


def word(value: str) -> str:
    """A choice in the language of the request; one without a word of its own is shown as it is."""
    return gettext(WORDS[value]) if value in WORDS else value


def name_of(entity: Entity, record: Record) -> str:
    """What a record is called: its title, else its reference or number for who may not see the title."""
    if record.title:
        return record.title
    if record.has_title and not record.reference:
        return str(gettext("(without a title)"))
    return str(record.reference or f"{gettext(entity.label)} {record.id}")


def counted(entity: Entity, count: int) -> str:
    """``14 tickets``, ``1 ticket``: inside a sentence, hence in small letters."""
    return f"{number(count)} {gettext(entity.label if count == 1 else entity.label_plural).lower()}"


def badge(value: str) -> Badge:
    return Badge(word(value), TONES.get(value, ""))


def kind(item: Field) -> str:
    """The kind of a table cell (`templates/components/tables.html`)."""
    return KINDS.get(item.kind, "text")


def shown(item: Field, value: Scalar) -> Scalar | Badge:
    """The value of a cell or of a fact."""
    return badge(value) if item.kind == "choice" and isinstance(value, str) and value else value


def form_value(item: Field, value: Scalar) -> str:
    """The value of a form's control; instants are in the person's zone, as the control shows them."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        local = value.astimezone(zone()).replace(tzinfo=None)
        return local.isoformat(timespec="minutes" if not local.second else "seconds")
    return str(value)


def from_form(item: Field, text: str) -> str | datetime:
    """What a control sent; an instant without an offset is in the person's zone. Refused by the service if wrong."""
    if item.kind != "datetime" or not text.strip():
        return text
    try:
        found = datetime.fromisoformat(text.strip())
        return (found if found.tzinfo else found.replace(tzinfo=zone())).astimezone(UTC)
    except (ValueError, OverflowError):
        return text
