"""A form that is sent after somebody else has saved: what is theirs, what is the person's, and where both changed.

The form says by hashes what it began with (``base``). A control that the person left as it was takes the new value; one
that they typed in keeps what they typed, beside what stands there now.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flask_babel import gettext as _

from app.core.crud.serialise import Record
from app.core.registry import Field
from app.web.record_form import FormFields, label_of, lines, mark, stored_form
from app.web.record_words import word
from app.web.word_diff import Piece, shortened, word_diff


@dataclass(frozen=True)
class Difference:
    """One control that both changed, or that the person changed: ``theirs`` stands in the record, ``yours`` in the
    form. ``pieces`` lead from theirs to yours, for texts."""

    name: str
    label: str
    theirs: str
    yours: str
    both: bool
    pieces: Sequence[Piece] = ()


def merged(form: FormFields, record: Record, sent: Mapping[str, str]) -> dict[str, str]:
    """The values to show: the person's where they typed, else those of the record as it is now."""
    stored, base = stored_form(form, record), _base(sent)
    return {
        **sent,
        **{
            name: value
            for name, value in stored.items()
            if name not in sent or (base.get(name) is not None and base[name] == mark(sent[name]))
        },
    }


def conflict_context(
    form: FormFields, record: Record, sent: Mapping[str, str], last: Mapping[str, object] | None
) -> dict[str, object]:
    """What a second editor is told. ``last`` is the newest entry of the record's history, when there is one."""
    base, kept = _base(sent), merged(form, record, sent)
    stored = stored_form(form, record)
    rows = [
        _difference(form, name, value, lines(kept[name]), base)
        for name, value in stored.items()
        if name in kept and lines(kept[name]) != value
    ]
    taken = [
        label_of(form.entity, name)
        for name, value in stored.items()
        if name in sent and base.get(name) == mark(sent[name]) and mark(value) != base[name]
    ]
    return {
        "by": last["who"] if last and last["revision"] == record.revision else _("Somebody else"),
        "at": record.updated_at,
        "rows": sorted(rows, key=lambda row: not row.both),
        "taken": taken,
    }


def _difference(form: FormFields, control: str, theirs: str, yours: str, base: Mapping[str, str]) -> Difference:
    name = control.partition(".")[0]
    item = next(one for one in form.entity.fields if one.name == name)
    is_text = item.kind == "text" or item.translated
    return Difference(
        name=control,
        label=label_of(form.entity, control),
        theirs=_words(item, theirs),
        yours=_words(item, yours),
        both=control not in base or base[control] != mark(theirs),
        pieces=shortened(word_diff(theirs, yours)) if is_text and theirs and yours else (),
    )


def _words(item: Field, value: str) -> str:
    return word(value) if item.kind == "choice" else value.replace("T", " ") if item.kind == "datetime" else value


def _base(sent: Mapping[str, str]) -> dict[str, str]:
    """What the form began with; nothing is known of one without it, so that all of it counts as typed."""
    try:
        found = json.loads(sent.get("base", "") or "{}")
    except (ValueError, RecursionError):
        return {}
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}
