"""One crowd for each engine and worker: filled once, changed by no test but for who asks."""

from __future__ import annotations

from collections.abc import Iterator
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


@pytest.fixture(scope="session", params=ENGINES)
def crowd(request: pytest.FixtureRequest, servers: TestServers, template_database: str) -> Iterator[Crowd]:
    """Five thousand records behind one engine."""
    name = f"crowd_{uuid4().hex[:12]}"
    config = _config(create_database(servers.database_url, name, template_database))
    try:
        with ExitStack() as stack:
            yield _filled(config, request.param, stack)
    finally:
        drop_database(servers.database_url, name)


def _filled(config: Config, engine: str, stack: ExitStack) -> Crowd:
    clock, queue = FakeClock(), RecordingQueue()
    if engine == "postgres":
        parts = patient(build_container(config, clock=clock, queue=queue))
        stack.callback(parts.engine.dispose)
        made = Crowd(parts)
        made.fill()
        return made
    parts = stack.enter_context(elasticsearch_container(config, clock, queue))
    made = Crowd(parts)
    made.fill()
    follower: Any = parts.elasticsearch
    follower.reindex(lambda entity, done, total: None)
    with parts.units() as unit:
        parts.settings.write_system(unit, SEARCH_ENGINE, "elasticsearch")
    return made
