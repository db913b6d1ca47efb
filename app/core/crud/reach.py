"""Which rows an actor reaches, as a condition and as a value: equal values, equal conditions."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from sqlalchemy import ColumnElement

from app.core.access.policy import visible
from app.core.contracts.actor import Actor
from app.core.registry import Ability, Entity


@dataclass(frozen=True)
class Reach:
    """The rows of ``entity`` that ``ability`` of ``actor`` reaches."""

    entity: Entity
    actor: Actor
    ability: Ability = "select"

    def rows(self) -> ColumnElement[bool]:
        """The condition, made anew."""
        return visible(self.entity, self.actor, self.ability)

    @property
    def key(self) -> Hashable:
        """All that the condition depends on."""
        permissions = (self.entity.permission("select"), self.entity.permission(self.ability))
        return (
            self.entity.name,
            self.entity.model,
            tuple((self.actor.may(permission), self.actor.rows_for(permission)) for permission in permissions),
        )
