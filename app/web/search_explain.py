"""What the search page says about an answer: what the matches are, how it came about, why a record is not in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from flask import request
from flask_babel import format_decimal, gettext
from flask_babel import gettext as _

from app.core.errors import Forbidden, NotFound
from app.edge.context import actor, container
from app.web.record_words import word
from app.web.search_asked import Asked
from app.web.search_words import COST_LABELS, ENGINES, LEFT_OUT, REASONS, sentence

if TYPE_CHECKING:
    from app.search.answer import SearchHit, SearchRequest, SearchResponse
    from app.search.engines.ports import Facet
    from app.search.explain import Why

CODED = ("locale", "status", "priority")
"""Fields whose values are words of the interface."""


# --- narrowing ------------------------------------------------------------------------------------------------------


def facets(found: SearchResponse, asked: Asked) -> list[dict[str, object]]:
    """Groups of values with their counts; each value is a link that narrows the search to it, or widens it again."""
    counted = [(one, _narrowing(one, asked)) for one in found.facets]
    return [
        {"label": _named(one), "values": values}
        for one, values in counted
        if len(values) > 1 or any(value["active"] for value in values)
    ]


def _narrowing(facet: Facet, asked: Asked) -> list[dict[str, Any]]:
    return [
        {
            "label": _value(facet.name, value),
            "count": count,
            "active": _is_active(facet, value, asked),
            "href": _toggled(facet, value, asked),
        }
        for value, count in facet.values
    ]


def _is_active(facet: Facet, value: str, asked: Asked) -> bool:
    if facet.entity is None:
        return asked[facet.name] == value
    return f"{facet.entity}.{facet.name}:{value}" in asked.only


def _toggled(facet: Facet, value: str, asked: Asked) -> str:
    active = _is_active(facet, value, asked)
    if facet.entity is None:
        return asked.with_value(facet.name, "" if active else value)
    only = f"{facet.entity}.{facet.name}:{value}"
    return asked.without_only(only) if active else asked.with_only(only)


def chips(asked: Asked) -> list[dict[str, str]]:
    """The declared fields that the search is narrowed by, each with the address of the search without it."""
    shown = []
    for only in asked.only:
        name, _colon, value = only.partition(":")
        entity, _dot, field = name.rpartition(".")
        if entity in container().registry:
            label = _field_label(entity, field)
            shown.append({"label": label, "value": _value(field, value), "remove_href": asked.without_only(only)})
    return shown


def _named(facet: Facet) -> str:
    if facet.entity is None:
        return str(_("Kind") if facet.name == "entity" else _("Language"))
    return f"{gettext(container().registry.get(facet.entity).label_plural)}: {_field_label(facet.entity, facet.name)}"


def _field_label(entity: str, name: str) -> str:
    fields = container().registry.get(entity).fields
    return next((str(gettext(item.label)) for item in fields if item.name == name), name)


def _value(name: str, value: str) -> str:
    if name == "entity":
        return str(gettext(container().registry.get(value).label_plural))
    return word(value) if name in CODED else value


# --- how the answer came about ---------------------------------------------------------------------------------


def explained(found: SearchResponse) -> dict[str, Any] | None:
    """The legs, and rows of (label, value): effort, what filters took away, weights for those who may see them; and
    what there was no time for, in sentences."""
    told = found.explain
    if told is None:
        return None
    names = {"keyword": _("By words"), "vector": _("By meaning")}
    legs = [{"label": names.get(leg["leg"], leg["leg"]), **_leg(leg)} for leg in told["legs"]]
    left_out = [gettext(LEFT_OUT[name]) for name in found.meta.left_out or ()]
    return {"legs": legs, "rows": [*_effort(found), *_removed(told), *_weighed(told)], "left_out": left_out}


def _leg(leg: Mapping[str, Any]) -> dict[str, str | None]:
    facts = [ENGINES[leg["driver"]]] if leg.get("driver") in ENGINES else []
    if leg.get("took_ms") is not None:
        facts.append(_("%(n)s ms", n=format_decimal(round(leg["took_ms"]))))
    because = leg["empty_because"]
    return {
        "count": format_decimal(leg["hits"]),
        "total": format_decimal(leg["total"]) if leg.get("total", 0) > leg["hits"] else None,
        "facts": " · ".join(facts),
        "because": None if because is None else sentence(str(because)),
    }


def _effort(found: SearchResponse) -> list[dict[str, str]]:
    meta = found.meta
    effort = gettext(COST_LABELS[meta.mode_applied])
    if meta.mode_applied != meta.cost:
        effort = _("%(applied)s in place of %(asked)s", applied=effort, asked=gettext(COST_LABELS[meta.cost]))
    rows = [{"label": _("Effort"), "value": str(effort)}]
    if meta.quality is not None:
        fits = _("%(n)s of 1", n=format_decimal(round(meta.quality, 2)))
        rows.append({"label": _("How well it fits"), "value": fits})
    if meta.retries_used:
        rows.append({"label": _("Looked again"), "value": format_decimal(meta.retries_used)})
    if meta.reranked:
        rows.append({"label": _("Ordered once more by"), "value": meta.reranker_model or _("a rule of thumb")})
    return rows


def _removed(told: Mapping[str, Any]) -> list[dict[str, str]]:
    names = {
        "locale": _("Left out by the language"),
        "entity": _("Left out by the kind"),
        "only": _("Left out by the filters"),
        "rows": _("Left out by rules of roles"),
    }
    return [{"label": names.get(name, name), "value": format_decimal(n)} for name, n in told["removed"].items()]


def _weighed(told: Mapping[str, Any]) -> list[dict[str, str]]:
    fusion = told.get("fusion")
    if not fusion:
        return []
    return [
        {"label": _("Weight of the words"), "value": _share(fusion["word_weight"])},
        {"label": _("Weight of the meaning"), "value": _share(fusion["vector_weight"])},
        {"label": _("Known words of the question"), "value": _share(fusion["known_idf_mass"])},
    ]


def _share(value: float) -> str:
    return f"{format_decimal(round(value * 100))} %"


def why(hit: SearchHit) -> list[dict[str, str]]:
    """How one hit got its place; for administrators, when the answer is explained, what each leg's score was."""
    nowhere = _("not among the first 200")
    rows = [
        {"label": _("Place by words"), "value": str(hit.words_rank or nowhere)},
        {"label": _("Place by meaning"), "value": str(hit.vector_rank or nowhere)},
        {"label": _("Score of both"), "value": format_decimal(hit.score)},
    ]
    if hit.similarity is not None:
        rows.append({"label": _("Similarity of the best passage"), "value": format_decimal(hit.similarity)})
    return rows + _scored(hit.explain or {})


