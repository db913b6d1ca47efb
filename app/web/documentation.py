"""The handbook: the list of pages that the person may read, and one page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _
from markupsafe import Markup

from app.core.errors import NotFound
from app.core.locale import LOCALES
from app.core.messages import N_
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.transactions import in_unit
from app.web.record_words import word

if TYPE_CHECKING:
    from app.documentation.service import Documentation, PageLine, PageView

blueprint = Blueprint("documentation", __name__)

LABELS = {"user": N_("User guide"), "developer": N_("Developer documentation"), "named": N_("Document collections")}
DESCRIPTIONS = {
    "user": N_("How to search, edit records and change the embedding model."),
    "developer": N_("How the console is built, run and extended."),
}
MODULES = {
    "app": N_("The console"),
    "cms": N_("Contents"),
    "embeddings": N_("Embedding models"),
    "sao": N_("Tickets"),
    "search": N_("Search"),
}


@blueprint.get("/documentation")
@in_unit
def index(*, unit: Unit) -> ResponseReturnValue:
    """Every corpus that the person may read."""
    names = service().corpora(actor())
    corpora = [_corpus(name, service().pages(unit, actor(), name)) for name in names]
    filled = [corpus for corpus in corpora if corpus["pages"]]
    return render_template("documentation/index.html", corpora=filled, can_see_sources=actor().may("*"))


@blueprint.get("/documentation/<corpus>/<path:source>")
@in_unit
def page(corpus: str, source: str, *, unit: Unit) -> ResponseReturnValue:
    """One page, in the language of ``?locale=`` or of the person."""
    wished = request.args.get("locale")
    found = service().page(unit, actor(), corpus, source, wished if wished in LOCALES else None)
    siblings = [
        {"href": address(line.corpus, line.source), "title": line.title, "active": line.source == source}
        for line in (service().pages(unit, actor(), corpus) if corpus != "named" else ())
    ]
    return render_template(
        "documentation/page.html", page=_shown(found), siblings=siblings, corpus={"label": _(LABELS[corpus])}
    )


def service() -> Documentation:
    """The documentation. Raises :class:`NotFound` where it is not installed."""
    found = container().documentation
    if found is None:
        raise NotFound("documentation.not_installed")
    return found


def _corpus(name: str, lines: list[PageLine]) -> dict[str, object]:
    groups: dict[str, list[dict[str, str]]] = {}
    for line in lines:
        groups.setdefault(line.module, []).append(
            {
                "href": address(line.corpus, line.source),
                "title": line.title,
                "summary": line.summary,
                "locale": line.locale,
            }
        )
    return {
        "label": _(LABELS[name]),
        "description": _(DESCRIPTIONS[name]),
        "locale_label": ", ".join(word(code) for code in LOCALES if any(line.locale == code for line in lines)),
        "pages": len(lines),
        "updated_at": max((line.updated_at for line in lines), default=None),
        "groups": [
            {"label": _(MODULES.get(module, module.capitalize())), "pages": pages} for module, pages in groups.items()
        ],
    }


def _shown(found: PageView) -> dict[str, object]:
    return {
        "title": found.title,
        "locale": found.locale,
        "locale_label": word(found.locale),
        "audience_label": _(LABELS[found.corpus]),
        "source": found.file,
        "updated_at": found.updated_at,
        "html": Markup(found.html),
        "headings": [{"id": heading.id, "text": heading.text} for heading in found.headings if heading.level == 2],
        "other_locales": [
            {"label": word(code), "href": address(found.corpus, found.source) + f"?locale={code}", "locale": code}
            for code in found.locales
            if code != found.locale
        ],
    }


def address(corpus: str, source: str) -> str:
    """Where a page is read."""
    return url_for("documentation.page", corpus=corpus, source=source)
