"""The client against a server that misbehaves: every vector checked, one class of failure, nothing told."""

from __future__ import annotations

import logging
import os
from typing import Any

import numpy as np
import pytest
from structlog.testing import capture_logs

from app.core.errors import Conflict, ModelServerFailed, Unavailable
from app.embeddings.answers import retry_after
from app.embeddings.client import ModelServers
from app.embeddings.probe import probe
from tests.fakes.clock import START
from tests.fakes.embedding_server import Behaviour, FakeEmbeddingServer
from tests.unit.embeddings.conftest import MakeClient, MakeServers, profile_of

TEXTS = ["one", "two", "three"]


def failure(
    make_client: MakeClient, fake: FakeEmbeddingServer, timeout: float = 2.0, **behaviour: Any
) -> ModelServerFailed:
    fake.script([Behaviour(**behaviour)])
    with pytest.raises(ModelServerFailed) as caught:
        make_client().embed(TEXTS, "passage", timeout)
    return caught.value


@pytest.mark.parametrize("encoding", ["asked", "float", "base64"])
@pytest.mark.parametrize("order", ["straight", "reversed"])
def test_vectors_stand_beside_their_texts(
    make_client: MakeClient, fake: FakeEmbeddingServer, encoding: str, order: str
) -> None:
    fake.script([Behaviour(encoding=encoding, order=order)])  # type: ignore[arg-type]
    embedded = make_client().embed(TEXTS, "passage")
    assert embedded.vectors.dtype == np.float32
    assert embedded.vectors.shape == (3, 8)
    np.testing.assert_allclose(embedded.vectors, [fake.vector(text) for text in TEXTS], rtol=1e-6)
    assert embedded.model == "fake-model"
    assert fake.counters.bodies[0]["encoding_format"] == "base64"
    (request_id,) = fake.counters.request_ids
    assert len(request_id) == 32
    assert int(request_id, 16) >= 0


def test_whole_numbers_are_numbers(make_client: MakeClient, fake: FakeEmbeddingServer) -> None:
    fake.script([Behaviour(encoding="ints")])
    assert make_client().embed(["a"], "query").vectors[0, 0] == 1


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ({"missing": 1}, "count"),
        ({"extra": 1}, "count"),
        ({"indexes": [0, 1, 1]}, "index"),
        ({"indexes": [0, 1, 3]}, "index"),
        ({"indexes": [0, 1, -1]}, "index"),
        ({"indexes": [0, 1, None]}, "index"),
        ({"indexes": [0, 1, "2"]}, "index"),
        ({"indexes": [0, True, 2]}, "index"),
        ({"dims": 7}, "dimensions"),
        ({"wrong_dims_at": 1}, "dimensions"),
        ({"nan_at": 1}, "not_finite"),
        ({"nan_at": 1, "encoding": "float"}, "not_finite"),
        ({"infinite_at": 2}, "not_finite"),
        ({"huge_at": 0, "encoding": "float"}, "not_finite"),
        ({"zero_at": 1}, "zero"),
        ({"norm": 5.0}, "norm"),
        ({"norm": 0.98}, "norm"),
        ({"model": "fake-model-q4"}, "model"),
        ({"encoding": "strings"}, "malformed"),
        ({"body": "<html>"}, "malformed"),
        ({"body": "[]"}, "malformed"),
        ({"body": "[" * 100_000}, "malformed"),
        ({"body": '{"data": {}}'}, "malformed"),
        ({"body": '{"data": [], "model": 3}'}, "malformed"),
        ({"body": '{"data": [1, 2, 3]}'}, "malformed"),
        ({"body": ""}, "malformed"),
        ({"status": 413}, "too_large"),
        ({"status": 422}, "too_large"),
        ({"status": 424}, "too_large"),
        ({"status": 400, "error": "batch size 12 > maximum allowed batch size 10"}, "too_large"),
        ({"status": 400, "error": "Input must have less than 512 tokens"}, "too_large"),
        ({"status": 400, "error": "unknown field"}, "status"),
        ({"status": 429}, "overloaded"),
        ({"status": 503}, "overloaded"),
        ({"status": 500}, "status"),
        ({"status": 302, "headers": {"Location": "http://127.0.0.1:1/"}}, "status"),
        ({"status": 401}, "status"),
        ({"drop": "before"}, "unreachable"),
        ({"drop": "head"}, "unreachable"),
        ({"drop": "body"}, "unreachable"),
    ],
)
def test_each_failure_has_its_reason(
    make_client: MakeClient, fake: FakeEmbeddingServer, behaviour: dict[str, Any], reason: str
) -> None:
    error = failure(make_client, fake, **behaviour)
    assert error.reason == reason
    assert error.request_id == fake.counters.request_ids[0]
    assert str(error).startswith(f"[{error.request_id}]")
    if behaviour.get("status"):
        assert error.status == behaviour["status"]


