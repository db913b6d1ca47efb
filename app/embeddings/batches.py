"""Many texts to one server: batches sized by what it takes, halved to find a bad text, patient when it is busy.

Whose fault is a failure? A text that fails alone while a harmless one still works is at fault and becomes a
:class:`TextFailure`; the others keep their vectors (`known-bugs.md` 36, 49, 51). When the harmless text fails too, the
server is away or changed, and :class:`ModelServerFailed` is raised: nobody's text is to blame.

Is it still the same model? With a ``canary`` every call carries the probe text as its last one, and no vector leaves
the batcher unless the probe's vector in the very same answer is the canary (ADR 0010). Calls before and after prove
nothing about a call between them: weights may change and change back.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from app.core.clock import Clock
from app.core.errors import ModelServerFailed
from app.embeddings.identity import PROBE_TEXT, Vectors, require_canary
from app.embeddings.limits import BatchLimit

if TYPE_CHECKING:
    from app.embeddings.client import Embedded, EmbeddingClient

CANARY_SECONDS = 10.0
INFO_SECONDS = 3.0
LONGEST_WAIT = 60.0
OVERLOADED_ATTEMPTS = 6
RECOVERY_WAITS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds between looks at a server that broke off: a crashed one takes a while to come back."""
SINGLE_ATTEMPTS = 3

_BROKEN_OFF = frozenset({"unreachable", "timeout"})
_SIZE = frozenset({"too_large", "timeout"})


@dataclass(frozen=True)
class BatchResult:
    """Row i of ``vectors`` (texts, dimensions) belongs to the text at ``indexes[i]`` of the call."""

    indexes: list[int]
    vectors: Vectors


@dataclass(frozen=True)
class TextFailure:
    """The text at ``index`` can't be embedded: a reason of `ModelServerFailed`, or ``server_crash``."""

    index: int
    reason: str


class Batcher:
    """Embeds passages of one profile. Safe for threads; ``limit`` is shared by all who use the same server.

    ``waiting(seconds, reason)`` is called before each wait, and may raise to end it: the place to renew a lease, to say
    that one waits, or to notice that one was called off. ``jitter`` gives numbers in [0, 1); ``recovery`` is how long a
    server that broke off is waited for, step by step, in seconds.

    ``canary`` is the probe text's vector by the model that the texts are for. Guarantee: as long as one answer comes
    from one model, every vector that is yielded comes from the canary's. A server that takes one text a call is asked
    for the probe before and after each text; there only a change and back within a single call stays unseen.
    """

    def __init__(
        self,
        client: EmbeddingClient,
        limit: BatchLimit,
        clock: Clock,
        waiting: Callable[[float, str], None] | None = None,
        jitter: Callable[[], float] = random.random,
        recovery: Sequence[float] = RECOVERY_WAITS,
        canary: Vectors | None = None,
    ) -> None:
        self._client = client
        self._limit = limit
        self._clock = clock
        self._waiting = waiting
        self._jitter = jitter
        self._recovery = tuple(recovery)
        self._canary = canary
        self._extra = 0 if canary is None else 1

    @property
    def size(self) -> int:
        """How many different texts to send next, at least 1; the canary comes on top and fits."""
        return self._limit.beside(self._extra)

    @property
    def quick(self) -> bool:
        """Whether a second batch may be sent before the first is answered (`BatchLimit.quick`)."""
        return self._limit.quick

    def embed(self, texts: Sequence[str]) -> Iterator[BatchResult | TextFailure]:
        """Every text's vector or failure, batch by batch; identical texts are sent once.

        Raises :class:`ModelServerFailed` when the server is away, overloaded for long, or another model: what was
        yielded before stays good.
        """
        places: dict[str, list[int]] = {}
        for index, text in enumerate(texts):
            places.setdefault(text, []).append(index)
        left = list(places)
        if len(left) > 1:
            self._learn_declared()
        while left:
            count = self.size
            batch, left = left[:count], left[count:]
            for outcome in self._batch(batch):
                yield from _placed(outcome, places)

    def _learn_declared(self) -> None:
        if not self._limit.first_ask():
            return
        try:
            most = self._client.info(INFO_SECONDS)[1]
        except ModelServerFailed:
            return  # the first batch will tell
        if most is not None:
            self._limit.declared(most)

    def _batch(self, batch: list[str]) -> Iterator[_Outcome]:
        """The outcomes of one batch. Failures are held back to its end: if they are most of it, blame the server."""
        pending, failures = [batch], list[_Failed]()
        refused = fitted = 0
        while pending:
            texts = pending.pop()
            try:
                embedded = self._patient(texts)
            except ModelServerFailed as error:
                if len(texts) == 1:
                    failures.append(self._blame(texts[0], error))
                    continue
                self._worth_halving(error)
                refused = len(texts) if not refused else min(refused, len(texts))
                pending += _parts(texts, fitted if error.reason in _SIZE else 0)
                continue
            fitted = max(fitted, len(texts))
            yield _Done(texts, embedded.vectors)
        _server_at_fault(failures, len(batch))
        if refused and fitted and not failures:
            self._limit.refused(refused + self._extra, min(fitted, max(1, refused - 1)) + self._extra)
        yield from failures

    def _patient(self, texts: list[str]) -> Embedded:
        """One successful call; waits as often and as long as an overloaded server wishes, within bounds."""
        for attempt in range(OVERLOADED_ATTEMPTS):
            try:
                return self._call(texts)
            except ModelServerFailed as error:
                if error.reason != "overloaded" or attempt == OVERLOADED_ATTEMPTS - 1:
                    raise
                self._wait(0.5 * 2**attempt if error.retry_after is None else error.retry_after, error.reason)
        raise AssertionError("unreachable")

    def _call(self, texts: list[str]) -> Embedded:
        """One call, vouched for by the canary in it. Raises :class:`ModelServerFailed` (``model``) when it is not."""
        if self._canary is None:
            return self._told(self._client.embed(texts, "passage"), len(texts))
        if not self._limit.takes_two:
            return self._apart(texts)
        try:
            embedded = self._client.embed([*texts, PROBE_TEXT], "passage")
        except ModelServerFailed as error:
            if error.reason != "too_large" or len(texts) > 1:
                raise
            embedded = self._apart(texts)  # the text is not too large, two of them are
            self._limit.refused(2, 1)
            return embedded
        require_canary(self._client.profile, embedded.vectors[-1], self._canary)
        self._told(embedded, len(texts) + 1)
        return replace(embedded, vectors=embedded.vectors[:-1])

    def _apart(self, texts: list[str]) -> Embedded:
        """A call between two calls with the probe text, for a server that takes one text at a time."""
        self._vouch()
        embedded = self._told(self._client.embed(texts, "passage"), len(texts))
        self._vouch()
        return embedded

    def _vouch(self) -> None:
        assert self._canary is not None
        answer = self._client.embed([PROBE_TEXT], "passage", CANARY_SECONDS)
        require_canary(self._client.profile, answer.vectors[0], self._canary)

    def _told(self, embedded: Embedded, sent: int) -> Embedded:
        self._limit.worked(sent, embedded.seconds)
        return embedded

    def _worth_halving(self, error: ModelServerFailed) -> None:
        """Return when smaller batches may help. Raises the failure that says they won't."""
        _raise_if_hopeless(error)
        if error.reason != "too_large":
            self._recover(error)

    def _blame(self, text: str, error: ModelServerFailed) -> _Failed:
        """The verdict on a text that failed alone, after more attempts with the harmless text between them.

        Raises :class:`ModelServerFailed` when that one fails too.
        """
        _raise_if_hopeless(error)
        for attempt in range(SINGLE_ATTEMPTS):
            self._recover(error)
            if error.reason == "too_large" or attempt == SINGLE_ATTEMPTS - 1:
                break
            try:
                return _Failed(text, None, self._patient([text]).vectors)
            except ModelServerFailed as again:
                _raise_if_hopeless(again)
                error = again
        return _Failed(text, error, None)

    def _recover(self, error: ModelServerFailed) -> None:
        """Return once the harmless text works. A server that broke off is given time; any other failure of that text
        is raised at once."""
        for wait in (*self._recovery, None):
            try:
                self._client.embed([PROBE_TEXT], "passage", CANARY_SECONDS)
                return
            except ModelServerFailed as canary:
                if wait is None or canary.reason not in _BROKEN_OFF | {"overloaded"}:
                    raise
                self._wait(max(wait, canary.retry_after or 0.0), error.reason)

    def _wait(self, seconds: float, reason: str) -> None:
        """Up to a quarter longer than asked, so that several workers don't come back at once."""
        seconds = min(seconds * (1 + self._jitter() / 4), LONGEST_WAIT)
        if self._waiting is not None:
            self._waiting(seconds, reason)
        self._clock.sleep(seconds)


