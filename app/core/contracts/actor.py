"""Who is asking. Called by every entry point, answered by `core/access`; there is always an actor, maybe anonymous."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.core.contracts.conditions import Filter


@dataclass(frozen=True)
class Actor:
    """A person, a script or the system itself.

    ``permissions`` are ``module.entity.ability`` or names such as ``settings.update``; ``*`` is the administrator's
    all. ``scopes`` is None for a session, else what the token was given (read, write, admin, all).

    ``rows`` holds a filter for each permission whose rows are restricted (row ACL, placeholders already filled in);
    ``readable`` and ``writable`` hold the fields of each entity whose fields are restricted. What is absent is
    unrestricted. A guest is signed in, yet nobody in particular and trusted with reading only.
    ``impersonator_id`` is the administrator who acts as this person.
    """

    id: int | None
    login: str
    display_name: str
    locale: str = "en"
    roles: frozenset[str] = frozenset()
    permissions: frozenset[str] = frozenset()
    scopes: frozenset[str] | None = None
    tenant_id: int | None = None
    needs_approval: bool = False
    rows: Mapping[str, Filter] = field(default_factory=dict, hash=False)
    readable: Mapping[str, frozenset[str]] = field(default_factory=dict, hash=False)
    writable: Mapping[str, frozenset[str]] = field(default_factory=dict, hash=False)
    is_guest: bool = False
    token_id: int | None = None
    impersonator_id: int | None = None
    impersonator_login: str | None = None

    def may(self, permission: str) -> bool:
        """Whether one of the actor's roles grants ``permission``.

        The one place where a guest is held to reading: only ``module.entity.select`` is ever granted to them.
        """
        if self.is_guest and not (permission.count(".") == 2 and permission.endswith(".select")):
            return False
        return "*" in self.permissions or permission in self.permissions

    def rows_for(self, permission: str) -> Filter | None:
        """Which rows the permission reaches: None for all of them. Says nothing about having the permission."""
        return self.rows.get(permission)

    @property
    def signed_in(self) -> bool:
        return self.id is not None


ANONYMOUS = Actor(id=None, login="", display_name="")
SYSTEM = Actor(id=None, login="system", display_name="system", permissions=frozenset({"*"}))