@pytest.mark.parametrize("behaviour", [{"delay": 1.0}, {"drip_head": 0.02}, {"drip_body": 0.02}])
def test_the_deadline_holds_even_against_drips(
    make_client: MakeClient, fake: FakeEmbeddingServer, behaviour: dict[str, float]
) -> None:
    assert failure(make_client, fake, timeout=0.3, **behaviour).reason == "timeout"


def test_a_server_that_is_not_there(make_client: MakeClient, fake: FakeEmbeddingServer) -> None:
    client = make_client()
    fake.stop()
    with pytest.raises(ModelServerFailed) as caught:
        client.embed(["a"], "query")
    assert caught.value.reason == "unreachable"
    assert caught.value.status is None


def test_small_errors_of_length_pass_and_are_not_mended(make_client: MakeClient, fake: FakeEmbeddingServer) -> None:
    fake.script([Behaviour(norm=1.008)])
    assert np.linalg.norm(make_client().embed(["a"], "passage").vectors[0]) == pytest.approx(1.008, abs=1e-4)


def test_a_profile_without_normalisation_takes_any_length(make_client: MakeClient, fake: FakeEmbeddingServer) -> None:
    fake.script([Behaviour(norm=5.0)])
    make_client(normalize=False).embed(["a"], "passage")


def test_an_answer_that_names_no_model_is_taken(make_client: MakeClient, fake: FakeEmbeddingServer) -> None:
    fake.script([Behaviour(name_model=False)])
    assert make_client().embed(["a"], "passage").model == ""


def test_prefixes_of_the_client(make_client: MakeClient, fake: FakeEmbeddingServer) -> None:
    client = make_client(query_prefix="query: ", passage_prefix="passage: ")
    client.embed(["a"], "query")
    client.embed(["a"], "passage")
    assert [body["input"] for body in fake.counters.bodies] == [["query: a"], ["passage: a"]]
    assert all("input_type" not in body for body in fake.counters.bodies)


def test_prefixes_of_the_server(make_client: MakeClient, fake: FakeEmbeddingServer) -> None:
    client = make_client(prefixes="server")
    client.embed(["a"], "query")
    client.embed(["a"], "passage")
    assert [(body["input"], body["input_type"]) for body in fake.counters.bodies] == [
        (["a"], "query"),
        (["a"], "passage"),
    ]


def test_no_texts_no_call(make_client: MakeClient, fake: FakeEmbeddingServer) -> None:
    assert make_client().embed([], "query").vectors.shape == (0, 8)
    assert fake.counters.calls == 0


