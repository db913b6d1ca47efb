"""Who may administer whom, decided one after the other.

Every change of people and roles takes one advisory lock until its transaction ends, and reads the rights of whoever
asks again under it: two administrators who demote each other at once leave one, and the second is told why.
"""

from __future__ import annotations

from collections.abc import Collection

from app.core.access import store
from app.core.access.actor import ADMINISTRATOR, actor_of, require
from app.core.access.models import Role, User
from app.core.access.permissions import exceeding
from app.core.contracts.actor import Actor
from app.core.errors import Conflict, Forbidden
from app.core.unit import Unit


def administer(unit: Unit, actor: Actor, permission: str) -> None:
    """Wait for other changes of people and roles, then check ``permission`` as it is now. Raises `Forbidden`."""
    require(actor, permission)
    store.lock_administration(unit.session)
    if actor.id is not None:
        now = store.fresh_user(unit.session, actor.id)
        if now is None or not now.is_active:
            raise Forbidden("access.forbidden", permission=permission)
        require(actor_of(now), permission)
        if now.needs_approval:
            raise Forbidden("access.needs_approval_here")


def oneself(actor: Actor) -> int:
    """The id of a person who acts for themselves in a browser: no token, no guest, nobody viewing as them.

    What ties a person (tokens, passwords, votes, confirmations) asks for this. Raises :class:`Forbidden`.
    """
    if actor.id is None:
        raise Forbidden("access.sign_in")
    if actor.scopes is not None:
        raise Forbidden("access.token_acts")
    if actor.is_guest:
        raise Forbidden("access.guest")
    not_impersonating(actor)
    return actor.id


def not_impersonating(actor: Actor) -> None:
    """Raises :class:`Forbidden` for who views the console as somebody else."""
    if actor.impersonator_id is not None:
        raise Forbidden("access.impersonating")


def within_reach(actor: Actor, user: User) -> None:
    """Nobody administers a person who may do more than they. Raises :class:`Forbidden`."""
    if exceeding(actor, permissions_of(user.roles)):
        raise Forbidden("access.above")


def permissions_of(roles: Collection[Role]) -> frozenset[str]:
    return frozenset(permission for role in roles for permission in role.permissions)


def keeps_an_administrator(unit: Unit, user: User, *, trusted: bool, roles: Collection[str]) -> None:
    """Refuse the change that would leave nobody who can sign in and administer. Before anything is written.

    ``trusted`` (active, no guest, no need of approval) and ``roles`` are what the person would be afterwards. Raises
    :class:`Conflict`.
    """
    is_one = user.is_active and not user.is_guest and any(role.name == ADMINISTRATOR for role in user.roles)
    stays_one = trusted and ADMINISTRATOR in roles
    if is_one and not stays_one and store.other_administrators(unit.session, user.id) == 0:
        raise Conflict("access.last_administrator")
