"""The search page. With ``HX-Request`` the results alone are answered, also while somebody types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from flask import Blueprint, render_template, url_for
from flask.typing import ResponseReturnValue
from flask_babel import format_decimal, gettext
from flask_babel import gettext as _

from app.core.errors import Invalid
from app.core.locale import LOCALES
from app.edge.context import actor, container, is_htmx
from app.edge.errors import field_errors
from app.web import search_explain
from app.web.ai_words import name_of
from app.web.record_words import badge, word
from app.web.search_asked import Asked, read_asked
from app.web.search_words import COST_LABELS, DEGRADED, DISABLED, MATCHING_LABELS, MODE_LABELS, NOTES

if TYPE_CHECKING:
    from app.search.answer import SearchHit, SearchMeta, SearchRequest, SearchResponse

blueprint = Blueprint("search", __name__)


@blueprint.get("/search")
def index() -> ResponseReturnValue:
    """The form, and the results when something is asked."""
    asked = read_asked()
    errors: dict[str, str] = {}
    results = None
    if asked["q"].strip():
        try:
            results = _found(asked)
        except Invalid as refusal:
            errors = field_errors(refusal)
    status = 422 if errors else 200
    if is_htmx() and not errors:
        return render_template("search/_results.html", results=results), status
    return render_template("search/index.html", form=_form(asked, errors), results=results), status


def _found(asked: Asked) -> dict[str, object]:
    service = container().search
    single = {name: value for name, value in asked.values.items() if name != "entity"}
    wanted = service.request(entities=(asked["entity"],), only=asked.only, facets="true", **single)
    results = _results(wanted, service.search(actor(), wanted), asked)
    return {**results, "sought": search_explain.sought(wanted)}


def _form(asked: Asked, errors: Mapping[str, str]) -> dict[str, object]:
    registry = container().registry
    names = container().search.entities(actor())
    return {
        **asked.values,
        "mode": asked["mode"] or "auto",
        "cost": asked["cost"] or "balanced",
        "matching": asked["matching"] or "auto",
        "hidden": [("only", value) for value in asked.only] + ([("explain", "true")] if asked["explain"] else []),
        "entities": [("", _("Everything")), *((name, gettext(registry.get(name).label_plural)) for name in names)],
        "locales_options": [("", _("All languages")), *((code, word(code)) for code in LOCALES)],
        "modes": [(mode, gettext(MODE_LABELS[mode])) for mode in MODE_LABELS],
        "costs": [(cost, gettext(COST_LABELS[cost])) for cost in COST_LABELS],
        "matchings": [(value, gettext(MATCHING_LABELS[value])) for value in MATCHING_LABELS],
        "errors": errors,
    }


def _results(wanted: SearchRequest, found: SearchResponse, asked: Asked) -> dict[str, object]:
    by_meaning = "vector" in found.meta.strategies
    return {
        "q": wanted.q.strip(),
        "total": found.total,
        "capped": found.total_relation == "gte",
        "milliseconds": round(found.meta.took_ms),
        "degraded": _degraded(found.meta),
        "degraded_href": _reason_page(found.meta),
        "mode_applied": _("words and meaning") if by_meaning else _("words only"),
        "by_meaning": by_meaning,
        "model": _model(found.meta.model),
        "hits": [_hit(hit) for hit in found.hits],
        "page": _page(found, asked, by_meaning),
        "window": found.meta.window if _is_last(found) else None,
        "suggestions": _relaxations(asked, found) + _suggestions(asked),
        "did_you_mean": _did_you_mean(asked, found),
        "facets": search_explain.facets(found, asked),
        "chips": search_explain.chips(asked),
        "explain": search_explain.explained(found),
        "explain_href": asked.address(explain="true") + "#explain",
        "close_href": asked.address(explain=""),
        "hidden": asked.hidden(),
        "entities": [(name, gettext(container().registry.get(name).label)) for name in _searchable()],
    }


def _searchable() -> tuple[str, ...]:
    return container().search.entities(actor())


def _page(found: SearchResponse, asked: Asked, by_meaning: bool) -> dict[str, object]:
    first = (found.page - 1) * found.size + 1
    return {
        "first": first,
        "last": first + len(found.hits) - 1,
        "total": None if by_meaning or found.total_relation == "gte" else found.total,
        "previous_href": asked.address(page=found.page - 1) if found.page > 1 else None,
        "next_href": asked.address(page=found.page + 1) if found.page < found.pages else None,
    }


def _is_last(found: SearchResponse) -> bool:
    """The last page of a window that was full: there is more, and no page shows it."""
    full = max(found.meta.words, found.meta.vector) >= found.meta.window
    return full and bool(found.hits) and found.page >= found.pages


def _degraded(meta: SearchMeta) -> str | None:
    """One sentence on what was less than asked for; the gravest first."""
    for value, sentences in ((meta.vector_disabled, DISABLED), (meta.degraded_reason, DEGRADED), (meta.note, NOTES)):
        if value:
            return str(gettext(sentences.get(value, value)))
    return None


def _reason_page(meta: SearchMeta) -> str | None:
    """Where the reason is shown, for those who may see it."""
    if not actor().may("settings.select"):
        return None
    if meta.vector_disabled:
        return "/settings/ai"
    of_engine = meta.degraded_reason in ("engine_unavailable", "engine_timeout", "words_timeout")
    return url_for("search_health.index") if of_engine else None


def _hit(hit: SearchHit) -> dict[str, object]:
    return {
        "href": _page_of(hit),
        "title": hit.marked_title,
        "entity_label": gettext(container().registry.get(hit.entity).label),
        "locale": hit.locale,
        "locale_label": word(hit.locale),
        "identifier": hit.key,
        "status": badge(hit.status) if hit.status else None,
        "updated_at": hit.updated_at,
        "snippet": hit.snippet,
        "why": search_explain.why(hit),
    }


def _page_of(hit: SearchHit) -> str:
    module, _dot, name = hit.entity.partition(".")
    if module == "documentation" and hit.source is not None:
        return url_for("documentation.page", corpus=name, source=hit.source, locale=hit.locale)
    return url_for("records.detail", name=hit.entity, record_id=hit.id)


def _relaxations(asked: Asked, found: SearchResponse) -> list[dict[str, str]]:
    """Looser searches that do have hits, and how many (`search-measured.md` 11)."""
    offers = {
        "entity": (_("Look in everything"), asked.address(entity="", only=())),
        "only": (_("Look without the filters"), asked.address(only=())),
        "locale": (_("Look in all languages"), asked.address(locale="")),
        "matching": (_("Look for any of the words"), asked.address(matching="")),
        "demands": (_("Look without + - and quotes"), asked.address(q=container().search.plain(asked["q"]))),
    }
    return [
        {"label": f"{label} ({format_decimal(one.total)})", "href": href}
        for one in found.relaxations
        for label, href in [offers[one.change]]
    ]


def _suggestions(asked: Asked) -> list[dict[str, str]]:
    """With meaning, where only words were asked for."""
    if asked["cost"] == "fast" or asked["mode"] == "basic":
        return [{"label": _("Look by meaning too"), "href": asked.address(cost="", mode="")}]
    return []


def _did_you_mean(asked: Asked, found: SearchResponse) -> dict[str, object] | None:
    if found.did_you_mean is None:
        return None
    return {
        "q": found.did_you_mean,
        "href": asked.address(q=found.did_you_mean),
        "included": found.meta.corrected,
    }


def _model(key: str | None) -> str | None:
    """The serving model's name, as people know it."""
    ai = container().ai
    return key if ai is None or key is None else name_of(ai, key)
