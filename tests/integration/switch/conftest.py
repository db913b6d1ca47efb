"""A bench per test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.bench import Bench, fake_servers


@pytest.fixture
def bench(database: str, tmp_path: Path) -> Iterator[Bench]:
    with fake_servers() as servers:
        made = Bench(database, tmp_path, servers)
        made.fill()
        for server in servers.values():
            server.counters = type(server.counters)()
        yield made
        made.close()
