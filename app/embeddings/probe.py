"""The probe: the only way in which a profile's length and model are trusted (seed 000, "Adding a profile")."""

from __future__ import annotations

from app.core.errors import ModelServerFailed, Unavailable
from app.embeddings.client import ModelServers
from app.embeddings.identity import Inspection, refusal
from app.embeddings.profiles import Profile


def probe(clients: ModelServers, profile: Profile, timeout: float = 3.0) -> Inspection:
    """Ask the profile's server for one vector, within ``timeout`` seconds.

    Raises :class:`Conflict` for a server that isn't declared or doesn't fit (dimensions, limit, names no model, another
    model, not normalised: in this order) and :class:`Unavailable` for one that fails.
    """
    try:
        inspection = clients.client(profile).inspect(timeout)
    except ModelServerFailed as error:
        raise Unavailable("switch.probe_failed", profile=profile.key, reason=str(error)) from error
    refused = refusal(profile, inspection)
    if refused is not None:
        raise refused
    return inspection
