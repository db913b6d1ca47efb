"""One crowd for each engine and worker: filled once, changed by no test but for who asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from uuid import uuid4

import pytest
from pydantic import SecretStr

from app.container import build_container
from app.core.config import Config
from app.core.settings.schema import SEARCH_ENGINE
from tests.fakes.clock import FakeClock
from tests.fakes.queue import RecordingQueue
from tests.fixtures.elasticsearch import elasticsearch_container
from tests.fixtures.patience import patient
from tests.fixtures.servers import TestServers, create_database, drop_database
from tests.integration.search_crowd.crowd import Crowd

ENGINES = ("postgres", "elasticsearch")


def _config(url: str) -> Config:
    return Config(
        database_url=url,
        redis_url="redis://127.0.0.1:1/0",
        secret_key=SecretStr("a secret key of the tests only"),
        changeover_env="test",
    )


@pytest.fixture(scope="session")
def filled(servers: TestServers, template_database: str) -> Iterator[tuple[str, int]]:
    """The name of a database with five thousand records that nobody is connected to, and its serving space."""
    name = f"crowd_{uuid4().hex[:12]}"
    config = _config(create_database(servers.database_url, name, template_database))
    parts = build_container(config, clock=FakeClock(), queue=RecordingQueue())
    made = Crowd(parts)
    made.fill()
    parts.engine.dispose()
    yield name, made.stage.space
    drop_database(servers.database_url, name)


@pytest.fixture(scope="session")
def crowds(servers: TestServers, request: pytest.FixtureRequest) -> Iterator[Callable[[str], Crowd]]:
    """Five thousand records behind the named engine, kept for the session.

    Not a fixture with parameters of its own: in random order those would be torn down and made again at each change.
    """
    kept: dict[str, Crowd] = {}
    with ExitStack() as stack:

        def crowd_of(engine: str) -> Crowd:
            if engine not in kept:
                base, space = request.getfixturevalue("filled")
                name = f"crowd_{uuid4().hex[:12]}"
                config = _config(create_database(servers.database_url, name, base))
                stack.callback(drop_database, servers.database_url, name)
                kept[engine] = _behind(config, engine, space, stack)
            return kept[engine]

        yield crowd_of


@pytest.fixture(params=ENGINES)
def crowd(request: pytest.FixtureRequest, crowds: Callable[[str], Crowd]) -> Crowd:
    """Five thousand records behind one engine."""
    return crowds(request.param)


def _behind(config: Config, engine: str, space: int, stack: ExitStack) -> Crowd:
    clock, queue = FakeClock(), RecordingQueue()
    if engine == "postgres":
        parts = patient(build_container(config, clock=clock, queue=queue))
        stack.callback(parts.engine.dispose)
        return Crowd(parts, space)
    parts = stack.enter_context(elasticsearch_container(config, clock, queue))
    follower: Any = parts.elasticsearch
    follower.reindex(lambda entity, done, total: None)
    with parts.units() as unit:
        parts.settings.write_system(unit, SEARCH_ENGINE, "elasticsearch")
    return Crowd(parts, space)
