"""Questions to the documentation, and for administrators what of it is indexed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _
from markupsafe import Markup

from app.core.errors import Invalid, NotFound
from app.core.locale import LOCALES
from app.core.messages import N_
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.errors import field_errors
from app.edge.limits import costly
from app.edge.transactions import in_unit
from app.web.documentation import LABELS, address, service
from app.web.documentation_sources import (
    shown_collection,
    shown_counts,
    shown_error,
    shown_line,
    shown_page,
    shown_passages,
)
from app.web.record_words import word
from app.web.search_words import DEGRADED, DISABLED

if TYPE_CHECKING:
    from app.documentation.answering import Answer, Answering
    from app.documentation.retrieved import Evidence

blueprint = Blueprint("documentation_ask", __name__)

UNWRITTEN: Mapping[str, str] = {
    "no_model": N_("No language model is connected yet: these are the passages that cover your question."),
    "model_unavailable": N_("The language model does not answer: these are the passages that cover your question."),
    "model_silent": N_("The language model wrote nothing: these are the passages that cover your question."),
    "model_off_form": N_("The language model wrote no sentences: these are the passages that cover your question."),
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
    kept = _kept_days(answering) if corpora else None
    return render_template("documentation/ask.html", form=form, answer=shown, kept_days=kept), 422 if errors else 200


@blueprint.get("/documentation/sources")
@in_unit
def sources(*, unit: Unit) -> ResponseReturnValue:
    """The sources of one collection with their states, a page of them at a time."""
    overview = service().overview
    lines = overview.collections(unit, actor())
    name = request.args.get("collection", "user")
    found = overview.sources(unit, actor(), name)
    state = request.args.get("state", "")
    number = request.args.get("page", "1")
    return render_template(
        "documentation/sources.html",
        collections=[shown_collection(one, name) for one in lines],
        counts=shown_counts(found.lines, name, state),
        blocked=shown_error(found.blocked),
        live=found.live,
        state=state,
        command="flask docs index" if name in LABELS else f"flask docs index --collection {name}",
        **shown_page(found.lines, name, state, int(number) if number.isascii() and number.isdigit() else 1),
    )


@blueprint.get("/documentation/sources/<corpus>/<locale>/<path:source>")
@in_unit
def passages(corpus: str, locale: str, source: str, *, unit: Unit) -> ResponseReturnValue:
    """The passages of one source in one language."""
    found = service().overview.passages(unit, actor(), corpus, source, locale)
    return render_template("documentation/passages.html", line=shown_line(found.line), sections=shown_passages(found))


def _answering() -> Answering:
    found = container().answering
    if found is None:
        raise NotFound("documentation.not_installed")
    return found


def _kept_days(answering: Answering) -> int | None:
    """For how many days this person's questions are kept; None when they are not."""
    who = actor()
    if answering.questions is None or who.is_guest or who.impersonator_id is not None:
        return None
    with container().units() as unit:
        rules = answering.questions.rules(unit)
    return rules.days if rules.enabled else None


def _shown(answer: Answer) -> dict[str, object]:
    found = answer.retrieved
    degraded = found.degraded or ""
    quiet = DISABLED.get(degraded) or DEGRADED.get(degraded)
    return {
        "outcome": answer.outcome,
        "claims": answer.claims,
        "dropped": answer.dropped,
        "removed": answer.removed,
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
