"""The embedding server's contract, over real connections, with a model of two dimensions."""

import base64
import json
import threading
from collections.abc import Iterator, Sequence
from http.client import HTTPConnection
from typing import Any

import numpy as np
import pytest

from app.local.embedding_server import LARGEST_BATCH, make_server
from app.local.packaged_models import Encoder, PackagedModel, Vectors, unit


def _load() -> Encoder:
    def encode(texts: Sequence[str]) -> Vectors:
        if "fail" in texts:
            raise RuntimeError("secret text")
        return np.array([[len(text), 1] for text in texts], dtype=np.float32)

    return encode


MODEL = PackagedModel("lengths", 2, _load)


@pytest.fixture
def connection() -> Iterator[HTTPConnection]:
    server = make_server(MODEL, 0)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    client = HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    yield client
    client.close()
    server.shutdown()
    server.server_close()
    thread.join()


def ask(connection: HTTPConnection, body: object, **headers: str) -> tuple[int, Any]:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request("POST", "/v1/embeddings", raw, headers)
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def test_vectors_come_in_order_with_index_model_and_usage(connection: HTTPConnection) -> None:
    status, answer = ask(connection, {"model": "lengths", "input": ["abc", "a b"]})

    assert status == 200
    assert answer["model"] == "lengths"
    assert [entry["index"] for entry in answer["data"]] == [0, 1]
    assert answer["data"][0]["embedding"] == pytest.approx([3 / 10**0.5, 1 / 10**0.5])
    assert answer["usage"] == {"prompt_tokens": 3, "total_tokens": 3}


def test_base64_carries_the_same_numbers(connection: HTTPConnection) -> None:
    request = {"model": "lengths", "input": "abcd"}
    _, plain = ask(connection, request)
    _, packed = ask(connection, request | {"encoding_format": "base64"})

    vector = np.frombuffer(base64.b64decode(packed["data"][0]["embedding"]), dtype="<f4")
    assert vector.tolist() == plain["data"][0]["embedding"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"model": "other", "input": "a"}, 404, "model_not_found"),
        ({"input": "a"}, 404, "model_not_found"),
        ({"model": "lengths", "input": ["a"] * (LARGEST_BATCH + 1)}, 413, "batch_too_large"),
        ({"model": "lengths", "input": ["a", " \n"]}, 422, "blank_input"),
        ({"model": "lengths", "input": []}, 400, "invalid_input"),
        ({"model": "lengths", "input": [1]}, 400, "invalid_input"),
        ({"model": "lengths"}, 400, "invalid_input"),
        ({"model": "lengths", "input": "a", "encoding_format": "hex"}, 400, "invalid_encoding_format"),
        ({"model": "lengths", "input": "a", "dimensions": 1}, 400, "invalid_dimensions"),
        (["a"], 400, "invalid_body"),
        (b"{", 400, "invalid_json"),
        (b"\xff", 400, "invalid_json"),
    ],
)
def test_what_cannot_be_answered_is_refused_by_a_code(
    connection: HTTPConnection, body: object, status: int, code: str
) -> None:
    found, answer = ask(connection, body)

    assert (found, answer["error"]["code"]) == (status, code)
    # The connection stays usable.
    assert ask(connection, {"model": "lengths", "input": "a"})[0] == 200


def test_a_failing_model_is_an_answer_without_the_text(connection: HTTPConnection) -> None:
    status, answer = ask(connection, {"model": "lengths", "input": "fail"})

    assert status == 500
    assert "secret" not in json.dumps(answer)


def test_the_request_id_comes_back(connection: HTTPConnection) -> None:
    connection.request("GET", "/health", headers={"X-Request-Id": "switch-7"})
    response = connection.getresponse()
    response.read()

    assert response.headers["X-Request-Id"] == "switch-7"


@pytest.mark.parametrize("path", ["/v1/models", "/info", "/health"])
def test_the_server_says_what_it_is(connection: HTTPConnection, path: str) -> None:
    connection.request("GET", path)
    response = connection.getresponse()
    answer = json.loads(response.read())

    assert response.status == 200
    if path == "/v1/models":
        assert [entry["id"] for entry in answer["data"]] == ["lengths"]
    elif path == "/info":
        assert (answer["model_id"], answer["max_client_batch_size"]) == ("lengths", LARGEST_BATCH)
    else:
        assert answer == {"status": "ok"}


def test_another_address_is_not_found(connection: HTTPConnection) -> None:
    connection.request("GET", "/v2/models")
    response = connection.getresponse()
    response.read()

    assert response.status == 404


def test_a_zero_vector_stays_zero() -> None:
    assert unit(np.array([[0, 0], [3, 4]], dtype=np.float32)).tolist() == [[0, 0], pytest.approx([0.6, 0.8])]
