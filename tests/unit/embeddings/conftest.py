"""A fake server, its profile and its client."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from app.core.clock import SystemClock
from app.core.config import ServerSettings
from app.embeddings.client import EmbeddingClient, ModelServers
from app.embeddings.profiles import Profile, Profiles
from tests.fakes.embedding_server import FakeEmbeddingServer

MODEL = "fake-model"
DIMS = 8


class QuickClock(SystemClock):
    """The machine's clock, but sleeping is noted and not done."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def profile_of(**changes: object) -> Profile:
    """The fake server's profile with changes."""
    values: dict[str, object] = {"key": f"openai_compatible:{MODEL}", "provider": "openai_compatible", "model": MODEL}
    return Profile.from_declaration({**values, "label": MODEL, "description": "", "dimensions": DIMS, **changes})


@pytest.fixture
def fake() -> Iterator[FakeEmbeddingServer]:
    with FakeEmbeddingServer(MODEL, DIMS) as server:
        yield server


@pytest.fixture
def quick() -> QuickClock:
    return QuickClock()


MakeServers = Callable[..., ModelServers]
MakeClient = Callable[..., EmbeddingClient]


@pytest.fixture
def make_servers(fake: FakeEmbeddingServer, quick: QuickClock) -> Iterator[MakeServers]:
    """`ModelServers` with the fake as server ``embeddings``; keywords go to its `ServerSettings`."""
    made: list[ModelServers] = []

    def make(**settings: object) -> ModelServers:
        server = ServerSettings.model_validate({"url": fake.url, "timeout": 2.0, **settings})
        profile = profile_of()
        made.append(
            ModelServers(Profiles({profile.key: profile}, {"embeddings": server}), {"embeddings": server}, quick)
        )
        return made[-1]

    yield make
    for servers in made:
        servers.close()


@pytest.fixture
def make_client(make_servers: MakeServers) -> MakeClient:
    """A client of the fake; keywords change the profile."""

    def make(**changes: object) -> EmbeddingClient:
        return make_servers().client(profile_of(**changes))

    return make
