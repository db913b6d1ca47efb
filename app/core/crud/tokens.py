"""The token of a preview: what exactly a bulk change was previewed on, signed, good for ten minutes. Pure.

It holds ids and revisions, who asked, which operation, and a hash of the values; nothing of any record.
"""

from __future__ import annotations

import base64
import hmac
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

LIFETIME = timedelta(minutes=10)
LONGEST = 20_000


@dataclass(frozen=True)
class Previewed:
    """What a person looked at: ``records`` are (id, revision) by id."""

    actor_id: int | None
    entity: str
    operation: str
    values_hash: str
    records: tuple[tuple[int, int], ...]
    expires: int


class PreviewTokens:
    """Signs with a key of its own, made from the console's secret."""

    def __init__(self, secret: str) -> None:
        self.key = sha256(b"bulk preview\0" + secret.encode()).digest()

    def write(self, previewed: Previewed) -> str:
        """The token."""
        told = [
            previewed.actor_id,
            previewed.entity,
            previewed.operation,
            previewed.values_hash,
            previewed.records,
            previewed.expires,
        ]
        packed = zlib.compress(json.dumps(told, separators=(",", ":")).encode(), 9)
        return base64.urlsafe_b64encode(hmac.digest(self.key, packed, sha256) + packed).decode("ascii")

    def read(self, token: str) -> Previewed | None:
        """What :meth:`write` was given; None for anything else. Whether it has expired is the caller's question."""
        try:
            raw = base64.b64decode(token[:LONGEST].encode("ascii"), altchars=b"-_", validate=True)
        except ValueError:
            return None
        signature, packed = raw[:32], raw[32:]
        if not hmac.compare_digest(signature, hmac.digest(self.key, packed, sha256)):
            return None
        actor_id, entity, operation, values_hash, records, expires = json.loads(zlib.decompress(packed))
        pairs = tuple((record_id, revision) for record_id, revision in records)
        return Previewed(actor_id, entity, operation, values_hash, pairs, expires)


def expiry(now: datetime) -> datetime:
    """When a token that is made ``now`` ends, to the second."""
    return (now + LIFETIME).replace(microsecond=0)


def hash_of(values: Mapping[str, object]) -> str:
    """Equal for equal values, whatever their order."""
    return sha256(json.dumps(values, sort_keys=True, default=str).encode(errors="replace")).hexdigest()
