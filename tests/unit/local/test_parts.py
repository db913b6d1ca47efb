"""Which parts an embedded run has, and what they are told."""

import json
from pathlib import Path

import pytest

from app.local.errors import LocalError
from app.local.home import Home
from app.local.parts import Settings, application_parts, data_parts, shared_environment


def settings(tmp_path: Path, **environ: str) -> Settings:
    return Settings.read({"CHANGEOVER_HOME": str(tmp_path / "home"), **environ})


def test_everything_is_local_by_default(tmp_path: Path) -> None:
    chosen = settings(tmp_path)
    home = Home(chosen.home)
    environment = shared_environment(chosen, home)

    assert [part.name for part in data_parts(chosen, environment)] == [
        "postgres",
        "valkey",
        "embeddings",
        "embeddings-fast",
    ]
    assert environment["DATABASE_URL"].startswith("postgresql+psycopg://postgres@/changeover?host=/")
    assert environment["REDIS_URL"].startswith("unix:///")
    assert environment["AI_EMBEDDINGS_URL"].startswith("http://127.0.0.1:")
    assert json.loads(environment["AI_EMBEDDINGS_SERVERS"])["fast"]["url"].startswith("http://127.0.0.1:")
    assert environment["SECRET_KEY"] == home.secret("secret-key")
    home.remove()


@pytest.mark.parametrize(
    ("variable", "value", "part"),
    [
        ("DATABASE_URL", "postgresql+psycopg://db/one", "postgres"),
        ("REDIS_URL", "redis://queue", "valkey"),
        ("AI_EMBEDDINGS_URL", "http://models:80", "embeddings"),
        ("AI_EMBEDDINGS_SERVERS", "{}", "embeddings-fast"),
    ],
)
def test_a_part_with_an_address_is_not_started(tmp_path: Path, variable: str, value: str, part: str) -> None:
    chosen = settings(tmp_path, **{variable: value})
    home = Home(chosen.home)
    environment = shared_environment(chosen, home)

    assert environment[variable] == value
    assert part not in [found.name for found in data_parts(chosen, environment)]
    home.remove()


def test_each_worker_listens_to_one_queue(tmp_path: Path) -> None:
    parts = application_parts(settings(tmp_path, EMBEDDINGS_WORKERS="3"))

    queues = [part.command[2] for part in parts if "--queue" in part.command]
    assert sorted(queues) == ["default", *["embeddings"] * 3, "embeddings-index", "embeddings-switch"]
    assert len({part.name for part in parts}) == len(parts)


@pytest.mark.parametrize(
    ("variable", "value"),
    [("PORT", "http"), ("PORT", "0"), ("PORT", "65536"), ("PORT", "-1"), ("EMBEDDINGS_WORKERS", "two")],
)
def test_an_impossible_number_names_its_variable(tmp_path: Path, variable: str, value: str) -> None:
    with pytest.raises(LocalError, match=variable):
        settings(tmp_path, **{variable: value})


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:9000"),
        ("0.0.0.0", "http://127.0.0.1:9000"),
        ("::1", "http://[::1]:9000"),
        ("console.example", "http://console.example:9000"),
    ],
)
def test_the_address_is_one_that_a_browser_can_open(tmp_path: Path, host: str, address: str) -> None:
    assert settings(tmp_path, HOST=host, PORT="9000").address == address
