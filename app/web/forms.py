"""Fields and pages in the shape that `templates/components` draw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import url_for


def text_field(
    name: str, label: str, value: object, errors: Mapping[str, str], *, kind: str = "text", **more: object
) -> dict[str, object]:
    """A field for `components/forms.html`; ``more`` are help, required, maxlength, options, rows."""
    shown = "" if value is None else value
    return {"name": name, "label": label, "kind": kind, "value": shown, "error": errors.get(name), **more}


def checkbox(name: str, label: str, help: str, checked: bool, errors: Mapping[str, str]) -> dict[str, object]:
    """A box for `components/forms.html`."""
    return text_field(name, label, checked, errors, kind="checkbox", help=help)


def offset_pages(
    endpoint: str, asked: Mapping[str, str], page: int, size: int, count: int, total: int
) -> dict[str, object]:
    """A page of a list by number, for `components/tables.html`."""
    kept: dict[str, Any] = {name: value for name, value in asked.items() if value}
    first = (page - 1) * size + 1
    last = first + count - 1
    return {
        "first": first if count else 0,
        "last": last if count else 0,
        "total": total,
        "previous_href": url_for(endpoint, **kept, page=page - 1) if page > 1 else None,
        "next_href": url_for(endpoint, **kept, page=page + 1) if last < total and count else None,
    }
