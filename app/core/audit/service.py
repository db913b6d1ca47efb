"""The audit: written in the transaction of the change, so that neither is there without the other."""

from __future__ import annotations

from collections.abc import Mapping

from app.core.audit.models import AuditEntry
from app.core.clock import Clock
from app.core.contracts.actor import Actor
from app.core.unit import Unit


class Audit:
    """Runs in the caller's unit and never commits."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def write(
        self,
        unit: Unit,
        actor: Actor,
        action: str,
        entity: str,
        record_id: int | None = None,
        *,
        revision: int | None = None,
        changes: Mapping[str, object] | None = None,
    ) -> None:
        """Note that ``actor`` did ``action`` (insert, update, sign_in, vote, …) to a record of ``entity``.

        ``changes`` maps a field to ``[old, new]``; the caller leaves out values of protected fields by giving None.
        """
        unit.session.add(
            AuditEntry(
                at=self.clock.now(),
                actor_id=actor.id,
                actor_login=actor.login,
                impersonator_id=actor.impersonator_id,
                impersonator_login=actor.impersonator_login,
                token_id=actor.token_id,
                channel=unit.origin.channel,
                address=unit.origin.address,
                request_id=unit.origin.request_id,
                action=action,
                entity=entity,
                record_id=record_id,
                revision=revision,
                changes=dict(changes or {}),
            )
        )
