"""What the pages of indexed sources show: collections, their files with a state, and passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from flask import url_for
from flask_babel import gettext as _
from markupsafe import Markup

from app.core.messages import N_, sentence
from app.web.documentation import LABELS, MODULES, address
from app.web.record_words import word

if TYPE_CHECKING:
    from app.core.errors import ChangeoverError
    from app.documentation.overview import CollectionLine, Passages, SourceLine

PER_PAGE = 100
STATES: Mapping[str, tuple[str, str]] = {
    "failed": ("danger", N_("Left out")),
    "stale": ("warning", N_("Changed since")),
    "missing": ("warning", N_("Not indexed yet")),
    "gone": ("warning", N_("File is gone")),
    "current": ("success", N_("Up to date")),
}
SPLITTERS: Mapping[str, str] = {
    "markdown_aware": N_("under headings"),
    "sentence": N_("at sentences"),
    "delimiter": N_("at a delimiter"),
}
AUDIENCES: Mapping[str, str] = {
    "user": N_("people who use the console"),
    "developer": N_("developers"),
    "shared": N_("everybody who may read the collection"),
}


def shown_collection(one: CollectionLine, current: str) -> dict[str, object]:
    """A tab, and what stands above the list when it is the current one."""
    return {
        "name": one.name,
        "label": _(LABELS[one.name]) if one.name in LABELS else one.name,
        "href": url_for("documentation_ask.sources", collection=one.name),
        "current": one.name == current,
        "audience": _(AUDIENCES[one.audience]),
        "splitter": _(SPLITTERS[one.splitter]),
        "max_words": one.max_words,
        "sources": one.sources,
        "passages": one.passages,
        "failed": one.failed,
        "folders": one.folders,
    }


def shown_counts(lines: Sequence[SourceLine], collection: str, state: str) -> list[dict[str, object]]:
    """How many lines of each state there are; each is a filter."""
    counts = {name: sum(1 for line in lines if line.state == name) for name in STATES}
    return [
        {
            "label": _(label),
            "tone": tone,
            "count": counts[name],
            "current": name == state,
            "href": url_for("documentation_ask.sources", collection=collection, state=None if name == state else name),
        }
        for name, (tone, label) in STATES.items()
        if counts[name]
    ]


def shown_page(lines: Sequence[SourceLine], collection: str, state: str, number: int) -> dict[str, object]:
    """The lines of one page (from 1), and where the next one is."""
    wanted = [line for line in lines if not state or line.state == state]
    last = max(1, -(-len(wanted) // PER_PAGE))
    at = min(max(number, 1), last)
    start = (at - 1) * PER_PAGE
    part = wanted[start : start + PER_PAGE]

    def href(page: int) -> str:
        return url_for("documentation_ask.sources", collection=collection, state=state or None, page=page)

    return {
        "lines": [shown_line(line) for line in part],
        "pages": {
            "first": start + 1 if part else 0,
            "last": start + len(part),
            "total": len(wanted),
            "first_href": href(1) if at > 2 else None,
            "previous_href": href(at - 1) if at > 1 else None,
            "next_href": href(at + 1) if at < last else None,
        },
    }


def shown_line(line: SourceLine) -> dict[str, object]:
    """One file or stored text."""
    tone, label = STATES[line.state]
    href = None
    if line.indexed_at is not None:
        href = url_for("documentation_ask.passages", corpus=line.collection, locale=line.locale, source=line.source)
    corpus = line.collection if line.collection in LABELS else "named"
    return {
        "state": line.state,
        "tone": tone,
        "state_label": _(label),
        "title": line.title or line.file,
        "file": line.file,
        "collection": line.collection,
        "collection_label": _(LABELS[line.collection]) if line.collection in LABELS else line.collection,
        "audience": line.audience,
        "module": _(MODULES.get(line.module, line.module.capitalize())) if line.module and corpus != "named" else "",
        "tenant": line.tenant,
        "permissions": line.permissions,
        "locale": line.locale,
        "locale_label": word(line.locale) if line.locale else "",
        "passages": line.passages,
        "indexed_at": line.indexed_at,
        "failed_since": line.failed_since,
        "error": shown_error(line.error),
        "href": href,
        "page_href": f"{address(corpus, line.source)}?locale={line.locale}",
    }


def shown_error(error: ChangeoverError | None) -> str | None:
    """Why a file is left out, or why nothing can be indexed."""
    return sentence(error.code, error.values, _) if error else None


def shown_passages(found: Passages) -> list[dict[str, object]]:
    """Every passage of a text under its headings, sanitised."""
    return [
        {
            "number": section.n + 1,
            "breadcrumb": section.breadcrumb,
            "page": section.page,
            "words": len(section.text.split()),
            "html": Markup(found.html(section)),
        }
        for section in found.sections
    ]
