"""Settings → Search indexes: what each engine holds beside what there is to find, and how search is set up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from flask import Blueprint, render_template, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext, ngettext
from flask_babel import gettext as _

from app.core.messages import N_
from app.core.settings.schema import SEARCH, Value
from app.core.unit import Unit
from app.edge.context import actor, container
from app.edge.transactions import in_unit
from app.web.ai_words import JSON
from app.web.filters import number

if TYPE_CHECKING:
    from app.search.engine_health import EngineHealth, IndexHealth

blueprint = Blueprint("search_health", __name__)

NAMES: Mapping[str, str] = {"postgres": "PostgreSQL", "elasticsearch": "Elasticsearch"}
COUNTED = 10_000
"""Waiting events are counted so far; more are told as more."""
PROBLEMS: Mapping[str, tuple[str, str]] = {
    "away": (
        N_("It does not answer"),
        N_("PostgreSQL's words answer meanwhile, and each answer says so. Nothing is lost: changes wait for it."),
    ),
    "not_followed": (
        N_("Changes do not reach it"),
        N_("Its index was never built, or the database was moved. Rebuild it before it is used."),
    ),
    "behind": (
        N_("It is behind"),
        N_("Many changes wait. Searches find what was written earlier; what is hidden is never shown."),
    ),
    "not_built": (N_("An index is missing"), N_("A kind of record has no index that answers. Rebuild it.")),
    "incomplete": (
        N_("Records and index differ"),
        N_("Changes on their way explain small differences. If one stays, rebuild the index."),
    ),
    "vectors_incomplete": (
        N_("Vectors are missing in the index"),
        N_("Some records can be found by their words only. If it stays so, rebuild the index."),
    ),
    "invalid": (N_("An index is not valid"), N_("It is not read. Rebuild it.")),
}
KINDS: Mapping[str, str] = {
    "words": N_("Words"),
    "vectors": N_("Vectors"),
    "words_and_vectors": N_("Words and vectors"),
}
STATES: Mapping[str, tuple[str, str, str]] = {
    "serving": (N_("Ready"), "success", "check"),
    "building": (N_("Being built"), "primary", "half"),
    "old": (N_("Kept for a while"), "", "clock"),
}
INVALID = (N_("Invalid"), "danger", "stop")
NOT_READY = (N_("Does not answer"), "danger", "alert")
REBUILD: Mapping[str, str] = {
    "postgres": "flask embeddings health",
    "elasticsearch": "flask search reindex --engine elasticsearch",
}
"""The command that mends an engine; for PostgreSQL it says which vector index is wrong."""


@blueprint.get("/settings/search")
@in_unit
def index(*, unit: Unit) -> ResponseReturnValue:
    """Both engines, counted now, and the settings of search with their values."""
    found = container().engine_report.read(actor())
    return render_template(
        "search/health.html",
        engines=[_engine(one) for one in found],
        absent=not any(one.engine == "elasticsearch" for one in found),
        settings=_settings(unit),
        settings_href=url_for("settings.index", q="search."),
    )


def _engine(found: EngineHealth) -> JSON:
    command = REBUILD[found.engine] if found.problems or found.engine == "elasticsearch" else None
    return {
        "id": found.engine,
        "name": NAMES[found.engine],
        "version": found.version,
        "chosen": found.chosen,
        "generation": found.generation,
        "lag": _lag(found.lag),
        "size": found.size,
        "problems": [
            {"kind": kind, "title": _(PROBLEMS[kind][0]), "text": _(PROBLEMS[kind][1])} for kind in found.problems
        ],
        "indexes": [_index(one) for one in found.indexes],
        "generations": any(one.generation is not None for one in found.indexes),
        "command": command,
    }


def _lag(lag: int | None) -> str:
    if lag is None:
        return str(_("not followed"))
    if lag > COUNTED:
        return str(_("more than %(n)s changes wait", n=number(COUNTED)))
    if not lag:
        return str(_("nothing waits"))
    return str(ngettext("%(count)s change waits", "%(count)s changes wait", lag, count=number(lag)))


def _index(one: IndexHealth) -> JSON:
    chip = STATES[one.state]
    if not one.valid:
        chip = INVALID
    elif one.state == "serving" and not one.ready:
        chip = NOT_READY
    return {
        "name": one.name,
        "label": _label(one.entity),
        "kind": _(KINDS[one.kind]),
        "chip": {"label": _(chip[0]), "tone": chip[1], "icon": chip[2]},
        "generation": one.generation,
        "documents": one.documents,
        "expected": one.expected,
        "differs": one.state == "serving" and one.documents != one.expected,
        "vectors": one.vectors,
        "expected_vectors": one.expected_vectors,
        "vectors_differ": one.state == "serving" and one.vectors != one.expected_vectors,
        "dimensions": one.dimensions,
        "size": one.size,
    }


def _label(entity: str | None) -> str:
    if entity is None:
        return str(_("Everything"))
    registry = container().registry
    return str(gettext(registry.get(entity).label_plural)) if entity in registry else entity


def _settings(unit: Unit) -> Sequence[JSON]:
    """The settings of search, in the order of the settings page, each with a link to where it is changed."""
    return [
        {
            "name": state.definition.name,
            "label": _(state.definition.label),
            "shown": _shown(state.value),
            "href": url_for("settings.index", q=state.definition.name, _anchor=state.definition.name),
            "changed": not state.is_default and not state.definition.managed,
        }
        for state in container().settings.listing(unit, actor())
        if state.definition.group == SEARCH
    ]


def _shown(value: Value) -> str:
    if value in (None, ""):
        return str(_("none"))
    if isinstance(value, bool):
        return str(_("On") if value else _("Off"))
    return number(value) if isinstance(value, int) else str(value)
