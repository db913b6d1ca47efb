"""The cross-encoder: one score per (question, text) over TEI's ``/rerank`` or a Cohere-style ``/v1/rerank``.

Many texts go in several calls, as many at once as the server takes (`known-bugs.md` 53). An answer is read strictly:
a score on the wrong text is worse than none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from app.core.config import RerankSettings
from app.core.errors import ModelServerFailed
from app.embeddings.answers import Unusable, read_json
from app.embeddings.door import Door
from app.embeddings.identity import same_model
from app.embeddings.limits import BatchLimit

RERANK_SERVER = "rerank"
"""The name of the server in errors, logs and checks."""
LONGEST_TEXT = 8000
"""Characters of a text that are sent: cross-encoders read some 512 tokens, and bodies may be of any length."""

_PATHS = {"tei": "/rerank", "cohere": "/v1/rerank"}
_SCORES = {"tei": "score", "cohere": "relevance_score"}


class CrossEncoder:
    """A :class:`~app.core.contracts.rerank.Reranker` at its server. Safe for threads and forks: ``door`` is asked
    each time, since a forked process has connections of its own."""

    def __init__(self, settings: RerankSettings, door: Callable[[], Door], limit: BatchLimit) -> None:
        self.settings = settings
        self._door = door
        self._limit = limit

    @property
    def name(self) -> str:
        """The declared model."""
        return self.settings.model or "cross-encoder"

    def scores(self, query: str, texts: Sequence[str], timeout: float) -> list[float]:
        """One score in [0, 1] per text, in their order; ``timeout`` seconds cover all calls together.

        A server that answers with raw logits (any number outside [0, 1]) gets them brought there by the logistic
        function, which keeps their order. Raises :class:`ModelServerFailed`.
        """
        if not texts:
            return []
        until = self._door().clock.monotonic() + min(timeout, self.settings.server.timeout)
        if self.settings.api == "tei" and self._limit.first_ask():
            self._learn(until)
        return _in_unit(self._all(query, [text[:LONGEST_TEXT] for text in texts], until))

    def info(self, timeout: float) -> tuple[str | None, int | None]:
        """(model, texts per request) of ``GET /info``. Raises :class:`ModelServerFailed`."""
        return self._door().info(timeout)

    def _all(self, query: str, texts: Sequence[str], until: float) -> list[float]:
        """Batch after batch; one that is too large goes again in halves, and the server's limit is remembered."""
        scores: list[float] = []
        size, refused = self._limit.size, 0
        while len(scores) < len(texts):
            batch = texts[len(scores) : len(scores) + size]
            try:
                found, seconds = self._batch(query, batch, until)
            except ModelServerFailed as error:
                if error.reason != "too_large" or len(batch) == 1:
                    raise
                refused, size = len(batch), len(batch) // 2
                continue
            if refused:
                self._limit.refused(refused, len(batch))
                refused = 0
            self._limit.worked(len(batch), seconds)
            scores += found
        return scores

    def _batch(self, query: str, texts: Sequence[str], until: float) -> tuple[list[float], float]:
        api = self.settings.api
        call, content, seconds = self._door().post(_PATHS[api], self._body(query, texts), self._left(until))
        found = call.read(lambda: read_scores(content, api, len(texts), self.settings.model))
        return found, seconds

    def _body(self, query: str, texts: Sequence[str]) -> Mapping[str, object]:
        if self.settings.api == "tei":
            return {"query": query, "texts": list(texts), "truncate": True}
        return {"model": self.settings.model, "query": query, "documents": list(texts), "top_n": len(texts)}

    def _learn(self, until: float) -> None:
        """What the server says of its limit; silence there is no failure, the batches themselves will tell."""
        try:
            _, most = self._door().info(self._left(until))
        except ModelServerFailed:
            return
        if most is not None:
            self._limit.declared(most)

    def _left(self, until: float) -> float:
        return max(until - self._door().clock.monotonic(), 0.001)


def read_scores(content: bytes, api: str, sent: int, expected_model: str | None) -> list[float]:
    """The scores of an answer to ``sent`` texts, each placed by its index.

    Raises :class:`Unusable`: malformed, model, score_count, index or score.
    """
    value = read_json(content)
    if isinstance(value, dict):
        named = value.get("model")
        if isinstance(named, str) and named and expected_model is not None and not same_model(named, expected_model):
            raise Unusable("model", got=named[:200], expected=expected_model)
        value = value.get("results")
    if not isinstance(value, list):
        raise Unusable("malformed")
    if len(value) != sent:
        raise Unusable("score_count", got=len(value), sent=sent)
    placed: dict[int, float] = {}
    for item in value:
        if not isinstance(item, dict):
            raise Unusable("malformed")
        index = item.get("index")
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < sent or index in placed:
            raise Unusable("index")
        placed[index] = _number(item.get(_SCORES[api]))
    return [placed[index] for index in range(sent)]


def _number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise Unusable("score")
    try:
        number = float(value)
    except OverflowError:
        raise Unusable("score") from None
    if not math.isfinite(number):
        raise Unusable("score")
    return number


def _in_unit(scores: Sequence[float]) -> list[float]:
    if all(0 <= score <= 1 for score in scores):
        return list(scores)
    return [1 / (1 + math.exp(-max(min(score, 500.0), -500.0))) for score in scores]
