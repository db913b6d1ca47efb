"""The Nth-call sweep: the n-th call of a kind fails or kills, n = 1, 2, … until a switch passes untouched.

The idea is SQLite's (`faults.md`, B1): whatever the call, every stop must lead to the same end as no stop at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg
import pytest
from sqlalchemy.exc import OperationalError

from app.core.contracts.actor import SYSTEM
from app.core.queue import Wake
from app.embeddings import store
from app.embeddings.indexes import pgvector
from tests.faults.breaking import commits, statements
from tests.faults.harness import FaultBench

KINDS = ("commit", "answer", "statement", "copy", "http", "send", "build")
"""A database commit; one whose answer is lost; a statement; COPY; an embedding call; a wake-up; an index build."""


@dataclass
class Counter:
    """Counts the calls of one kind and breaks the n-th: by an error, or by the death of the process."""

    bench: FaultBench
    nth: int
    deadly: bool
    calls: int = 0
    hit: bool = False

    def breaks(self) -> bool:
        """Whether this is the call. Raises when the process dies of it."""
        if self.hit:
            return False
        self.calls += 1
        self.hit = self.calls == self.nth
        if self.hit and self.deadly:
            self.bench.die()
        return self.hit


@contextmanager
def counted(bench: FaultBench, kind: str, counter: Counter) -> Iterator[None]:
    """Break the n-th call of ``kind`` inside the block."""
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        if kind in ("commit", "answer"):
            stack.enter_context(commits(bench, lambda commit: _commit(counter, commit, after=kind == "answer")))
        elif kind == "statement":
            stack.enter_context(statements(bench, lambda statement: _statement(counter, statement)))
        elif kind == "copy":
            _wrap(patch, store, "copy_rows", counter, psycopg.OperationalError("the connection is lost"))
        elif kind == "http":
            _wrap(patch, httpx.Client, "stream", counter, httpx.ConnectError("refused"))
        elif kind == "build":
            _wrap(patch, pgvector, "build", counter, OperationalError("", {}, psycopg.OperationalError("lost")))
        else:
            _wrap_send(patch, bench, counter)
        yield


def _commit(counter: Counter, commit: Callable[[], None], *, after: bool) -> None:
    if not after:
        if counter.breaks():
            raise psycopg.OperationalError("the connection is lost")
        commit()
        return
    commit()
    if counter.breaks():
        raise psycopg.OperationalError("the connection is lost")


def _statement(counter: Counter, statement: str) -> None:
    if counter.breaks():
        raise OperationalError(statement, {}, psycopg.OperationalError("the connection is lost"))


def _wrap(patch: pytest.MonkeyPatch, owner: Any, name: str, counter: Counter, error: Exception) -> None:
    original = getattr(owner, name)

    def wrapped(*arguments: Any, **options: Any) -> Any:
        if counter.breaks():
            raise error
        return original(*arguments, **options)

    patch.setattr(owner, name, wrapped)


def _wrap_send(patch: pytest.MonkeyPatch, bench: FaultBench, counter: Counter) -> None:
    original = bench.queue.send

    def send(wake: Wake) -> bool:
        return False if counter.breaks() else original(wake)

    patch.setattr(bench.queue, "send", send)


def switched(bench: FaultBench, target: str, mode: str) -> None:
    """A whole switch, as people, scheduler and workers bring it to its end whatever breaks on the way."""
    while bench.state == "idle" and bench.serving != target:
        bench.command(lambda: _start(bench, target, mode))
    reasons = bench.finish()
    assert set(reasons) <= {"switch.failed.index"}, reasons


def _start(bench: FaultBench, target: str, mode: str) -> None:
    try:
        bench.ai.switching.start(SYSTEM, target, mode)
    except Exception as error:
        if getattr(error, "code", "") != "switch.probe_failed":
            raise
