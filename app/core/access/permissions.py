"""Every permission that there is: `module.entity.ability` of the registered entities, and the named ones.

An administrator has ``*``, which no other role can be given.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from app.core.contracts.actor import Actor
from app.core.messages import N_
from app.core.registry import Ability, Entity, Registry

ABILITIES: Mapping[Ability, str] = {
    "select": N_("Read"),
    "insert": N_("Create"),
    "update": N_("Change"),
    "delete": N_("Delete"),
    "forceDelete": N_("Delete for good"),
    "approve": N_("Approve"),
}
"""What may be done with a record, in the order of the matrix, and the word for it."""

NAMED: Mapping[str, str] = {
    "settings.select": N_("See the settings"),
    "settings.update": N_("Change settings"),
    "settings.approve": N_("Vote on changes of settings"),
    "embeddings.switch": N_("Switch the embedding model"),
    "queues.select": N_("See queues and workers"),
    "queues.update": N_("Send failed jobs again, or forget them"),
    "audit.select": N_("Read the audit log"),
    "documentation.ingest": N_("Upload documents into collections"),
    "evaluations.select": N_("See evaluation runs"),
    "users.select": N_("See people and their roles"),
    "users.update": N_("Add and change people"),
    "users.impersonate": N_("View the console as another person"),
    "roles.select": N_("See what each role may do"),
    "roles.update": N_("Add, change and remove roles"),
}
"""Permissions that belong to no record."""


def abilities(entity: Entity) -> tuple[Ability, ...]:
    """What may be done with records of this entity: those made from files are only read."""
    return tuple(ABILITIES) if entity.editable else ("select",)


def known(registry: Registry) -> tuple[str, ...]:
    """All permissions that a role may be given: entities in the order of the registry, then the named ones."""
    return (*(entity.permission(ability) for entity in registry for ability in abilities(entity)), *NAMED)


def of_entity(registry: Registry, permission: str) -> Entity | None:
    """The entity that a permission is about, None for a named one."""
    name, _, ability = permission.rpartition(".")
    return registry.get(name) if name in registry and ability in ABILITIES else None


def exceeding(actor: Actor, permissions: Collection[str]) -> list[str]:
    """Those of ``permissions`` that the actor does not hold in full, and therefore may neither give nor administer.

    Held in full is what is neither restricted to some rows nor to some fields.
    """
    if "*" in actor.permissions and not actor.is_guest:
        return []
    return sorted(permission for permission in permissions if not _in_full(actor, permission))


def _in_full(actor: Actor, permission: str) -> bool:
    entity = permission.rpartition(".")[0]
    restricted = permission in actor.rows or entity in actor.readable or entity in actor.writable
    return permission != "*" and actor.may(permission) and not restricted
