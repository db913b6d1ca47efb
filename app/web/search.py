"""The search page. With ``HX-Request`` the results alone are answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import format_decimal, gettext
from flask_babel import gettext as _

from app.core.errors import Invalid
from app.core.locale import LOCALES
from app.core.messages import N_
from app.edge.context import actor, container, is_htmx
from app.edge.errors import field_errors
from app.web import search_explain
from app.web.ai_words import name_of
from app.web.record_words import badge, word

if TYPE_CHECKING:
    from app.search.answer import SearchHit, SearchMeta, SearchRequest, SearchResponse

blueprint = Blueprint("search", __name__)

FIELDS = ("q", "entity", "locale", "mode", "cost", "matching", "page")
MODE_LABELS: Mapping[str, str] = {
    "auto": N_("Best available"),
    "basic": N_("Words only"),
    "orchestrated": N_("Words and meaning"),
}
COST_LABELS: Mapping[str, str] = {"fast": N_("Fast"), "balanced": N_("Balanced"), "deep": N_("Deep")}
MATCHING_LABELS: Mapping[str, str] = {
    "auto": N_("Any word, best first"),
    "strict": N_("All words"),
    "balanced": N_("Most words"),
    "tolerant": N_("About half of the words"),
}
DEGRADED: Mapping[str, str] = {
    "mode_unavailable": N_("Answered by words only: no embedding model is installed."),
    "deep_unavailable": N_("Answered with balanced effort: the deep search has no model to plan with yet."),
    "embedder_unavailable": N_("Answered by words only: the server of the embedding model does not answer."),
    "embedder_timeout": N_("Answered by words only: the server of the embedding model was too slow."),
    "vectors_unavailable": N_("Answered by words only: the meaning search is not available."),
    "vector_timeout": N_("Answered by words only: the meaning search did not answer in time."),
    "vector_failed": N_("Answered by words only: the meaning search failed. Search again."),
    "rate_limited": N_("Answered fast: too many deep searches in this minute."),
    "serving_changed": N_("Answered by words only: the embedding model was just being replaced. Search again."),
}
DISABLED: Mapping[str, str] = {
    "disabled": N_("Answered by words only: the meaning search is switched off in the settings."),
    "suspended": N_("Answered by words only: the meaning search is suspended."),
    "switching": N_("Answered by words only: the meaning search is rebuilding for another model."),
    "dimension_mismatch": N_("Answered by words only: the stored vectors do not fit the model in use."),
    "no_vectors": N_("Answered by words only: no text has been embedded with the model in use yet."),
}
NOTES: Mapping[str, str] = {
    "no_terms": N_("The question has no word that can be looked for."),
    "title_only": N_("The question has only very common words; titles that contain it were looked for."),
    "beyond_window": N_("There are no more results than the pages before. Narrow the search with a filter."),
}


@blueprint.get("/search")
def index() -> ResponseReturnValue:
    """The form, and the results when something is asked."""
    asked = {name: request.args.get(name, "") for name in FIELDS}
    errors: dict[str, str] = {}
    results = None
    service = container().search
    if asked["q"].strip():
        try:
            single = {name: value for name, value in asked.items() if name != "entity"}
            explain = request.args.get("explain", "")
            wanted = service.request(entities=(asked["entity"],), **single, facets="true", explain=explain)
            results = _results(wanted, service.search(actor(), wanted), asked)
            results["sought"] = search_explain.sought(wanted)
        except Invalid as refusal:
            errors = field_errors(refusal)
    status = 422 if errors else 200
    if is_htmx() and not errors:
        return render_template("search/_results.html", results=results), status
    return render_template("search/index.html", form=_form(asked, errors), results=results), status


def _searchable() -> tuple[str, ...]:
    return container().search.entities(actor())


def _form(asked: Mapping[str, str], errors: Mapping[str, str]) -> dict[str, object]:
    registry = container().registry
    names = container().search.entities(actor())
    return {
        **asked,
        "mode": asked["mode"] or "auto",
        "cost": asked["cost"] or "balanced",
        "matching": asked["matching"] or "auto",
        "entities": [("", _("Everything")), *((name, gettext(registry.get(name).label_plural)) for name in names)],
        "locales_options": [("", _("All languages")), *((code, word(code)) for code in LOCALES)],
        "modes": [(mode, gettext(MODE_LABELS[mode])) for mode in MODE_LABELS],
        "costs": [(cost, gettext(COST_LABELS[cost])) for cost in COST_LABELS],
        "matchings": [(value, gettext(MATCHING_LABELS[value])) for value in MATCHING_LABELS],
        "errors": errors,
    }


def _results(wanted: SearchRequest, found: SearchResponse, asked: Mapping[str, str]) -> dict[str, object]:
    first = (found.page - 1) * found.size + 1
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
        "page": {
            "first": first,
            "last": first + len(found.hits) - 1,
            "total": None if by_meaning else found.total,
            "previous_href": _address(asked, page=found.page - 1) if found.page > 1 else None,
            "next_href": _address(asked, page=found.page + 1) if found.page < found.pages else None,
        },
        "suggestions": _relaxations(asked, found) + _suggestions(asked),
        "did_you_mean": _did_you_mean(asked, found),
        "facets": search_explain.facets(found, lambda **changed: _address(asked, **changed)),
        "explain": search_explain.explained(found),
        "explain_href": _address(asked, explain="true"),
        "asked": {name: value for name, value in asked.items() if value and name != "page"},
        "entities": [(name, gettext(container().registry.get(name).label)) for name in _searchable()],
    }


def _degraded(meta: SearchMeta) -> str | None:
    """One sentence on what was less than asked for; the gravest first."""
    for value, sentences in ((meta.vector_disabled, DISABLED), (meta.degraded_reason, DEGRADED), (meta.note, NOTES)):
        if value:
            return str(gettext(sentences.get(value, value)))
    return None


def _reason_page(meta: SearchMeta) -> str | None:
    """Where the reason is shown, for those who may see it."""
    return "/settings/ai" if meta.vector_disabled and actor().may("settings.select") else None


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
        "why": _why(hit),
    }


def _why(hit: SearchHit) -> list[dict[str, str]]:
    nowhere = _("not among the first 200")
    why = [
        {"label": _("Place by words"), "value": str(hit.words_rank or nowhere)},
        {"label": _("Place by meaning"), "value": str(hit.vector_rank or nowhere)},
        {"label": _("Score of both"), "value": format_decimal(hit.score)},
    ]
    if hit.similarity is not None:
        why.append({"label": _("Similarity of the best passage"), "value": format_decimal(hit.similarity)})
    return why


def _page_of(hit: SearchHit) -> str:
    module, _dot, name = hit.entity.partition(".")
    if module == "documentation" and hit.source is not None:
        return url_for("documentation.page", corpus=name, source=hit.source, locale=hit.locale)
    return url_for("records.detail", name=hit.entity, record_id=hit.id)


def _relaxations(asked: Mapping[str, str], found: SearchResponse) -> list[dict[str, str]]:
    """Looser searches that do have hits, and how many (`search-measured.md` 11)."""
    offers = {
        "entity": (_("Look in everything"), {"entity": ""}),
        "locale": (_("Look in all languages"), {"locale": ""}),
        "matching": (_("Look for any of the words"), {"matching": ""}),
        "demands": (_("Look without + - and quotes"), {"q": container().search.plain(asked["q"])}),
    }
    return [
        {"label": f"{label} ({format_decimal(one.total)})", "href": _address(asked, **changed)}
        for one in found.relaxations
        for label, changed in [offers[one.change]]
    ]


def _suggestions(asked: Mapping[str, str]) -> list[dict[str, str]]:
    """With meaning, where only words were asked for."""
    if asked["cost"] == "fast" or asked["mode"] == "basic":
        return [{"label": _("Look by meaning too"), "href": _address(asked, cost="", mode="")}]
    return []


def _did_you_mean(asked: Mapping[str, str], found: SearchResponse) -> dict[str, object] | None:
    if found.did_you_mean is None:
        return None
    return {
        "q": found.did_you_mean,
        "href": _address(asked, q=found.did_you_mean),
        "included": found.meta.corrected,
    }


def _address(asked: Mapping[str, str], **changed: str | int) -> str:
    values = {**asked, "page": "", **changed}
    return "?".join((url_for("search.index"), urlencode({name: value for name, value in values.items() if value})))


def _model(key: str | None) -> str | None:
    """The serving model's name, as people know it."""
    ai = container().ai
    return key if ai is None or key is None else name_of(ai, key)