def test_the_log_tells_where_and_nothing_else(
    make_servers: MakeServers, fake: FakeEmbeddingServer, caplog: pytest.LogCaptureFixture
) -> None:
    url = fake.url.replace("http://", "http://someone:password@")
    client = make_servers(url=url, key="the-key").client(profile_of())
    fake.script([Behaviour(status=500, error="the body")])
    with capture_logs() as logs, caplog.at_level(logging.DEBUG), pytest.raises(ModelServerFailed) as caught:
        client.embed(["the text"], "query")
    assert logs == [
        {
            "event": "model_server.call_failed",
            "log_level": "warning",
            "service": "embeddings",
            "endpoint": f"{fake.url}/v1/embeddings",
            "status": 500,
            "request_id": caught.value.request_id,
            "reason": "status",
        }
    ]
    told = caplog.text + str(caught.value) + repr(caught.value.values) + repr([vars(one) for one in caplog.records])
    assert fake.counters.calls == 1
    for secret in ("the text", "the-key", "the body", "password"):
        assert secret not in told


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7),
        ("1.5", 1.5),
        ("-3", 0),
        ("100000", 60),
        ("inf", 60),
        ("nan", None),
        ("soon", None),
        (None, None),
        ("Mon, 30 Nov 2026 09:00:09 GMT", 9),
        ("Mon, 30 Nov 2026 08:00:00 GMT", 0),
        ("Mon, 30 Nov 2026 19:00:00 GMT", 60),
    ],
)
def test_retry_after(header: str | None, seconds: float | None) -> None:
    assert retry_after(header, START) == seconds


def test_the_wish_to_wait_is_told(make_client: MakeClient, fake: FakeEmbeddingServer) -> None:
    assert failure(make_client, fake, status=429, headers={"Retry-After": "3"}).retry_after == 3


def test_inspection_reports_and_does_not_judge(make_client: MakeClient, fake: FakeEmbeddingServer) -> None:
    fake.behave(dims=5, norm=3.0, model="other", info_model="another", info_batch=12)
    inspection = make_client().inspect(2.0)
    assert (inspection.dimensions, inspection.named_model, inspection.info_model) == (5, "other", "another")
    assert inspection.norm == pytest.approx(3.0)
    assert inspection.max_batch == 12
    assert fake.counters.bodies[0]["input"] == ["embedding service probe"]


def test_a_server_without_info(make_client: MakeClient, fake: FakeEmbeddingServer) -> None:
    fake.behave(info=False)
    inspection = make_client().inspect(2.0)
    assert (inspection.info_model, inspection.max_batch) == (None, None)


def test_probe(make_servers: MakeServers, fake: FakeEmbeddingServer) -> None:
    servers = make_servers()
    assert probe(servers, profile_of()).dimensions == 8
    with pytest.raises(Conflict) as caught:
        probe(servers, profile_of(dimensions=9))
    assert caught.value.code == "switch.dimensions"
    assert caught.value.values["measured"] == 8
    fake.behave(status=500)
    with pytest.raises(Unavailable) as failed:
        probe(servers, profile_of())
    assert failed.value.code == "switch.probe_failed"
    with pytest.raises(Conflict) as away:
        probe(servers, profile_of(server="fast"))
    assert away.value.code == "switch.not_configured"
    assert "AI_EMBEDDINGS_SERVERS" in str(away.value)


def test_one_server_one_set_of_connections(make_servers: MakeServers, fake: FakeEmbeddingServer) -> None:
    servers: ModelServers = make_servers()
    assert servers.limit(profile_of()) is servers.limit(profile_of(dimensions=9))
    servers.client(profile_of()).embed(["a"], "query")
    servers.client(profile_of()).embed(["a"], "query")
    assert fake.counters.calls == 2


def test_a_forked_process_makes_its_own_connections(make_servers: MakeServers) -> None:
    servers: ModelServers = make_servers()
    servers.client(profile_of()).embed(["a"], "query")
    child = os.fork()
    if child == 0:  # pragma: no cover - the child
        try:
            servers.client(profile_of()).embed(["b"], "query")
            os._exit(0 if servers._doors._process == os.getpid() else 1)
        except BaseException:  # noqa: BLE001
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    servers.client(profile_of()).embed(["c"], "query")
