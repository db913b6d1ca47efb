"""Slows the guessing of passwords without locking anybody out (ASVS 6.3.1).

Failed sign-ins count per address and per account in a sliding window. An address with too many is refused before its
password is looked at. For an account with too many, only a wrong password is answered with "later": the right one
from an address of good standing always opens, so nobody can lock somebody else out.
"""

from __future__ import annotations

import hmac
from datetime import timedelta
from hashlib import sha256

from sqlalchemy.orm import Session

from app.core.access import store
from app.core.clock import Clock
from app.core.errors import TooManyRequests

WINDOW = timedelta(minutes=15)
LIMIT = 10
"""Failures in the window; what comes after them is throttled."""


class Throttle:
    """Accounts and addresses stand in the table as keyed hashes only."""

    def __init__(self, clock: Clock, secret: str) -> None:
        self.clock = clock
        self.secret = secret.encode()

    def check_address(self, session: Session, address: str) -> None:
        """Raises :class:`TooManyRequests` when the address has failed too often."""
        self._check(session, self._subject("address", address))

    def failed(self, session: Session, login: str, address: str) -> None:
        """Count a failure. Raises :class:`TooManyRequests` when the account has had too many before."""
        account, now = self._subject("account", login), self.clock.now()
        store.forget_attempts_before(session, now - WINDOW)
        store.add_attempt(session, account, now)
        store.add_attempt(session, self._subject("address", address), now)
        session.flush()
        self._check(session, account, limit=LIMIT + 1)

    def succeeded(self, session: Session, login: str) -> None:
        """Forget the account's failures; the address keeps its own, else one good account would wash it clean."""
        store.forget_attempts(session, self._subject("account", login))

    def _check(self, session: Session, subject: bytes, limit: int = LIMIT) -> None:
        now = self.clock.now()
        count, oldest = store.attempts_since(session, subject, now - WINDOW)
        if count >= limit and oldest is not None:
            left = (oldest + WINDOW - now).total_seconds()
            raise TooManyRequests("access.throttled", retry_after=max(1, int(left) + 1))

    def _subject(self, kind: str, value: str) -> bytes:
        return hmac.digest(self.secret, f"{kind}\0{value}".encode(errors="replace"), sha256)
