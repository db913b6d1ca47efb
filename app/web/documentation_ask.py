"""Questions to the documentation, and for administrators what of it is indexed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _
from markupsafe import Markup

from app.core.errors import Invalid, NotFound
from app.core.locale import LOCALES
from app.core.messages import N_, sentence
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.errors import field_errors
from app.edge.limits import costly
from app.edge.transactions import in_unit
from app.web.documentation import LABELS, MODULES, address, service
from app.web.record_words import word
from app.web.search import DEGRADED, DISABLED

if TYPE_CHECKING:
    from app.documentation.answering import Answer, Answering
    from app.documentation.overview import SourceLine
    from app.documentation.retrieved import Evidence

blueprint = Blueprint("documentation_ask", __name__)

UNWRITTEN: Mapping[str, str] = {
    "no_model": N_("No language model is connected yet: these are the passages that cover your question."),
    "model_unavailable": N_("The language model does not answer: these are the passages that cover your question."),
    "model_silent": N_("The language model wrote nothing: these are the passages that cover your question."),
}
STATES: Mapping[str, tuple[str, str]] = {
    "current": ("success", N_("Up to date")),
    "stale": ("warning", N_("Changed since")),
    "missing": ("warning", N_("Not indexed yet")),
    "gone": ("warning", N_("File is gone")),
    "failed": ("danger", N_("Left out")),
}


@blueprint.get("/documentation/ask")
@costly
def ask() -> ResponseReturnValue:
    """The form, and the answer with its sources when something is asked."""
    answering = _answering()
    asked = {name: request.args.get(name, "") for name in ("q", "corpus", "locale")}
    corpora = service().corpora(actor())
    if asked["corpus"] not in corpora and corpora:
        asked["corpus"] = corpora[0]
    errors: dict[str, str] = {}
    shown = None
    if asked["q"].strip() and corpora:
        try:
            wished = answering.request(asked["q"], asked["corpus"], asked["locale"] or None)
            shown = _shown(answering.answer(actor(), wished))
        except Invalid as refusal:
            errors = field_errors(refusal)
    form = {
        **asked,
        "locale": asked["locale"] or actor().locale,
        "corpora": [(name, _(LABELS[name])) for name in corpora],
        "locales": [(code, word(code)) for code in LOCALES],
        "error": next(iter(errors.values()), None),
    }
    return render_template("documentation/ask.html", form=form, answer=shown), 422 if errors else 200


@blueprint.get("/documentation/sources")
@in_unit
def sources(*, unit: Unit) -> ResponseReturnValue:
    """Every source with its state."""
    lines = [_line(line) for line in service().overview.sources(unit, actor())]
    counts = [
        (_(label), tone, sum(1 for line in lines if line["state"] == name)) for name, (tone, label) in STATES.items()
    ]
    return render_template("documentation/sources.html", lines=lines, counts=[one for one in counts if one[2]])


@blueprint.get("/documentation/sources/<corpus>/<locale>/<path:source>")
@in_unit
def passages(corpus: str, locale: str, source: str, *, unit: Unit) -> ResponseReturnValue:
    """The passages of one source in one language."""
    found = service().overview.passages(unit, actor(), corpus, source, locale)
    sections = [
        {
            "number": section.n + 1,
            "breadcrumb": section.breadcrumb,
            "words": len(section.text.split()),
            "html": Markup(found.html(section)),
        }
        for section in found.sections
    ]
    return render_template("documentation/passages.html", line=_line(found.line), sections=sections)


def _answering() -> Answering:
    found = container().answering
    if found is None:
        raise NotFound("documentation.not_installed")
    return found


def _shown(answer: Answer) -> dict[str, object]:
    found = answer.retrieved
    degraded = found.degraded or ""
    quiet = DISABLED.get(degraded) or DEGRADED.get(degraded)
    return {
        "outcome": answer.outcome,
        "claims": answer.claims,
        "dropped": answer.dropped,
        "model": answer.model,
        "unwritten": _(UNWRITTEN[answer.degraded]) if answer.degraded else None,
        "degraded": _(quiet) if quiet else None,
        "sources": [_source(one) for one in answer.sources],
        "near": [_source(one) for one in found.passages[:3]] if answer.outcome == "not_documented" else [],
    }


def _source(one: Evidence) -> dict[str, object]:
    return {
        "number": one.number,
        "label": one.label,
        "title": one.title,
        "breadcrumb": one.breadcrumb,
        "locale": one.locale,
        "locale_label": word(one.locale),
        "version": one.version,
        "href": f"{address(one.corpus, one.source)}?locale={one.locale}",
        "html": Markup(one.html),
        "similarity": one.similarity,
    }


def _line(line: SourceLine) -> dict[str, object]:
    tone, label = STATES[line.state]
    href = None
    if line.indexed_at is not None:
        href = url_for("documentation_ask.passages", corpus=line.corpus, locale=line.locale, source=line.source)
    return {
        "state": line.state,
        "tone": tone,
        "state_label": _(label),
        "title": line.title or line.file,
        "file": line.file,
        "corpus_label": _(LABELS[line.corpus]),
        "audience": line.audience,
        "module": _(MODULES.get(line.module, line.module.capitalize())) if line.module else "",
        "tenant": line.tenant,
        "permissions": line.permissions,
        "locale": line.locale,
        "locale_label": word(line.locale),
        "passages": line.passages,
        "indexed_at": line.indexed_at,
        "error": sentence(line.error.code, line.error.values, _) if line.error else None,
        "href": href,
        "page_href": f"{address(line.corpus, line.source)}?locale={line.locale}",
    }
