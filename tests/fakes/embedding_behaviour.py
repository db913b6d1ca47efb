"""What the fake embedding server answers: its behaviours, its vectors, its bodies."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray


class Fake(Protocol):
    """What of the server an answer depends on."""

    model: str
    dims: int
    words: bool


@dataclass(frozen=True)
class Behaviour:
    """How one call is answered; the default is right and at once. Seconds throughout; positions count from 0."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    error: str = "no"
    """Text of the error's body, for ``status`` other than 200."""
    body: str | None = None
    """Sent as it is instead of the answer."""
    delay: float = 0.0
    delay_per_text: float = 0.0
    encoding: Literal["asked", "float", "base64", "strings", "ints"] = "asked"
    dims: int | None = None
    wrong_dims_at: int | None = None
    nan_at: int | None = None
    infinite_at: int | None = None
    huge_at: int | None = None
    zero_at: int | None = None
    norm: float = 1.0
    noise: float = 0.0
    """Added to each number at random, before the vector is brought to length ``norm``."""
    order: Literal["straight", "reversed"] = "straight"
    missing: int = 0
    """How many of the last vectors are left out."""
    extra: int = 0
    indexes: list[Any] | None = None
    """Replaces the ``index`` fields."""
    model: str | None = None
    """Answers under another name; its vectors are that model's."""
    name_model: bool = True
    max_batch: int | None = None
    """More texts get ``too_many_status``."""
    too_many_status: int = 413
    longest_text: int | None = None
    """Characters; a longer text gets 413 for its whole batch."""
    poison: str | None = None
    """A batch with a text that contains it gets ``poison_status``; 0 drops the connection."""
    poison_status: int = 500
    drop: Literal["", "before", "head", "body"] = ""
    """Where the connection breaks off: before an answer, inside its head or inside its body."""
    drip_head: float = 0.0
    """Seconds between the bytes of the head; ``drip_body`` of the body."""
    drip_body: float = 0.0
    info: bool = True
    """Whether there is a GET /info; ``info_model`` and ``info_batch`` are what it says (default: the truth)."""
    info_model: str | None = None
    info_batch: int | None = None


def text_vector(model: str, text: str, kind: str, dims: int, words: bool) -> NDArray[np.float32]:
    """A unit vector that depends on its arguments alone."""
    if words:
        found = re.findall(r"\w+", text.lower()) or [text]
        vector = np.sum([_direction(f"{model}\0{word}", dims) for word in found], axis=0)
    else:
        vector = _direction(f"{model}\0{kind}\0{text}", dims)
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


@lru_cache(maxsize=20_000)
def _direction(seed: str, dims: int) -> NDArray[np.float64]:
    number = int.from_bytes(blake2b(seed.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
    return np.random.default_rng(number).standard_normal(dims)


def refused(texts: list[str], behaviour: Behaviour) -> int:
    """The status, 200 for an answer, 0 for a connection that is dropped."""
    if behaviour.status != 200:
        return behaviour.status
    if behaviour.max_batch is not None and len(texts) > behaviour.max_batch:
        return behaviour.too_many_status
    if behaviour.longest_text is not None and any(len(text) > behaviour.longest_text for text in texts):
        return 413
    if behaviour.poison is not None and any(behaviour.poison in text for text in texts):
        return behaviour.poison_status
    return 200


def answer(fake: Fake, request: dict[str, Any], texts: list[str], behaviour: Behaviour) -> dict[str, Any]:
    encoding = behaviour.encoding
    if encoding == "asked":
        encoding = "base64" if request.get("encoding_format") == "base64" else "float"
    kind = str(request.get("input_type", ""))
    vectors = [_vector(fake, text, kind, place, behaviour) for place, text in enumerate(texts)]
    data = [
        {"object": "embedding", "index": place, "embedding": _encoded(vector, encoding)}
        for place, vector in enumerate(vectors)
    ]
    data += [{**data[-1], "index": len(data) + more} for more in range(behaviour.extra)]
    if behaviour.indexes is not None:
        data = [{**item, "index": index} for item, index in zip(data, behaviour.indexes, strict=False)]
    if behaviour.missing:
        data = data[: -behaviour.missing]
    if behaviour.order == "reversed":
        data.reverse()
    named = {"model": behaviour.model or fake.model} if behaviour.name_model else {}
    return {"object": "list", "data": data, **named, "usage": {"prompt_tokens": 1, "total_tokens": 1}}


def _vector(fake: Fake, text: str, kind: str, place: int, behaviour: Behaviour) -> NDArray[np.float64]:
    dims = behaviour.dims or fake.dims
    if place == behaviour.wrong_dims_at:
        dims += 1
    vector = text_vector(behaviour.model or fake.model, text, kind, dims, fake.words).astype(np.float64)
    if behaviour.noise:
        vector += np.random.default_rng().standard_normal(dims) * behaviour.noise
    vector *= behaviour.norm / np.linalg.norm(vector)
    if place == behaviour.zero_at:
        vector[:] = 0
    for where, value in ((behaviour.nan_at, np.nan), (behaviour.infinite_at, np.inf), (behaviour.huge_at, 1e40)):
        if place == where:
            vector[0] = value
    return vector


def _encoded(vector: NDArray[np.float64], encoding: str) -> Any:
    if encoding == "base64":
        with np.errstate(over="ignore"):
            return base64.b64encode(vector.astype("<f4").tobytes()).decode()
    if encoding == "strings":
        return [str(number) for number in vector]
    if encoding == "ints":
        return [1] + [0] * (len(vector) - 1)
    return [float(number) for number in vector]