def _scored(told: Mapping[str, Any]) -> list[dict[str, str]]:
    rows = []
    if told.get("named"):
        rows.append({"label": _("Named by the question"), "value": _("yes, so it comes first")})
    for name, label in (("words", _("Score by words")), ("vector", _("Score by meaning"))):
        part = told.get(name) or {}
        if part.get("score") is not None:
            value = _("%(score)s, which counts as %(part)s of 1", **_decimals(part))
            rows.append({"label": label, "value": str(value)})
    return rows


def _decimals(part: Mapping[str, Any]) -> dict[str, str]:
    return {"score": format_decimal(part["score"]), "part": format_decimal(part["part"] or 0)}


# --- why a record is not there ---------------------------------------------------------------------------------


def sought(wanted: SearchRequest) -> dict[str, str] | None:
    """The sentence on the record that was asked for with ``of`` and ``id``; None when none was."""
    entity, number = request.args.get("of", ""), request.args.get("id", "").strip()
    if not entity or not number:
        return None
    there = number.isascii() and number.isdigit() and len(number) < 19
    try:
        if not there or entity not in container().registry:
            raise NotFound("record.not_found")
        answer = _outcome(container().search.why(actor(), wanted, entity, int(number)))
    except (NotFound, Forbidden):
        answer = _("There is no such record, or you may not see it.")
    return {"entity": entity, "id": number, "answer": answer}


def _outcome(found: Why) -> str:
    if found.reason == "found":
        return str(_("It is there, at place %(n)s.", n=format_decimal(found.place or 0)))
    return str(gettext(REASONS[found.reason]))