@dataclass(frozen=True)
class _Done:
    texts: list[str]
    vectors: Vectors


@dataclass(frozen=True)
class _Failed:
    """A text that failed alone; ``vectors`` is set when it worked at last."""

    text: str
    error: ModelServerFailed | None
    vectors: Vectors | None


_Outcome = _Done | _Failed


def _raise_if_hopeless(error: ModelServerFailed) -> None:
    """Another model, a wrong key or address: no text is at fault, and no smaller batch helps."""
    refused = error.reason == "status" and error.status is not None and error.status < 500 and error.status != 400
    if refused or error.reason in ("model", "overloaded"):
        raise error


def _server_at_fault(failures: list[_Failed], count: int) -> None:
    """A server that breaks off now and then looks like many bad texts (`known-bugs.md` 11): three or more, and most of
    a batch, are its own fault. Raises the last failure."""
    broken = [failed.error for failed in failures if failed.error is not None and failed.error.reason in _BROKEN_OFF]
    if len(broken) >= 3 and len(broken) * 2 > count:
        raise broken[-1]


def _parts(texts: list[str], fitted: int) -> list[list[str]]:
    """The halves, or parts of a size that worked a moment ago; the last is sent first."""
    size = (len(texts) + 1) // 2
    if 0 < fitted < size:
        size = fitted
    return [texts[start : start + size] for start in range(0, len(texts), size)][::-1]


def _placed(outcome: _Outcome, places: dict[str, list[int]]) -> Iterator[BatchResult | TextFailure]:
    if isinstance(outcome, _Failed):
        if outcome.error is not None:
            reason = "server_crash" if outcome.error.reason == "unreachable" else outcome.error.reason
            yield from (TextFailure(index, reason) for index in places[outcome.text])
            return
        assert outcome.vectors is not None
        outcome = _Done([outcome.text], outcome.vectors)
    rows = [(index, row) for row, text in enumerate(outcome.texts) for index in places[text]]
    yield BatchResult([index for index, _ in rows], np.ascontiguousarray(outcome.vectors[[row for _, row in rows]]))
