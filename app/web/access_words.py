"""Rules of roles and entries of the audit about people, in words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from flask_babel import gettext as _

from app.core.access.conditions import conditional_fields
from app.core.contracts.conditions import Condition, Filter, Placeholder
from app.core.messages import N_
from app.core.registry import Entity
from app.web.filters import moment

OPERATORS: Mapping[str, str] = {
    "=": N_("%(field)s is %(value)s"),
    "!=": N_("%(field)s is not %(value)s"),
    ">": N_("%(field)s is above %(value)s"),
    ">=": N_("%(field)s is at least %(value)s"),
    "<": N_("%(field)s is below %(value)s"),
    "<=": N_("%(field)s is at most %(value)s"),
    "like": N_("%(field)s has the pattern %(value)s"),
    "in": N_("%(field)s is one of %(value)s"),
    "between": N_("%(field)s lies between %(first)s and %(last)s"),
}
OWN: Mapping[str, str] = {
    "id": N_("the person's own id"),
    "login": N_("the person's own user name"),
    "roles": N_("the person's own roles"),
    "tenant": N_("the person's own tenant"),
    "locale": N_("the person's own language"),
}
ACTIONS: Mapping[str, str] = {
    "insert": N_("Added"),
    "update": N_("Changed"),
    "delete": N_("Removed"),
    "set_password": N_("Password set"),
    "end_sessions": N_("Sessions ended"),
    "rescue": N_("Rescued on the command line"),
    "sign_in": N_("Signed in"),
    "sign_in_failed": N_("Sign-in failed"),
    "sign_out": N_("Signed out"),
    "impersonate": N_("Viewing as began"),
    "impersonate_end": N_("Viewing as ended"),
    "revoke": N_("Revoked"),
    "erase_questions": N_("Questions to the documentation erased"),
}


def action(name: str) -> str:
    """What an entry of the audit is called; one that is unknown is shown as itself."""
    return str(_(ACTIONS[name])) if name in ACTIONS else name


def sentence(entity: Entity, tree: Filter) -> str:
    """A condition as a sentence: "Category is news and Author is the person's own user name"."""
    if isinstance(tree, Condition):
        return _condition(entity, tree)
    if not tree.items:
        return str(_("every record") if tree.junction == "and" else _("no record"))
    joint = f" {_('and') if tree.junction == 'and' else _('or')} "
    return joint.join(_part(entity, item) for item in tree.items)


def _part(entity: Entity, item: Filter) -> str:
    text = sentence(entity, item)
    return text if isinstance(item, Condition) or len(item.items) < 2 else f"({text})"


def _condition(entity: Entity, item: Condition) -> str:
    known = conditional_fields(entity).get(item.field)
    field = str(_(known.label)) if known is not None else item.field
    if item.value is None:
        template = N_("%(field)s is empty") if item.operator == "=" else N_("%(field)s is not empty")
        return str(_(template, field=field))
    if item.operator == "between" and isinstance(item.value, tuple):
        return str(_(OPERATORS["between"], field=field, first=_value(item.value[0]), last=_value(item.value[1])))
    return str(_(OPERATORS[item.operator], field=field, value=_value(item.value)))


def _value(value: object) -> str:
    if isinstance(value, Placeholder):
        return str(_(OWN[value.name]))
    if isinstance(value, tuple):
        return ", ".join(_value(item) for item in value) or str(_("nothing"))
    if isinstance(value, bool):
        return str(_("Yes") if value else _("No"))
    if value is None:
        return str(_("nothing"))
    return moment(value) if isinstance(value, datetime) else str(value)


ACCESS_FILTERS = {"access_action": action}
