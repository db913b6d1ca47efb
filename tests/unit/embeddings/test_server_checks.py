"""Checking every configured server."""

from __future__ import annotations

from tests.fakes.embedding_server import FakeEmbeddingServer
from tests.unit.embeddings.conftest import MakeServers


def test_a_server_that_fits(make_servers: MakeServers, fake: FakeEmbeddingServer) -> None:
    fake.behave(info_batch=16)
    (check,) = make_servers(batch_size=32).check()
    assert check.problem is None
    assert check.inspection is not None
    assert check.inspection.dimensions == 8
    assert check.batch_too_large


def test_a_server_that_does_not(make_servers: MakeServers, fake: FakeEmbeddingServer) -> None:
    servers = make_servers()
    fake.behave(norm=2.0)
    assert [one.problem and one.problem.code for one in servers.check()] == ["switch.not_normalised"]
    fake.behave(status=500)
    assert [one.problem and one.problem.code for one in servers.check()] == ["switch.probe_failed"]
