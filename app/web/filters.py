"""How numbers, sizes and times are written, in the person's language and zone (`console.md`, "Numbers")."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from babel.dates import format_datetime as babel_datetime
from babel.dates import format_timedelta
from babel.numbers import format_decimal
from flask_babel import get_locale, get_timezone, ngettext
from flask_babel import gettext as _
from jinja2 import Undefined

from app.edge.context import container

Absent = Undefined | None
"""A template has no value here: None, or a name that its context lacks."""
DASH = "\N{EN DASH}"
UNITS = ("B", "kB", "MB", "GB", "TB")


def number(value: float | Absent, digits: int = 0) -> str:
    """Grouped by locale, at most ``digits`` after the point; a dash for None."""
    if value is None or isinstance(value, Undefined):
        return DASH
    pattern = "#,##0" + ("." + "#" * digits if digits else "")
    return str(format_decimal(value, format=pattern, locale=get_locale()))


def size(value: float | Absent) -> str:
    """Bytes in powers of 1,000 with at most one digit after the point below 10."""
    if value is None or isinstance(value, Undefined):
        return DASH
    power = 0
    while abs(value) >= 999.5 and power < len(UNITS) - 1:
        value, power = value / 1000, power + 1
    return f"{number(value, 1 if power and abs(value) < 9.95 else 0)} {UNITS[power]}"


def duration(seconds: float | Absent) -> str:
    """``45 s``, ``2 min 10 s``, ``3 h 5 min``, ``2 days 4 h``: two units at most; a dash for None."""
    if seconds is None or isinstance(seconds, Undefined):
        return DASH
    if 0 < seconds < 1:
        return str(_("less than 1 s"))
    whole = max(0, round(seconds))
    days, hours, minutes = whole // 86_400, whole % 86_400 // 3600, whole % 3600 // 60
    if days:
        return " ".join(filter(None, (ngettext("%(num)s day", "%(num)s days", days), f"{hours} h" if hours else "")))
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    if minutes:
        return f"{minutes} min {whole % 60} s" if whole % 60 else f"{minutes} min"
    return f"{whole} s"


def moment(value: datetime | Absent, form: str = "medium") -> str:
    """Date and time in the person's zone; ``form`` is short, medium or long."""
    if value is None or isinstance(value, Undefined):
        return DASH
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    return babel_datetime(aware, form, tzinfo=get_timezone(), locale=get_locale())


def relative(value: datetime | Absent) -> str:
    """How long ago or how far ahead, in one unit: ``3 minutes ago``."""
    if value is None or isinstance(value, Undefined):
        return DASH
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    passed = aware - container().clock.now()
    return format_timedelta(passed, add_direction=True, threshold=1.2, locale=get_locale())


FILTERS: Mapping[str, Callable[..., str]] = {
    "number": number,
    "bytes": size,
    "duration": duration,
    "datetimeformat": moment,
    "reltime": relative,
}
