"""Bearer tokens for scripts: shown once, stored as a hash, bounded in time, narrowed by scopes."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import timedelta
from hashlib import sha256

from app.core.access import store
from app.core.access.actor import SCOPES, actor_of, require
from app.core.access.authority import administer, not_impersonating, oneself, within_reach
from app.core.access.models import ApiToken, User
from app.core.audit.service import Audit
from app.core.clock import Clock
from app.core.contracts.actor import SYSTEM, Actor
from app.core.errors import Forbidden, Invalid, NotFound, Unauthenticated
from app.core.registry import Registry
from app.core.unit import Unit

PREFIX = "chg_"
LONGEST_DAYS = 366
NOTED_EVERY = timedelta(minutes=1)
"""How exact the last use of a token is known."""
ENTITY = "tokens"
"""The name of tokens in the audit."""


class Tokens:
    """Every method runs in the caller's unit; none of them commits."""

    def __init__(self, clock: Clock, registry: Registry, audit: Audit) -> None:
        self.clock = clock
        self.registry = registry
        self.audit = audit

    def actor(self, unit: Unit, secret: str) -> Actor:
        """The actor of a bearer token; its use is noted.

        Raises :class:`Unauthenticated` that says which: unknown, revoked, expired, or of a disabled person.
        """
        token = store.token_by_hash(unit.session, _hash(secret)) if secret.startswith(PREFIX) else None
        if token is None:
            raise Unauthenticated("access.token_invalid")
        if token.revoked_at is not None:
            raise Unauthenticated("access.token_revoked", date=token.revoked_at.date().isoformat())
        now = self.clock.now()
        if token.expires_at <= now:
            raise Unauthenticated("access.token_expired", date=token.expires_at.date().isoformat())
        if not token.user.is_active:
            raise Unauthenticated("access.user_disabled")
        if token.last_used_at is None or now - token.last_used_at >= NOTED_EVERY:
            store.touch_token(unit.session, token.id, now, NOTED_EVERY)
        return actor_of(token.user, token, self.registry)

    def create(
        self, unit: Unit, user: User, name: str, scopes: Sequence[str], days: int, *, by: Actor = SYSTEM
    ) -> tuple[ApiToken, str]:
        """A new token and its secret, which is not stored and can't be shown again. Raises :class:`Invalid`."""
        if user.is_guest:
            raise Forbidden("access.guest")
        unknown = [scope for scope in scopes if scope not in SCOPES]
        if not scopes or unknown:
            raise Invalid("input.choice", path="scopes", value=", ".join(unknown), allowed=", ".join(SCOPES))
        if not 1 <= days <= LONGEST_DAYS:
            raise Invalid("input.range", path="days", least=1, most=LONGEST_DAYS)
        secret = PREFIX + secrets.token_urlsafe(32)
        token = ApiToken(
            user_id=user.id,
            name=name.replace("\0", "").strip()[:100] or "token",
            token_hash=_hash(secret),
            scopes=sorted(set(scopes)),
            created_at=self.clock.now(),
            expires_at=self.clock.now() + timedelta(days=days),
        )
        unit.session.add(token)
        unit.session.flush()
        changes = {name: [None, shown] for name, shown in _facts(user, token).items()}
        self.audit.write(unit, by, "insert", ENTITY, token.id, changes=changes)
        return token, secret

    def mint(self, unit: Unit, actor: Actor, name: str, scopes: Sequence[str], days: int) -> tuple[ApiToken, str]:
        """A new token of the signed-in person.

        Tokens, guests and impersonators can't mint tokens (`core.md`): raises :class:`Forbidden`.
        """
        if actor.scopes is not None:
            raise Forbidden("access.token_mints")
        user = store.user_by_id(unit.session, oneself(actor))
        if user is None:
            raise Unauthenticated("access.sign_in")
        return self.create(unit, user, name, scopes, days, by=actor)

    def mine(self, unit: Unit, actor: Actor) -> Sequence[ApiToken]:
        """The actor's own tokens, newest first, revoked ones left out."""
        return store.tokens_of(unit.session, actor.id) if actor.id is not None else ()

    def own(self, unit: Unit, actor: Actor, token_id: int) -> ApiToken:
        """One of the actor's own tokens, revoked or not. Raises :class:`NotFound`."""
        found = store.token_of(unit.session, actor.id, token_id) if actor.id is not None else None
        if found is None:
            raise NotFound("access.token_unknown")
        return found

    def of(self, unit: Unit, actor: Actor, user_id: int) -> Sequence[ApiToken]:
        """Another person's tokens, without their secrets. Needs ``users.select``."""
        require(actor, "users.select")
        return store.tokens_of(unit.session, user_id)

    def revoke(self, unit: Unit, actor: Actor, token_id: int) -> None:
        """End one of the actor's own tokens. Raises :class:`NotFound`, also for somebody else's."""
        not_impersonating(actor)
        self._end(unit, actor, self.own(unit, actor, token_id))

    def revoke_of(self, unit: Unit, actor: Actor, user_id: int, token_id: int) -> None:
        """End a token of another person. Needs ``users.update``. Raises :class:`NotFound`."""
        administer(unit, actor, "users.update")
        token = store.token_of(unit.session, user_id, token_id)
        if token is None:
            raise NotFound("access.token_unknown")
        within_reach(actor, token.user)
        self._end(unit, actor, token)

    def _end(self, unit: Unit, actor: Actor, token: ApiToken) -> None:
        if token.revoked_at is None:
            token.revoked_at = self.clock.now()
            changes = {name: [shown, None] for name, shown in _facts(token.user, token).items()}
            self.audit.write(unit, actor, "revoke", ENTITY, token.id, changes=changes)


def _facts(user: User, token: ApiToken) -> dict[str, object]:
    """What the audit keeps of a token."""
    expires_at = token.expires_at.isoformat()
    return {"user": user.login, "name": token.name, "scopes": token.scopes, "expires_at": expires_at}


def _hash(secret: str) -> bytes:
    return sha256(secret.encode(errors="replace")).digest()
