"""The probe: the only way in which a profile's length and model are trusted (seed 000, "Adding a profile")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.core.errors import ChangeoverError, ModelServerFailed, Unavailable
from app.embeddings.identity import Inspection, refusal
from app.embeddings.profiles import Profile

if TYPE_CHECKING:
    from app.embeddings.client import EmbeddingClient, ModelServers


@dataclass(frozen=True)
class ServerCheck:
    """What one configured profile's server answered. ``inspection`` is None when it didn't; ``batch_size`` is the
    configured one, in texts; ``problem`` is None when the profile could serve."""

    profile: Profile
    batch_size: int
    inspection: Inspection | None
    problem: ChangeoverError | None

    @property
    def batch_too_large(self) -> bool:
        """More texts are configured than the server takes; the client adapts, so this is a remark."""
        most = self.inspection.max_batch if self.inspection is not None else None
        return most is not None and most < self.batch_size


def probe(clients: ModelServers, profile: Profile, timeout: float = 3.0) -> Inspection:
    """Ask the profile's server for one vector, within ``timeout`` seconds.

    Raises :class:`Conflict` for a server that isn't declared or doesn't fit (dimensions, limit, names no model, another
    model, not normalised: in this order) and :class:`Unavailable` for one that fails.
    """
    inspection = _inspect(clients.client(profile), timeout)
    refused = refusal(profile, inspection)
    if refused is not None:
        raise refused
    return inspection


def check_server(client: EmbeddingClient, timeout: float) -> ServerCheck:
    """The same question, reported rather than raised."""
    profile, size = client.profile, client.server.batch_size
    try:
        inspection = _inspect(client, timeout)
    except Unavailable as error:
        return ServerCheck(profile, size, None, error)
    return ServerCheck(profile, size, inspection, refusal(profile, inspection))


def _inspect(client: EmbeddingClient, timeout: float) -> Inspection:
    try:
        return client.inspect(timeout)
    except ModelServerFailed as error:
        raise Unavailable("switch.probe_failed", profile=client.profile.key, reason=error) from error
