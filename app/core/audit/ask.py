"""What the audit may be asked, and its checks. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from app.core.errors import ChangeoverError, Invalid

CHANNELS = ("page", "api", "command", "job", "approval")
SIZE, MOST = 50, 200
LONGEST = 200
NAMES = ("person", "action", "entity", "record", "channel", "from", "to", "cursor", "size")


@dataclass(frozen=True)
class AuditAsk:
    """Entries that match all that is given, newest first. ``since`` is included, ``until`` is not.

    ``person`` is a login, of who did it or of the administrator behind them. ``before`` is the id that a page ended
    with.
    """

    person: str | None = None
    action: str | None = None
    entity: str | None = None
    record_id: int | None = None
    channel: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    before: int | None = None
    size: int = SIZE


def read_ask(raw: Mapping[str, object], zone: tzinfo = UTC) -> AuditAsk:
    """An :class:`AuditAsk` from texts by the names above; empty ones ask nothing. Days are those of ``zone``.

    Raises :class:`Invalid` with the path of everything that is wrong.
    """
    reader = _Reader({name: str(value).strip() for name, value in raw.items() if value not in (None, "")})
    ask = AuditAsk(
        person=reader.text("person"),
        action=reader.text("action"),
        entity=reader.text("entity"),
        record_id=reader.number("record", None, 2**63 - 1),
        channel=reader.choice("channel", CHANNELS),
        since=reader.instant("from", zone, end=False),
        until=reader.instant("to", zone, end=True),
        before=reader.number("cursor", None, 2**63 - 1),
        size=reader.number("size", SIZE, MOST) or SIZE,
    )
    problems = reader.problems
    problems += [Invalid("input.unknown_field", path=name[:100], field=name[:100]) for name in raw if name not in NAMES]
    if problems:
        raise Invalid("input.invalid", fields=problems)
    return ask


class _Reader:
    def __init__(self, given: Mapping[str, str]) -> None:
        self.given = given
        self.problems: list[ChangeoverError] = []

    def text(self, name: str) -> str | None:
        value = self.given.get(name)
        if value is not None and (len(value) > LONGEST or "\x00" in value):
            self.problems.append(Invalid("input.too_long", path=name, limit=LONGEST))
            return None
        return value

    def choice(self, name: str, allowed: tuple[str, ...]) -> str | None:
        value = self.given.get(name)
        if value is not None and value not in allowed:
            shown = value[:40]
            self.problems.append(Invalid("input.choice", path=name, value=shown, allowed=", ".join(allowed)))
        return value

    def number(self, name: str, default: int | None, most: int) -> int | None:
        value = self.given.get(name)
        if value is None:
            return default
        if value.isascii() and value.isdigit() and len(value) < 20 and 1 <= int(value) <= most:
            return int(value)
        self.problems.append(_not_a_number(name, most))
        return default

    def instant(self, name: str, zone: tzinfo, *, end: bool) -> datetime | None:
        """A day (all of it, with ``end``) or an instant; one without an offset is of ``zone``."""
        value = self.given.get(name)
        if value is None:
            return None
        try:
            if len(value) == len("2026-11-30"):
                day = date.fromisoformat(value) + timedelta(days=1 if end else 0)
                return datetime.combine(day, time(), zone).astimezone(UTC)
            found = datetime.fromisoformat(value)
            return (found if found.tzinfo else found.replace(tzinfo=zone)).astimezone(UTC)
        except (ValueError, OverflowError):
            self.problems.append(Invalid("input.type", path=name, expected="2026-11-30"))
            return None


def _not_a_number(name: str, most: int) -> Invalid:
    if most == 2**63 - 1:
        return Invalid("input.type", path=name, expected="1, 2, 3 …")
    return Invalid("input.range", path=name, least=1, most=most)
