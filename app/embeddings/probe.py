"""The probe: the only way in which a profile's length and model are trusted (seed 000, "Adding a profile")."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from app.core.errors import ChangeoverError, Conflict, ModelServerFailed, Unavailable
from app.embeddings.identity import Inspection, refusal, same_model
from app.embeddings.profiles import Profile
from app.embeddings.rerank import RERANK_SERVER, CrossEncoder

if TYPE_CHECKING:
    from app.embeddings.client import EmbeddingClient, ModelServers

PAIRS = (
    "What is the capital of Italy?",
    ("Rome is the capital of Italy.", "The printer on the third floor is broken."),
)
"""A question, its answer, and a text that has nothing to do with it (`seed-facts.md` 15, "two fixed pairs")."""


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


@dataclass(frozen=True)
class RerankCheck:
    """What the cross-encoder answered to two fixed pairs. ``model`` is what is declared, ``info_model`` and
    ``max_batch`` (texts) what its ``GET /info`` says; ``scores`` is None when it didn't answer."""

    server: str
    api: str
    model: str | None
    batch_size: int
    info_model: str | None = None
    max_batch: int | None = None
    scores: tuple[float, ...] | None = None
    problem: ChangeoverError | None = None

    @property
    def batch_too_large(self) -> bool:
        """As of :class:`ServerCheck`."""
        return self.max_batch is not None and self.max_batch < self.batch_size


def check_reranker(reranker: CrossEncoder, timeout: float) -> RerankCheck:
    """The answer must score above the text that has nothing to do with the question; reported, not raised."""
    settings = reranker.settings
    check = RerankCheck(RERANK_SERVER, settings.api, settings.model, settings.server.batch_size)
    question, texts = PAIRS
    try:
        model, most = reranker.info(timeout)
        check = replace(check, info_model=model, max_batch=most)
        check = replace(check, scores=tuple(reranker.scores(question, texts, timeout)))
    except ModelServerFailed as error:
        return replace(check, problem=error)
    if model is not None and settings.model is not None and not same_model(model, settings.model):
        return replace(check, problem=Conflict("rerank.other_model", declared=settings.model, answered=model))
    answer, other = check.scores or (0.0, 0.0)
    return check if answer > other else replace(check, problem=Conflict("rerank.wrong_way"))


def _inspect(client: EmbeddingClient, timeout: float) -> Inspection:
    try:
        return client.inspect(timeout)
    except ModelServerFailed as error:
        raise Unavailable("switch.probe_failed", profile=client.profile.key, reason=error) from error
