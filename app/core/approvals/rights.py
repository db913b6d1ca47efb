"""Who may vote, on what, and what of it they may see."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.access.policy import readable
from app.core.approvals.diff import field_of
from app.core.approvals.models import Modification
from app.core.approvals.parts import SETTING
from app.core.contracts.actor import Actor
from app.core.errors import Forbidden
from app.core.registry import Registry


def require_person(actor: Actor) -> None:
    """Raises :class:`Forbidden` for a token, a guest and an administrator who acts as somebody."""
    if actor.scopes is not None or actor.token_id is not None:
        raise Forbidden("approval.token")
    if actor.is_guest or not actor.signed_in:
        raise Forbidden("approval.guest")
    if actor.impersonator_id is not None:
        raise Forbidden("approval.impersonator")


def is_voter(registry: Registry, actor: Actor, modification: Modification | None = None) -> bool:
    """Whether the actor may vote: on this modification as far as permissions go, or on anything at all."""
    if not actor.signed_in or actor.scopes is not None or actor.is_guest or actor.impersonator_id is not None:
        return False
    if modification is not None:
        return modification.author_id != actor.id and actor.may(needed(modification))
    return actor.may("settings.approve") or any(
        entity.votes and actor.may(entity.permission("approve")) for entity in registry
    )


def needed(modification: Modification) -> str:
    """The permission that a voter needs."""
    return "settings.approve" if modification.kind == SETTING else f"{modification.subject}.approve"


def hidden(registry: Registry, actor: Actor, modification: Modification) -> Sequence[str]:
    """The paths of the diff that the actor may not read. Nobody approves what they can't see."""
    if modification.kind == SETTING:
        return []
    if modification.subject not in registry:
        return list(modification.diff)
    allowed = readable(registry.get(modification.subject), actor)
    return [path for path in modification.diff if field_of(path) not in allowed]
