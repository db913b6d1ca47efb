"""Passwords as argon2id hashes (`libraries.md`: time 2, memory 19 MiB, one lane)."""

from __future__ import annotations

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from app.core.errors import Invalid

LIMIT = 1000
"""Characters of a password; a longer one is never right, and hashing it would cost for nothing."""
SHORTEST = 8

_hasher = PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1)
_NOBODY = "$argon2id$v=19$m=19456,t=2,p=1$qNxMUYQwi+Za5F8OvkuBeg$vzIN+YdXymY7u6JxRrwiiBoz1SS2J8Zf4bwWEGt0i9A"


def checked_password(password: str) -> str:
    """A password that may be stored: its length is all that is asked of it (ASVS 6.2). Raises :class:`Invalid`."""
    if len(password) < SHORTEST:
        raise Invalid("access.password_short", path="password", shortest=SHORTEST)
    if len(password) > LIMIT:
        raise Invalid("input.too_long", path="password", limit=LIMIT)
    return password


def hash_password(password: str) -> str:
    """The hash to store."""
    return _hasher.hash(password)


def verify_password(stored: str | None, password: str) -> bool:
    """Whether ``password`` is that of ``stored``. Without a stored hash it costs the same time and is never right."""
    try:
        _hasher.verify(stored or _NOBODY, password[:LIMIT])
    except (VerificationError, InvalidHashError):
        return False
    return stored is not None and len(password) <= LIMIT


def is_outdated(stored: str) -> bool:
    """Whether the hash was made with other costs than today's and should be made again at the next sign-in."""
    return _hasher.check_needs_rehash(stored)
