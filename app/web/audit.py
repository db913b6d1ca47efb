"""The audit log: who did what to which record, from where; and the history on a record's page."""

from __future__ import annotations

from collections.abc import Mapping

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext as _

from app.core.audit.ask import CHANNELS, NAMES, AuditAsk, read_ask
from app.core.audit.log import Entry
from app.core.audit.store import OTHERS
from app.core.errors import Invalid
from app.core.messages import N_
from app.core.registry import Entity, Field
from app.core.unit import Unit
from app.edge.context import actor, container, zone
from app.edge.errors import field_errors
from app.edge.transactions import in_unit
from app.web.record_words import word

blueprint = Blueprint("audit", __name__)

ACTIONS: Mapping[str, str] = {
    "insert": N_("Created"),
    "update": N_("Changed"),
    "delete": N_("Deleted"),
    "restore": N_("Restored"),
    "forceDelete": N_("Deleted for good"),
    "capture": N_("Sent for approval"),
    "edit_capture": N_("Edited what waits for approval"),
    "approve": N_("Approved"),
    "disapprove": N_("Disapproved"),
    "withdraw": N_("Withdrew"),
    "expire": N_("Approval expired"),
    "refuse": N_("Approved change not applied"),
    "sign_in": N_("Signed in"),
    "sign_in_failed": N_("Sign-in failed"),
    "sign_out": N_("Signed out"),
    "set_password": N_("Set a password"),
    "end_sessions": N_("Ended the sessions"),
    "impersonate": N_("Began to view as"),
    "impersonate_end": N_("Stopped viewing as"),
    "revoke": N_("Revoked"),
    "rescue": N_("Rescued"),
    "start": N_("Started"),
    "resume": N_("Resumed"),
    "abandon": N_("Abandoned"),
    "decide": N_("Decided on documents"),
    "erase_questions": N_("Erased questions to the documentation"),
    "repair": N_("Repaired"),
}
OBJECTS: Mapping[str, str] = {
    "settings": N_("Setting"),
    "users": N_("Person"),
    "tokens": N_("Token"),
    "roles": N_("Role"),
    "switches": N_("Switch"),
    "spaces": N_("Vectors of a model"),
}
PLACES: Mapping[str, str] = {
    "page": N_("Page"),
    "api": N_("API"),
    "command": N_("Command line"),
    "job": N_("In the background"),
    "approval": N_("By approval"),
}
FIELDS: Mapping[str, str] = {
    "login": N_("User name"),
    "display_name": N_("Name"),
    "email": N_("E-mail"),
    "roles": N_("Roles"),
    "locale": N_("Language"),
    "is_active": N_("Active"),
    "is_guest": N_("Guest"),
    "needs_approval": N_("Needs approval"),
    "password": N_("Password"),
    "permissions": N_("Permissions"),
    "scopes": N_("Scopes"),
    "model": N_("Embedding model"),
}
"""Words for what has no entity's fields; a name without one is shown as it is."""
LINKS = ("modification", "setting")
"""What an entry says of an approval; shown as a link and in the name of the object."""
FILTERS = ("person", "action", "entity", "record", "channel", "from", "to")


@blueprint.get("/audit")
@in_unit
def index(*, unit: Unit) -> ResponseReturnValue:
    """One page of entries, newest first; the address says all of the filter. Days are those of the reader's zone."""
    container().audit_log.permit(actor())
    given = {name: request.args.get(name, "").strip() for name in NAMES if request.args.get(name, "").strip()}
    errors: dict[str, str] = {}
    try:
        ask = read_ask(given, zone())
    except Invalid as refusal:
        errors, ask = field_errors(refusal), AuditAsk()
    found = container().audit_log.page(unit, actor(), ask) if not errors else None
    kept = {name: value for name, value in given.items() if name in FILTERS}
    context = {
        "rows": [_row(entry) for entry in found.entries] if found else [],
        "given": kept,
        "errors": errors,
        "chips": _chips(kept),
        "actions": [("", _("Everything")), *((name, _(label)) for name, label in ACTIONS.items())],
        "objects": [("", _("Everything")), *_objects()],
        "channels": [("", _("Everywhere")), *((name, _(PLACES[name])) for name in CHANNELS)],
        "more": _address(kept | {"cursor": found.next_cursor}) if found and found.next_cursor else None,
        "first": _address(kept) if "cursor" in given else None,
        "export": None if errors else url_for("audit_api.export_csv", **_instants(kept, ask)),  # type: ignore[arg-type]
    }
    return render_template("audit/index.html", **context), 422 if errors else 200


