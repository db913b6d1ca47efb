"""Batches ahead: the model works while the batch before is written and the one after is read.

Only the calls to the model server run in other threads; database, checkpoints and decisions stay in the caller's. Never
more than two batches are in doubt, sent and not yet committed: that is what a process that dies can lose.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from app.embeddings.batches import Batcher, BatchResult, TextFailure

IN_DOUBT = 2
"""Batches of one worker that are sent and not committed."""


@dataclass
class Embedded:
    """What became of a batch. ``outcomes`` are good even when ``error`` says why the rest of it has none."""

    outcomes: list[BatchResult | TextFailure] = field(default_factory=list)
    error: Exception | None = None


class Ahead:
    """A batcher in threads of its own. Leaving the block waits for what is under way."""

    def __init__(self, batcher: Batcher) -> None:
        self._batcher = batcher
        self._threads = ThreadPoolExecutor(IN_DOUBT, thread_name_prefix="embed")
        self._under_way: deque[Future[Embedded]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(wait=True)

    def __len__(self) -> int:
        """Batches that were sent and not taken."""
        return len(self._under_way)

    def may_send(self, writing: int) -> bool:
        """Whether another batch may be sent while ``writing`` batches are taken and not committed.

        A second one under way waits at the server; only a quick server is given that (`BatchLimit.quick`).
        """
        return len(self) + writing < IN_DOUBT and (not self._under_way or self._batcher.quick)

    def send(self, texts: list[str]) -> None:
        """Begin to embed a batch."""
        # The context goes along: log lines of the calls carry what those of the job carry.
        self._under_way.append(self._threads.submit(copy_context().run, self._embed, texts))

    def take(self) -> Embedded:
        """Wait for the batch that was sent first."""
        return self._under_way.popleft().result()

    def _embed(self, texts: list[str]) -> Embedded:
        found = Embedded()
        try:
            for outcome in self._batcher.embed(texts):
                found.outcomes.append(outcome)
        except Exception as error:  # noqa: BLE001 - raised again by the caller, after what came before is written
            found.error = error
        return found
