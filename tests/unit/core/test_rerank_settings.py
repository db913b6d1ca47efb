"""The variables of the cross-encoder."""

from __future__ import annotations

import pytest

from app.core.config import RerankSettings, read_config
from app.core.errors import ConfigurationError

BASE = {"DATABASE_URL": "postgresql://h/d", "REDIS_URL": "redis://h", "SECRET_KEY": "sixteen characters"}


def settings(**variables: str) -> RerankSettings | None:
    return read_config({**BASE, **variables}).rerank


def test_without_an_address_there_is_none() -> None:
    assert settings() is None
    assert settings(AI_RERANK_MODEL="m") is None


def test_an_address_alone_is_a_tei_server() -> None:
    found = settings(AI_RERANK_URL="http://h:80/")
    assert found is not None
    assert (found.server.url, found.api, found.model) == ("http://h:80", "tei", None)
    assert (found.server.timeout, found.server.batch_size, found.server.key) == (10.0, 32, None)


def test_every_variable_arrives() -> None:
    found = settings(
        AI_RERANK_URL="https://h",
        AI_RERANK_KEY="k",
        AI_RERANK_API="cohere",
        AI_RERANK_MODEL="m",
        AI_RERANK_TIMEOUT="3",
        AI_RERANK_BATCH_SIZE="8",
    )
    assert found is not None
    assert found.server.key is not None
    assert found.server.key.get_secret_value() == "k"
    assert (found.api, found.model, found.server.timeout, found.server.batch_size) == ("cohere", "m", 3.0, 8)


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"AI_RERANK_API": "cohere"}, "AI_RERANK_MODEL is missing"),
        ({"AI_RERANK_API": "other"}, "AI_RERANK_API"),
        ({"AI_RERANK_BATCH_SIZE": "0"}, "AI_RERANK_BATCH_SIZE"),
        ({"AI_RERANK_TIMEOUT": "0"}, "AI_RERANK_TIMEOUT"),
        ({"AI_RERANK_MODELL": "m"}, "did you mean AI_RERANK_MODEL"),
    ],
)
def test_what_does_not_fit_is_named(variables: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        settings(AI_RERANK_URL="http://h", **variables)
    assert words in str(caught.value)