def history(unit: Unit, entity: str, record_id: int) -> list[dict[str, object]]:
    """What happened to a record, for `templates/audit/_history.html` on its page; the caller has read the record."""
    return [_row(entry) for entry in container().audit_log.history(unit, actor(), entity, record_id)]


def _row(entry: Entry) -> dict[str, object]:
    return {
        "id": entry.id,
        "at": entry.at,
        "who": entry.actor or _("nobody"),
        "who_href": _address({"person": entry.actor}) if entry.actor else None,
        "impersonator": entry.impersonator,
        "action": _(ACTIONS[entry.action]) if entry.action in ACTIONS else entry.action,
        "object": _named(entry),
        "record_id": entry.record_id,
        "object_href": _object_address(entry),
        "revision": entry.revision,
        "channel": _(PLACES[entry.channel]) if entry.channel in PLACES else entry.channel,
        "address": entry.address,
        "request_id": entry.request_id,
        "token_id": entry.token_id,
        "modification_href": _modification(entry),
        "fields": ", ".join(dict.fromkeys(_label(entry, path) for path in entry.changes if path not in LINKS)),
        "changes": [_change(entry, path, value) for path, value in entry.changes.items() if path not in LINKS],
    }


def _change(entry: Entry, path: str, value: object) -> dict[str, object]:
    if not isinstance(value, list) or len(value) != 2:
        return {"label": _label(entry, path), "kept_back": True}
    return {"label": _label(entry, path), "old": _shown(value[0]), "new": _shown(value[1]), "kept_back": False}


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return str(value)


def _label(entry: Entry, path: str) -> str:
    """``Title (Italian)`` for a record's text; a setting's own name for a setting."""
    item = next((one for one in _fields(entry.entity) if one.name == path.rpartition(".")[2]), None)
    if item is None:
        return str(_(FIELDS[path])) if path in FIELDS and entry.entity != "settings" else path
    label = str(_(item.label))
    return f"{label} ({word(path.split('.')[1])})" if path.startswith("translations.") else label


def _fields(entity: str) -> list[Field]:
    return list(container().registry.get(entity).fields) if entity in container().registry else []


def _object(name: str) -> str:
    if name in container().registry:
        return str(_(container().registry.get(name).label))
    return str(_(OBJECTS[name])) if name in OBJECTS else name


def _named(entry: Entry) -> str:
    """The object of an entry; a setting by its own name."""
    if entry.entity != "settings":
        return _object(entry.entity)
    given = entry.changes.get("setting")
    names = [str(given[1])] if isinstance(given, list) else [path for path in entry.changes if path not in LINKS]
    return f"{_object(entry.entity)} {', '.join(names)}"


def _objects() -> list[tuple[str, str]]:
    entities: list[Entity] = [entity for entity in container().registry if actor().may(entity.permission("select"))]
    others = [name for name, permission in OTHERS.items() if actor().may(permission)]
    return [*((entity.name, str(_(entity.label_plural))) for entity in entities), *((n, _object(n)) for n in others)]


def _object_address(entry: Entry) -> str | None:
    registry = container().registry
    if entry.entity in registry and registry.get(entry.entity).editable and entry.record_id is not None:
        return url_for("records.detail", name=entry.entity, record_id=entry.record_id)
    if entry.entity == "settings":
        return url_for("settings.index")
    if entry.entity == "switches" and entry.record_id is not None:
        return url_for("ai.summary", switch_id=entry.record_id)
    return None


def _modification(entry: Entry) -> str | None:
    value = entry.changes.get("modification")
    number = value[1] if isinstance(value, list) and len(value) == 2 else None
    return url_for("approvals.show", modification_id=number) if isinstance(number, int) else None


def _chips(kept: Mapping[str, str]) -> list[dict[str, str]]:
    labels = {
        "person": _("Person"),
        "action": _("What was done"),
        "entity": _("What"),
        "record": _("Number"),
        "channel": _("From where"),
        "from": _("From"),
        "to": _("Until"),
    }
    words = {"action": ACTIONS, "channel": PLACES}
    return [
        {
            "label": labels[name],
            "value": _object(value) if name == "entity" else str(_(words.get(name, {}).get(value, value))),
            "remove_href": _address({other: kept[other] for other in kept if other != name}),
        }
        for name, value in kept.items()
    ]


def _address(values: Mapping[str, object]) -> str:
    return url_for("audit.index", **values)  # type: ignore[arg-type]


def _instants(kept: Mapping[str, str], ask: AuditAsk) -> dict[str, str]:
    """The filter as the export takes it: the reader's days as instants, so that it holds exactly what is shown."""
    values = {name: value for name, value in kept.items() if name not in ("from", "to")}
    values |= {"from": ask.since.isoformat()} if ask.since else {}
    return values | ({"to": ask.until.isoformat()} if ask.until else {})
