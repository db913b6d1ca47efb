"""The clients of OpenAI-compatible embedding servers: texts in, checked vectors out (`door.py` does the asking)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.core.clock import Clock
from app.core.config import RerankSettings, ServerSettings
from app.core.errors import Conflict
from app.embeddings.answers import Answer, check_vectors, read_answer
from app.embeddings.batches import Batcher
from app.embeddings.door import Call, Door, Doors
from app.embeddings.identity import PROBE_TEXT, Inspection, Vectors
from app.embeddings.limits import BatchLimit
from app.embeddings.probe import RerankCheck, ServerCheck, check_reranker, check_server
from app.embeddings.profiles import Profile, Profiles, server_variable
from app.embeddings.rerank import RERANK_SERVER, CrossEncoder

Kind = Literal["query", "passage"]


@dataclass(frozen=True)
class Embedded:
    """``vectors`` is (texts, dimensions); ``model`` is what the answer names, else empty; ``seconds`` the call's."""

    vectors: Vectors
    model: str
    seconds: float


class EmbeddingClient:
    """One profile at its server. Safe for use by several threads."""

    def __init__(self, profile: Profile, door: Door) -> None:
        self.profile = profile
        self.server = door.server
        self.server_name = door.name
        self._door = door

    def embed(self, texts: Sequence[str], kind: Kind, timeout: float | None = None) -> Embedded:
        """The vectors of ``texts``, row by row, checked one and all; ``timeout`` in seconds covers the whole call.

        Raises :class:`ModelServerFailed`; nothing of a batch is returned when one vector of it is wrong.
        """
        profile = self.profile
        if not texts:
            return Embedded(np.zeros((0, profile.dimensions), dtype=np.float32), "", 0.0)
        call, answer, seconds = self._ask(texts, kind, timeout or self.server.timeout, profile.model)
        vectors = call.read(lambda: check_vectors(answer, profile.dimensions, normalised=profile.normalize))
        return Embedded(vectors, answer.model or "", seconds)

    def inspect(self, timeout: float) -> Inspection:
        """What the server answers to the probe text, and its ``GET /info`` where it has one.

        Length, norm and model are reported, not judged. Raises :class:`ModelServerFailed`.
        """
        until = self._door.clock.monotonic() + timeout
        call, answer, seconds = self._ask([PROBE_TEXT], "passage", timeout, None)
        vector = call.read(lambda: check_vectors(answer, None, normalised=False))[0]
        model, max_batch = self.info(max(until - self._door.clock.monotonic(), 0.1))
        norm = float(np.linalg.norm(vector.astype(np.float64)))
        return Inspection(answer.model, model, len(vector), norm, max_batch, vector, seconds)

    def info(self, timeout: float) -> tuple[str | None, int | None]:
        """(model, texts per request) of ``GET /info``; None for what the server doesn't say.

        Raises :class:`ModelServerFailed`, but not for a server without such a page.
        """
        return self._door.info(timeout)

    def _ask(
        self, texts: Sequence[str], kind: Kind, timeout: float, expected_model: str | None
    ) -> tuple[Call, Answer, float]:
        call, content, seconds = self._door.post("/v1/embeddings", self._body(texts, kind), timeout)
        return call, call.read(lambda: read_answer(content, len(texts), expected_model)), seconds

    def _body(self, texts: Sequence[str], kind: Kind) -> Mapping[str, object]:
        profile = self.profile
        body: dict[str, object] = {"model": profile.model, "encoding_format": "base64"}
        if profile.prefixes == "server":
            return {**body, "input": list(texts), "input_type": kind}
        prefix = profile.query_prefix if kind == "query" else profile.passage_prefix
        return {**body, "input": [prefix + text for text in texts]}


class ModelServers:
    """The clients of all servers; those of one server share its connections and what was learned of its batches.

    Safe for threads and forks.
    """

    def __init__(
        self,
        profiles: Profiles,
        servers: Mapping[str, ServerSettings],
        clock: Clock,
        rerank: RerankSettings | None = None,
    ) -> None:
        self._profiles = profiles
        self._servers = dict(servers)
        self._clock = clock
        self._rerank = rerank
        self._doors = Doors(clock)
        self._limits: dict[str, BatchLimit] = {}

    def client(self, profile: Profile) -> EmbeddingClient:
        """The client of ``profile``, which may be a stored declaration. Raises :class:`Conflict` without a server."""
        return EmbeddingClient(profile, self._doors.door(profile.server, self._server(profile)))

    def limit(self, profile: Profile) -> BatchLimit:
        """What is known of the batches of the profile's server. Raises :class:`Conflict` without a server."""
        return self._limit(profile.server, self._server(profile))

    def batcher(self, profile: Profile, waiting: Callable[[float, str], None] | None = None) -> Batcher:
        """A new batcher on what was learned of the server. ``waiting``: see `Batcher`. Raises :class:`Conflict`."""
        return Batcher(self.client(profile), self.limit(profile), self._clock, waiting)

    def reranker(self) -> CrossEncoder | None:
        """The cross-encoder of ``AI_RERANK_URL``; None where none is declared."""
        settings = self._rerank
        if settings is None:
            return None
        limit = self._limit(f"/{RERANK_SERVER}", settings.server)  # no embedding server is named so
        return CrossEncoder(settings, lambda: self._doors.door(RERANK_SERVER, settings.server), limit)

    def check(self, timeout: float = 3.0) -> list[ServerCheck]:
        """Probe the server of every configured profile, ``timeout`` seconds each, in declared order."""
        return [
            check_server(self.client(profile), timeout) for profile in self._profiles if profile.server in self._servers
        ]

    def check_reranker(self, timeout: float = 3.0) -> RerankCheck | None:
        """Ask the cross-encoder about two fixed pairs; None where none is declared."""
        reranker = self.reranker()
        return None if reranker is None else check_reranker(reranker, timeout)

    def warm_up(self) -> None:
        """Make what the first call to each server would make, without asking any."""
        used = {profile.server for profile in self._profiles}
        self._doors.warm_up({name: server for name, server in self._servers.items() if name in used})

    def close(self) -> None:
        """Close the connections of this process."""
        self._doors.close()

    def _limit(self, name: str, server: ServerSettings) -> BatchLimit:
        return self._limits.setdefault(name, BatchLimit(server.batch_size))

    def _server(self, profile: Profile) -> ServerSettings:
        try:
            return self._servers[profile.server]
        except KeyError:
            variable = server_variable(profile.server)
            raise Conflict("switch.not_configured", profile=profile.key, variable=variable) from None
