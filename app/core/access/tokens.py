"""Bearer tokens for scripts: shown once, stored as a hash, bounded in time, narrowed by scopes."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import timedelta
from hashlib import sha256

from app.core.access import store
from app.core.access.actor import SCOPES, actor_of
from app.core.access.models import ApiToken, User
from app.core.clock import Clock
from app.core.contracts.actor import Actor
from app.core.errors import Forbidden, Invalid, NotFound, Unauthenticated
from app.core.unit import Unit

PREFIX = "chg_"
LONGEST_DAYS = 366


class Tokens:
    """Every method runs in the caller's unit; none of them commits."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def actor(self, unit: Unit, secret: str) -> Actor:
        """The actor of a bearer token. Raises :class:`Unauthenticated` for one that is unknown, expired or revoked."""
        token = store.token_by_hash(unit.session, _hash(secret)) if secret.startswith(PREFIX) else None
        if token is None or token.revoked_at is not None:
            raise Unauthenticated("access.token_invalid")
        if token.expires_at <= self.clock.now():
            raise Unauthenticated("access.token_expired", date=token.expires_at.date().isoformat())
        if not token.user.is_active:
            raise Unauthenticated("access.user_disabled")
        return actor_of(token.user, token)

    def create(self, unit: Unit, user: User, name: str, scopes: Sequence[str], days: int) -> tuple[ApiToken, str]:
        """A new token and its secret, which is not stored and can't be shown again. Raises :class:`Invalid`."""
        unknown = [scope for scope in scopes if scope not in SCOPES]
        if not scopes or unknown:
            raise Invalid("input.choice", path="scopes", value=", ".join(unknown), allowed=", ".join(SCOPES))
        if not 1 <= days <= LONGEST_DAYS:
            raise Invalid("input.range", path="days", least=1, most=LONGEST_DAYS)
        secret = PREFIX + secrets.token_urlsafe(32)
        token = ApiToken(
            user_id=user.id,
            name=name.strip()[:100] or "token",
            token_hash=_hash(secret),
            scopes=sorted(set(scopes)),
            created_at=self.clock.now(),
            expires_at=self.clock.now() + timedelta(days=days),
        )
        unit.session.add(token)
        unit.session.flush()
        return token, secret

    def mint(self, unit: Unit, actor: Actor, name: str, scopes: Sequence[str], days: int) -> tuple[ApiToken, str]:
        """A new token of the signed-in person. Tokens can't mint tokens (`core.md`): raises :class:`Forbidden`."""
        user = store.user_by_id(unit.session, self._person(actor))
        if user is None:
            raise Unauthenticated("access.sign_in")
        return self.create(unit, user, name, scopes, days)

    def mine(self, unit: Unit, actor: Actor) -> Sequence[ApiToken]:
        """The actor's own tokens, newest first, revoked ones left out."""
        return store.tokens_of(unit.session, actor.id) if actor.id is not None else ()

    def revoke(self, unit: Unit, actor: Actor, token_id: int) -> None:
        """End one of the actor's own tokens. Raises :class:`NotFound`, also for somebody else's."""
        token = store.token_of(unit.session, actor.id, token_id) if actor.id is not None else None
        if token is None:
            raise NotFound("access.token_unknown")
        if token.revoked_at is None:
            token.revoked_at = self.clock.now()

    def _person(self, actor: Actor) -> int:
        if actor.id is None:
            raise Unauthenticated("access.sign_in")
        if actor.scopes is not None:
            raise Forbidden("access.token_mints")
        return actor.id


def _hash(secret: str) -> bytes:
    return sha256(secret.encode(errors="replace")).digest()
