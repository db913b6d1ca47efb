"""What the search page says about an answer: what the matches are, how it came about, why a record is not in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from flask import request
from flask_babel import format_decimal, gettext
from flask_babel import gettext as _

from app.core.errors import Forbidden, NotFound
from app.core.messages import N_
from app.edge.context import actor, container
from app.web.record_words import word

if TYPE_CHECKING:
    from app.search.answer import SearchRequest, SearchResponse
    from app.search.explain import Why

EMPTY: Mapping[str, str] = {
    "no_terms": N_("the question has no word that can be looked for"),
    "title_only": N_("the question has only very common words"),
    "no_term": N_("no text has any of the words"),
    "demands": N_("no text has what is required by +, - or quotes"),
    "matching": N_("no text has as many of the words as are asked for"),
    "locale_filter": N_("no record with these words has a text in this language"),
    "entity_filter": N_("the words stand in records of another kind only"),
    "filters": N_("no record that you may see has vectors within the filters"),
    "not_asked": N_("it was not asked for"),
}
REASONS: Mapping[str, str] = {
    "not_searchable": N_("It is not searchable: a draft, outside its dates, or without a text."),
    "entity_filter": N_("The search looks at records of another kind only."),
    "locale_filter": N_("It has no text in the chosen language."),
    "no_words": N_("The question has no word that can be looked for."),
    "no_term": N_("None of the words stands in it."),
    "demands": N_("It does not have what is required by +, - or quotes."),
    "matching": N_("It has too few of the words for this way of matching."),
    "window": N_("It has words of the question, but 200 others fit better."),
}


def facets(found: SearchResponse, address: Callable[..., str]) -> list[dict[str, object]]:
    """Groups with more than one value; those that the form can filter by are links."""
    groups: list[dict[str, object]] = []
    for one in found.facets:
        values = [
            {
                "label": _value(one.name, value),
                "count": count,
                "href": address(**{one.name: value}) if one.entity is None else None,
            }
            for value, count in one.values
        ]
        if len(values) > 1:
            groups.append({"label": _named(one.name, one.entity), "values": values})
    return groups


def _named(name: str, entity: str | None) -> str:
    if entity is None:
        return str(_("Kind") if name == "entity" else _("Language"))
    declared = container().registry.get(entity)
    field = next(item for item in declared.fields if item.name == name)
    return f"{gettext(declared.label_plural)}: {gettext(field.label)}"


def _value(name: str, value: str) -> str:
    if name == "entity":
        return str(gettext(container().registry.get(value).label_plural))
    return word(value) if name in ("locale", "status", "priority") else value


def explained(found: SearchResponse) -> list[dict[str, str]] | None:
    """Rows of (label, value): the legs, what filters took away, the weights for those who may see them."""
    if found.explain is None:
        return None
    words, vectors = found.explain["legs"]
    rows = [
        {"label": _("By words"), "value": _leg(words)},
        {"label": _("By meaning"), "value": _leg(vectors)},
    ]
    names = {
        "locale": _("Left out by the language"),
        "entity": _("Left out by the kind"),
        "rows": _("Left out by rules"),
    }
    rows += [{"label": names[name], "value": format_decimal(n)} for name, n in found.explain["removed"].items()]
    fusion = found.explain.get("fusion")
    if fusion:
        rows.append({"label": _("Weight of the words"), "value": format_decimal(fusion["word_weight"])})
        rows.append({"label": _("Weight of the meaning"), "value": format_decimal(fusion["vector_weight"])})
    return rows


def _leg(leg: Mapping[str, object]) -> str:
    because = leg["empty_because"]
    if because is None:
        return str(_("%(n)s records", n=format_decimal(leg["hits"])))
    return str(_("nothing: %(reason)s", reason=_because(str(because))))


def _because(code: str) -> str:
    from app.web.search import DEGRADED, DISABLED  # the page imports this module

    return str(gettext(EMPTY.get(code) or DISABLED.get(code) or DEGRADED.get(code) or code))


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


def _outcome(why: Why) -> str:
    if why.reason == "found":
        return str(_("It is there, at place %(n)s.", n=format_decimal(why.place or 0)))
    return str(gettext(REASONS[why.reason]))
