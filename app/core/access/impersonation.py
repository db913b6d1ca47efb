"""Viewing the console as another person: what an administrator does to see what somebody else sees.

It hangs on the administrator's own session in the browser and ends with it. Whoever views as somebody has exactly the
rights of that person, minus what ties a person: tokens, passwords, votes and confirmations (`authority.oneself`,
`authority.not_impersonating`). Everything they do is recorded with both names.
"""

from __future__ import annotations

from dataclasses import replace

from app.core.access import store
from app.core.access.actor import ADMINISTRATOR, actor_of, require
from app.core.access.authority import oneself, within_reach
from app.core.access.models import User
from app.core.access.people import ENTITY
from app.core.audit.service import Audit
from app.core.contracts.actor import Actor
from app.core.errors import Forbidden, NotFound
from app.core.registry import Registry
from app.core.unit import Unit

PERMISSION = "users.impersonate"


class Impersonation:
    """Every method runs in the caller's unit; none of them commits."""

    def __init__(self, registry: Registry, audit: Audit) -> None:
        self.registry = registry
        self.audit = audit

    def start(self, unit: Unit, actor: Actor, user_id: int) -> User:
        """The person to view as from now on; the caller puts id and session version into the session.

        Needs ``users.impersonate`` in a browser session of one's own. Raises :class:`Forbidden` through a token, for
        a guest, while viewing as somebody already, and for another administrator, oneself or who may do more than
        the actor; :class:`NotFound` for who is not there or disabled.
        """
        own_id = oneself(actor)
        require(actor, PERMISSION)
        user = store.user_by_id(unit.session, user_id)
        if user is None or not user.is_active:
            raise NotFound("access.user_unknown", login=user_id)
        if user.id == own_id or _administers(user):
            raise Forbidden("access.not_viewed_as")
        within_reach(actor, user)
        self.audit.write(unit, actor, "impersonate", ENTITY, user.id)
        return user

    def actor(self, unit: Unit, impersonator: Actor, user_id: int, session_version: int) -> Actor | None:
        """The person as whom ``impersonator`` acts; None when that has ended: either of them lost what it needs."""
        user = store.user_by_id(unit.session, user_id)
        if user is None or not user.is_active or user.session_version != session_version:
            return None
        if _administers(user) or not impersonator.may(PERMISSION):
            return None
        actor = actor_of(user, registry=self.registry)
        return replace(actor, impersonator_id=impersonator.id, impersonator_login=impersonator.login)

    def end(self, unit: Unit, actor: Actor) -> None:
        """Note that the actor's impersonator is themselves again."""
        if actor.impersonator_id is not None:
            self.audit.write(unit, actor, "impersonate_end", ENTITY, actor.id)


def _administers(user: User) -> bool:
    return any(role.name == ADMINISTRATOR for role in user.roles)
