"""``flask servers check``: embedding servers and the cross-encoder in one list, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from click.testing import Result
from pydantic import SecretStr

from app.container import build_container
from app.core.config import Config
from app.factory import create_app
from tests.fakes.queue import RecordingQueue
from tests.fakes.rerank_server import FakeRerankServer


@pytest.fixture
def fake() -> Iterator[FakeRerankServer]:
    with FakeRerankServer() as server:
        yield server


def check(*arguments: str, **values: str) -> Result:
    """The command in a console with these variables; nothing of it needs the database."""
    config = Config.model_validate(
        {
            "database_url": "postgresql://127.0.0.1:1/none",
            "redis_url": "redis://127.0.0.1:1/0",
            "secret_key": SecretStr("a secret key of the tests only"),
            "changeover_env": "test",
            **values,
        }
    )
    app = create_app(config, build_container(config, queue=RecordingQueue()))
    return app.test_cli_runner().invoke(args=["servers", "check", *arguments])


def test_the_cross_encoder_is_asked_too(fake: FakeRerankServer) -> None:
    fake.behave(info_model="a/reranker", info_batch=16)
    result = check("--json", ai_rerank_url=fake.url, ai_rerank_model="reranker")
    assert result.exit_code == 0, result.output
    (shown,) = json.loads(result.stdout)
    assert shown["server"] == "rerank"
    assert shown["ok"]
    assert (shown["batch_size"], shown["max_batch"], shown["info_model"]) == (32, 16, "a/reranker")
    assert shown["scores"][0] > shown["scores"][1]
    table = check(ai_rerank_url=fake.url, ai_rerank_model="reranker")
    assert {"rerank", "(tei)", "reranker"} <= set(table.stdout.split())


def test_one_that_ranks_the_wrong_way_fails_the_check(fake: FakeRerankServer) -> None:
    fake.behave(scores=[0.1, 0.9])
    result = check("--json", ai_rerank_url=fake.url, ai_rerank_api="cohere", ai_rerank_model="m")
    assert result.exit_code == 1
    (shown,) = json.loads(result.stdout)
    assert not shown["ok"]
    assert "above its answer" in shown["problem"]


def test_without_any_server_there_is_nothing_to_check() -> None:
    result = check()
    assert result.exit_code == 1
    assert "AI_EMBEDDINGS_URL" in result.stderr
