"""From rows to the actor of a request, and what each role and each scope of a token grants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from app.core.access.models import ApiToken, User
from app.core.access.rules import field_lists, row_filters
from app.core.contracts.actor import Actor
from app.core.errors import Forbidden
from app.core.registry import Registry

ADMINISTRATOR = "administrator"
EDITOR = "editor"
READER = "reader"

EDITED_MODULES = ("cms", "sao")
DOCUMENTATION = "documentation.user.select"

SCOPES: Mapping[str, frozenset[str]] = {
    "read": frozenset({"read"}),
    "write": frozenset({"read", "write"}),
    "admin": frozenset({"read", "admin"}),
    "all": frozenset({"read", "write", "admin"}),
}
"""What a token may be given, and what each of them covers."""


def role_permissions(registry: Registry) -> Mapping[str, list[str]]:
    """The permissions of the three roles, spelt out for the registered entities of the edited modules."""
    edited = [entity for entity in registry if entity.name.partition(".")[0] in EDITED_MODULES]
    select = [entity.permission("select") for entity in edited] + [DOCUMENTATION]
    write = [
        permission
        for entity in edited
        for permission in (entity.permission("insert"), entity.permission("update"), entity.permission("delete"))
    ]
    return {ADMINISTRATOR: ["*"], EDITOR: sorted({*select, *write}), READER: sorted(set(select))}


def actor_of(user: User, token: ApiToken | None = None, registry: Registry | None = None) -> Actor:
    """The actor a user is now; through ``token`` its scopes narrow what may be asked.

    Row rules are read with ``registry``: without it none can be read, and what they restrict is closed. That does
    for who only asks about permissions.
    """
    values: Mapping[str, object] = {
        "id": user.id,
        "login": user.login,
        "tenant": user.tenant_id,
        "locale": user.locale,
        "roles": [role.name for role in user.roles],
    }
    return Actor(
        id=user.id,
        login=user.login,
        display_name=user.display_name,
        locale=user.locale,
        roles=frozenset(role.name for role in user.roles),
        permissions=frozenset(permission for role in user.roles for permission in role.permissions),
        scopes=None if token is None else covered(token.scopes),
        tenant_id=user.tenant_id,
        needs_approval=user.needs_approval,
        rows=row_filters(user.roles, registry, values),
        readable=field_lists(user.roles, "read"),
        writable=field_lists(user.roles, "write"),
        is_guest=bool(user.is_guest),
        token_id=None if token is None else token.id,
    )


def covered(scopes: Iterable[str]) -> frozenset[str]:
    """Everything that the given scopes cover; unknown ones cover nothing."""
    return frozenset().union(*(SCOPES.get(scope, frozenset()) for scope in scopes))


def require(actor: Actor, permission: str) -> None:
    """Raises :class:`Forbidden` naming the permission that the actor lacks."""
    if not actor.may(permission):
        raise Forbidden("access.forbidden", permission=permission)
