"""What an embedding server answered, read strictly (`faults.md` 42–47, 54; `known-bugs.md` 34, 36, 49, 52, 53d).

Pure: bytes in, vectors or a reason out. A vector on the wrong text is worse than none, so nothing is guessed.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import numpy as np
from numpy.typing import NDArray

from app.embeddings.identity import NORM_TOLERANCE, Vectors, same_model

LONGEST_WAIT = 60.0
"""Seconds; a server that wishes for more is asked again after this long."""

_TOO_LARGE = frozenset({413, 422, 424})
_OVERLOADED = frozenset({429, 503})
# Some servers answer 400 to a batch or a text that is too large; the sentence is read for this and then forgotten.
_SIZE = re.compile(
    rb"batch|too (?:large|long|many|big)|exceed|at most|maximum|max[_ ]|limit|longer than|larger than|context length"
    rb"|token",
    re.IGNORECASE,
)


class Unusable(Exception):
    """The answer can't be used; ``reason`` and ``values`` are those of `ModelServerFailed`."""

    def __init__(self, reason: str, **values: object) -> None:
        super().__init__(reason)
        self.reason = reason
        self.values = values


@dataclass(frozen=True)
class Answer:
    """The raw vectors in the order of the texts, and the model's name where the answer says one."""

    model: str | None
    vectors: list[NDArray[np.float64] | Vectors]


def read_json(content: bytes) -> object:
    """Raises :class:`Unusable` (malformed)."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise Unusable("malformed") from None


def read_answer(content: bytes, sent: int, expected_model: str | None) -> Answer:
    """The answer to ``sent`` texts. ``expected_model`` None accepts every name.

    Raises :class:`Unusable`: malformed, model, count or index. The model comes first: of a server that now runs another
    one nothing else is of interest.
    """
    value = read_json(content)
    if not isinstance(value, dict) or not isinstance(value.get("data"), list):
        raise Unusable("malformed")
    model = _model(value.get("model"))
    if model is not None and expected_model is not None and not same_model(model, expected_model):
        raise Unusable("model", got=model[:200], expected=expected_model)
    items: list[object] = value["data"]
    if len(items) != sent:
        raise Unusable("count", got=len(items), sent=sent)
    placed: dict[int, NDArray[np.float64] | Vectors] = {}
    for item in items:
        if not isinstance(item, dict):
            raise Unusable("malformed")
        index = item.get("index")
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < sent or index in placed:
            raise Unusable("index")
        placed[index] = _numbers(item.get("embedding"))
    return Answer(model, [placed[index] for index in range(sent)])


def check_vectors(answer: Answer, dimensions: int | None, *, normalised: bool) -> Vectors:
    """(texts, dimensions) float32, as the server gave them; ``dimensions`` None takes the first vector's length.

    Raises :class:`Unusable`: dimensions, not_finite, zero or norm.
    """
    expected = len(answer.vectors[0]) if dimensions is None else dimensions
    for vector in answer.vectors:
        if len(vector) != expected or not expected:
            raise Unusable("dimensions", got=len(vector), expected=expected)
    with np.errstate(over="ignore"):
        vectors = np.stack(answer.vectors).astype(np.float32)
    if not np.isfinite(vectors).all():
        raise Unusable("not_finite")
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
    if not norms.all():
        raise Unusable("zero")
    worst = float(norms[np.argmax(np.abs(norms - 1))])
    if normalised and abs(worst - 1) > NORM_TOLERANCE:
        raise Unusable("norm", norm=f"{worst:.3f}")
    return vectors


def read_info(content: bytes) -> tuple[str | None, int | None]:
    """(model, texts per request) of text-embeddings-inference's ``GET /info``; None for what isn't there."""
    try:
        value = read_json(content)
    except Unusable:
        return None, None  # a proxy's page, not an answer to this question
    if not isinstance(value, dict):
        return None, None
    most = value.get("max_client_batch_size")
    usable = isinstance(most, int) and not isinstance(most, bool) and most > 0
    return _name(value.get("model_id")), most if usable else None


def reason_of_status(status: int, content: bytes) -> str:
    """The class of an error status: too_large, overloaded or status."""
    if status in _TOO_LARGE or (status == 400 and _SIZE.search(content)):
        return "too_large"
    return "overloaded" if status in _OVERLOADED else "status"


def retry_after(header: str | None, now: datetime) -> float | None:
    """Seconds from now, at most `LONGEST_WAIT`, of a Retry-After in seconds or as an HTTP date; None for neither."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            moment = parsedate_to_datetime(header)
        except ValueError:
            return None
        seconds = ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds()
    return None if seconds != seconds else min(max(seconds, 0.0), LONGEST_WAIT)


def _model(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise Unusable("malformed")
    return _name(value)


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _numbers(value: object) -> NDArray[np.float64] | Vectors:
    """One embedding: base64 of little-endian float32, or a list of numbers."""
    if isinstance(value, str):
        try:
            raw = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise Unusable("malformed") from None
        if len(raw) % 4:
            raise Unusable("malformed")
        return np.frombuffer(raw, dtype="<f4")
    if not isinstance(value, list):
        raise Unusable("malformed")
    if not all(type(number) is float or type(number) is int for number in value):
        raise Unusable("malformed")
    try:
        return np.array(value, dtype=np.float64)
    except OverflowError:
        raise Unusable("not_finite") from None
