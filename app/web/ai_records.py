"""How one record stands in the meaning search, for its page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flask import url_for
from flask_babel import gettext as _

from app.edge.context import actor, container
from app.web.ai_words import REASONS, name_of
from app.web.record_words import word

if TYPE_CHECKING:
    from app.embeddings.store import RecordState

JSON = dict[str, Any]


def record_vectors(entity: str, record_id: int) -> JSON:
    """The card of `records/detail.html`: state, one sentence, and a row for each language."""
    ai = container().ai
    if ai is None:
        return _off(_("No embedding model is installed: searches find this record by its words."))
    serving = ai.switching.serving()
    if serving is None:
        return _off(_("No model serves yet: searches find this record by its words."))
    states = ai.switching.record(entity, record_id)
    if not states:
        return _off(_("This record can't be searched now: it is not published, not valid, or deleted."))
    may_look = actor().may("settings.select")
    return {
        **_summary(states),
        "rows": [
            {"locale_label": word(state.locale), "passages": state.passages, "reason": _reason(state)}
            for state in states
        ],
        "model": name_of(ai, serving[0].model_key),
        "href": url_for("ai.index") if may_look else None,
    }


def _off(sentence: str) -> JSON:
    return {"state": "off", "sentence": sentence}


def _summary(states: list[RecordState]) -> JSON:
    if any(state.set_aside for state in states):
        return {"state": "set_aside", "sentence": _("Part of it could not be embedded; words find it all the same.")}
    if all(state.done or not state.embeddable for state in states):
        return {"state": "done", "sentence": _("Searches find this record by its words and by its meaning.")}
    return {"state": "waiting", "sentence": _("Its present text is being embedded; words find it at once.")}


def _reason(state: RecordState) -> str | None:
    if not state.embeddable:
        return str(_("There is no text to embed."))
    if state.reason is not None:
        reason = REASONS.get(state.reason)
        return str(_("Could not be embedded: %(reason)s", reason=_(reason) if reason else state.reason))
    return None
