"""A repeat of a request gets the first outcome (`core.md`, Idempotency).

What is remembered is written in the unit of the effect, so both commit or neither: a request that failed is not
remembered, and its repeat is tried anew. While the first one runs it holds an advisory lock of its transaction, which
ends with it however it ends; nothing has to be cleared after a crash.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Any

from app.core.clock import Clock
from app.core.errors import Busy, Invalid
from app.core.idempotency import store
from app.core.idempotency.models import IdempotencyKey
from app.core.unit import Unit

RETENTION = timedelta(hours=24)
RETRY_SECONDS = 1
"""When a repeat of a running request is worth another try."""

Resource = Mapping[str, Any]
"""What the effect made, by its ids, as JSON; never a text of a record and never a secret."""


@dataclass(frozen=True)
class Claim:
    """Which request this is. ``body`` is its canonical form, of which only a keyed hash is stored.

    ``wait`` in milliseconds: how long to wait for a twin that still runs before :class:`Busy`; 0 is not at all.
    """

    actor_id: int
    route: str
    key: str
    body: bytes
    wait: int = 0


@dataclass(frozen=True)
class Outcome:
    """The first answer's status, and the resource to render it from again."""

    status: int
    resource: Resource


class Idempotency:
    """Both methods run in the caller's unit; neither commits."""

    def __init__(self, clock: Clock, secret: str) -> None:
        self.clock = clock
        self.secret = secret.encode()

    def outcome(self, unit: Unit, claim: Claim) -> Outcome | None:
        """The first outcome of a request that was answered; None when this one is the first, which is locked now.

        Raises :class:`Invalid` when the key came with another body, :class:`Busy` while the first one still runs.
        """
        name = f"idempotency {claim.actor_id} {claim.route} {claim.key}"
        if not (store.wait_lock(unit.session, name, claim.wait) if claim.wait else store.try_lock(unit.session, name)):
            raise Busy("idempotency.running", retry_after=RETRY_SECONDS)
        row = store.find(unit.session, claim.actor_id, claim.route, claim.key)
        if row is None:
            return None
        if row.created_at <= self.clock.now() - RETENTION:
            store.forget(unit.session, row)
            return None
        if not hmac.compare_digest(row.body_hash, self._hash(claim)):
            raise Invalid("idempotency.other_body", path="Idempotency-Key")
        return Outcome(row.status or 200, row.resource)

    def remember(self, unit: Unit, claim: Claim, outcome: Outcome) -> None:
        """Keep the outcome of the effect that this unit has."""
        row = IdempotencyKey(
            actor_id=claim.actor_id,
            route=claim.route,
            key=claim.key,
            body_hash=self._hash(claim),
            status=outcome.status,
            resource=dict(outcome.resource),
            created_at=self.clock.now(),
        )
        store.add(unit.session, row)

    def prune(self, unit: Unit) -> None:
        """Forget what is older than the retention."""
        store.forget_before(unit.session, self.clock.now() - RETENTION)

    def _hash(self, claim: Claim) -> bytes:
        """Keyed: a body may hold a password, which a plain hash would let somebody guess."""
        return hmac.digest(self.secret, claim.body, sha256)
