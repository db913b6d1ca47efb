"""Who is asking. Called by every entry point, answered by `core/access`; there is always an actor, maybe anonymous."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Actor:
    """A person, a script or the system itself.

    ``permissions`` are ``module.entity.ability`` or names such as ``settings.update``; ``*`` is the administrator's
    all. ``scopes`` is None for a session, else what the token was given (read, write, admin, all).
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

    def may(self, permission: str) -> bool:
        """Whether one of the actor's roles grants ``permission``."""
        return "*" in self.permissions or permission in self.permissions

    @property
    def signed_in(self) -> bool:
        return self.id is not None


ANONYMOUS = Actor(id=None, login="", display_name="")
SYSTEM = Actor(id=None, login="system", display_name="system", permissions=frozenset({"*"}))
