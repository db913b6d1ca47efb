"""Fixtures of all tests: real servers, an empty migrated database, and the application on them."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from apiflask import APIFlask
from pydantic import SecretStr

from app.container import Container, build_container
from app.core.access.models import User
from app.core.config import Config
from app.factory import create_app
from tests.fakes.clock import FakeClock
from tests.fakes.embedding_server import FakeEmbeddingServer
from tests.fakes.queue import RecordingQueue
from tests.fixtures.applications import compiled_once
from tests.fixtures.bench import Bench, fake_servers
from tests.fixtures.catalogues import compile_for_session
from tests.fixtures.clients import Api, Browser, People
from tests.fixtures.databases import WorkerDatabase, migrate
from tests.fixtures.elasticsearch import offer_for_session
from tests.fixtures.patience import patient
from tests.fixtures.servers import TestServers, create_database, drop_database, start_for_session

SECRET_KEY = "a secret key of the tests only"


def pytest_configure(config: pytest.Config) -> None:
    compile_for_session(config)
    start_for_session(config)
    offer_for_session(config)


@pytest.fixture(scope="session", autouse=True)
def _only_this_machine() -> Iterator[None]:
    """Sockets to the outside are off: a test that needs one is wrong."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and not _is_loopback(str(address[0])):
            raise OSError(f"tests may not connect to {address[0]}")
        connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        yield


@pytest.fixture(scope="session", autouse=True)
def _compiled_once() -> Iterator[None]:
    with compiled_once():
        yield


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@pytest.fixture(scope="session")
def servers() -> TestServers:
    """The addresses of PostgreSQL, Valkey and the embedding servers."""
    return TestServers.from_environment()


@pytest.fixture(scope="session")
def template_database(servers: TestServers) -> Iterator[str]:
    """The name of a migrated database that nobody is connected to."""
    name = f"template_{uuid4().hex[:12]}"
    migrate(create_database(servers.database_url, name))
    yield name
    drop_database(servers.database_url, name)


@pytest.fixture(scope="session")
def _worker_database(servers: TestServers, template_database: str) -> Iterator[WorkerDatabase]:
    name = f"test_{uuid4().hex[:12]}"
    database = WorkerDatabase(create_database(servers.database_url, name, template_database))
    yield database
    database.close()
    drop_database(servers.database_url, name)


@pytest.fixture
def database(_worker_database: WorkerDatabase) -> Iterator[str]:
    """The address of a migrated, empty database; it is emptied again afterwards."""
    yield _worker_database.url
    _worker_database.reset()


@pytest.fixture
def fresh_database(servers: TestServers, template_database: str) -> Iterator[str]:
    """The address of a migrated database of the test's own, for tests that start real processes."""
    name = f"fresh_{uuid4().hex[:12]}"
    yield create_database(servers.database_url, name, template_database)
    drop_database(servers.database_url, name)


@pytest.fixture
def redis_url(servers: TestServers) -> str:
    """One of the queue server's databases for each worker of pytest-xdist."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    return servers.redis_database(int(worker) % 16)


@pytest.fixture
def config(database: str) -> Config:
    """A configuration of the test environment; the queue's address leads nowhere, the container has a fake one."""
    return Config(
        database_url=database,
        redis_url="redis://127.0.0.1:1/0",
        secret_key=SecretStr(SECRET_KEY),
        changeover_env="test",
    )


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def queue() -> RecordingQueue:
    return RecordingQueue()


@pytest.fixture
def container(config: Config, clock: FakeClock, queue: RecordingQueue) -> Iterator[Container]:
    """Every part of the console on the test's database, with a fake clock and a queue that only records."""
    parts = patient(build_container(config, clock=clock, queue=queue))
    yield parts
    if parts.answering and parts.answering.questions:
        parts.answering.questions.writer.wait(60)  # else its connection would outlive the test
    parts.engine.dispose()


@pytest.fixture(scope="module")
def model_servers() -> Iterator[dict[str, FakeEmbeddingServer]]:
    with fake_servers() as servers:
        yield servers


@pytest.fixture
def bench(database: str, tmp_path: Path, model_servers: dict[str, FakeEmbeddingServer]) -> Iterator[Bench]:
    """A console with embedding servers that answer rightly, and eight contents embedded with the first of them."""
    for server in model_servers.values():
        server.reset()
    made = Bench(database, tmp_path, model_servers)
    made.fill(8)
    yield made
    made.close()


@pytest.fixture
def app(config: Config, container: Container) -> APIFlask:
    application = create_app(config, container)
    application.testing = True
    return application


@pytest.fixture
def people(container: Container) -> People:
    """Makes users and tokens."""
    return People(container)


@pytest.fixture
def admin(people: People) -> User:
    """The administrator."""
    return people.user("admin", "administrator", display_name="Ada Admin")


@pytest.fixture
def client(app: APIFlask) -> Browser:
    """A browser in which nobody is signed in."""
    return Browser(app)


@pytest.fixture
def admin_client(app: APIFlask, admin: User) -> Browser:
    """A browser in which the administrator is signed in."""
    return Browser(app).login_as(admin)


@pytest.fixture
def api(app: APIFlask, people: People, admin: User) -> Api:
    """A script with an administrator's token for everything."""
    return Api(app, people.token(admin, "all"))
