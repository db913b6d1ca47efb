"""Brings a space up to date for given documents: read, split, embed, write; what stands already is skipped.

No transaction is open while the model server works. Every batch commits on its own; a text that can't be embedded is
named and left, the others go on (`product.md`, decision 7).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sqlalchemy.orm import Session

from app.core.clock import Clock
from app.core.contracts.checkpoints import Checkpoint, no_checkpoint
from app.core.unit import Units
from app.embeddings import failures_store as failures
from app.embeddings import store
from app.embeddings.ahead import Ahead, Embedded
from app.embeddings.batches import Batcher, TextFailure
from app.embeddings.client import ModelServers
from app.embeddings.identity import PROBE_TEXT, require_canary
from app.embeddings.indexes.stored import note_changes
from app.embeddings.leases import Fenced
from app.embeddings.passages import Passage, passage_hash, split
from app.embeddings.spaces import Space
from app.embeddings.store import Key, NewRow

GROUP = 64
"""Documents whose texts are held in memory at once."""


class Hold(Protocol):
    """Who asked for the work. Called in every writing transaction; raises :class:`Fenced` when it must stop."""

    def __call__(self, session: Session, *, done: int, passages: int) -> None: ...


def free(session: Session, *, done: int, passages: int) -> None:
    """A hold that never stops: for writers whose rows are right whatever else happens (events, repair)."""


@dataclass
class Outcome:
    """What one run did, in documents and passages."""

    done: int = 0
    passages: int = 0
    failed: int = 0
    skipped: int = 0


@dataclass
class _Open:
    """A document whose passages are under way."""

    key: Key
    left: int
    failed: bool = False


@dataclass
class _Batch:
    """Passages that go to the model together, and documents that have all they need without it."""

    places: list[tuple[_Open, Passage]] = field(default_factory=list)
    ready: list[_Open] = field(default_factory=list)


@dataclass(frozen=True)
class _Run:
    """One call of `Synchroniser.run`."""

    space: Space
    hold: Hold
    stop: Stop | None
    batcher: Batcher
    outcome: Outcome = field(default_factory=Outcome)

    @property
    def stopped(self) -> bool:
        return self.stop is not None and self.stop.is_set()


class Synchroniser:
    """Embeds documents into one space."""

    def __init__(
        self, units: Units, servers: ModelServers, clock: Clock, checkpoint: Checkpoint = no_checkpoint
    ) -> None:
        self.units = units
        self.servers = servers
        self.clock = clock
        self.checkpoint = checkpoint

    def check_server(self, space: Space) -> None:
        """Compare the server with the space's canary. Raises ModelServerFailed (``model``) when it answers otherwise.

        Same name and same length are not enough: a silent change of weights shows in the vector of a fixed text.
        """
        answer = self.servers.client(space.profile).embed([PROBE_TEXT], "passage")
        if space.canary is not None:
            require_canary(space.profile, answer.vectors[0], space.canary)

    def run(self, space: Space, keys: Sequence[Key], hold: Hold = free, stop: Stop | None = None) -> Outcome:
        """Embed ``keys`` into ``space``, ahead of the writing; each batch is vouched for by the canary in it.

        Raises :class:`Fenced` when the hold or ``stop`` says so, and ModelServerFailed when the server is away or is
        another one; what was committed before stays. After a ``stop`` nothing more is sent, and what has been embedded
        is written.
        """
        run = _Run(space, hold, stop, self._batcher(space, stop))
        batches = self._batches(run, keys)
        prepared = next(batches, None)
        sent: deque[_Batch] = deque()
        error: Exception | None = None
        with Ahead(run.batcher) as ahead:

            def send(writing: int) -> None:
                nonlocal prepared
                if prepared is not None and error is None and not run.stopped and ahead.may_send(writing):
                    ahead.send([passage.text for _, passage in prepared.places])
                    sent.append(prepared)
                    prepared = None

            send(writing=0)
            while sent:
                if prepared is None:
                    prepared = next(batches, None)
                send(writing=0)
                found = ahead.take()
                send(writing=1)
                self._store(run, sent.popleft(), found)
                error = error or found.error
                send(writing=0)
        if error is not None:
            raise error
        if prepared is not None:
            raise Fenced
        return run.outcome

    def _batcher(self, space: Space, stop: Stop | None) -> Batcher:
        def waiting(seconds: float, reason: str) -> None:
            if stop is not None and stop.is_set():
                raise Fenced

        client, limit = self.servers.client(space.profile), self.servers.limit(space.profile)
        return Batcher(client, limit, self.clock, waiting=waiting, canary=space.canary)

    def _batches(self, run: _Run, keys: Sequence[Key]) -> Iterator[_Batch]:
        """Batches as large as the server takes them, across the groups in which texts are read."""
        batch, texts, size = _Batch(), set[str](), run.batcher.size
        for start in range(0, len(keys), GROUP):
            for document, passages in self._read(run, keys[start : start + GROUP]):
                if not passages:
                    batch.ready.append(document)
                for passage in passages:
                    if len(texts) == size and passage.text not in texts:
                        yield batch
                        batch, texts, size = _Batch(), set(), run.batcher.size
                    batch.places.append((document, passage))
                    texts.add(passage.text)
        if batch.places or batch.ready:
            yield batch

    def _read(self, run: _Run, keys: Sequence[Key]) -> Iterator[tuple[_Open, list[Passage]]]:
        with self.units() as unit:
            found = store.texts(unit.session, run.space.id, keys)
        run.outcome.skipped += len(keys) - len(found)
        self.checkpoint("chunk.read")
        for text in found:
            passages = split(text.title, text.body, run.space.profile.window, text.parts)
            wanted = [passage for passage in passages if passage.n not in text.present]
            yield _Open(text.key, left=len(wanted)), wanted

    def _store(self, run: _Run, batch: _Batch, found: Embedded) -> None:
        """Write what came of a batch, in one transaction but for texts that can't be embedded."""
        rows, complete = list[NewRow](), list(batch.ready)
        if found.outcomes:
            self.checkpoint("chunk.embedded")
        for result in found.outcomes:
            if isinstance(result, TextFailure):
                continue
            for index, vector in zip(result.indexes, result.vectors, strict=True):
                document, passage = batch.places[index]
                document.left -= 1
                if document.failed:
                    continue
                rows.append(NewRow(document.key, passage, passage_hash(passage.text), vector))
                if document.left == 0:
                    complete.append(document)
        if rows or complete:
            self._write(run, rows, complete)
        for result in found.outcomes:
            if isinstance(result, TextFailure):
                self._fail(run, batch.places[result.index][0], result.reason)

    def _write(self, run: _Run, rows: list[NewRow], complete: Sequence[_Open]) -> None:
        space, outcome = run.space, run.outcome
        with self.units() as unit:
            session = unit.session
            current = store.lock_documents(
                session, space.id, [row.key for row in rows] + [document.key for document in complete]
            )
            kept = [row for row in rows if row.key in current]
            done = [document.key for document in complete if document.key in current]
            store.write_rows(session, space.id, kept, done)
            note_changes(session, space.id, sorted({(key.entity, key.record_id) for key in current}))
            run.hold(session, done=len(done), passages=len(kept))
            self.checkpoint("chunk.batch_before_commit")
        self.checkpoint("chunk.batch_committed")
        outcome.done += len(done)
        outcome.passages += len(kept)
        outcome.skipped += len(complete) - len(done)

    def _fail(self, run: _Run, document: _Open, reason: str) -> None:
        document.left -= 1
        if document.failed:
            return
        document.failed = True
        with self.units() as unit:
            if store.lock_documents(unit.session, run.space.id, [document.key]):
                failures.record_failure(unit.session, run.space.id, document.key, reason)
                note_changes(unit.session, run.space.id, [(document.key.entity, document.key.record_id)])
                run.outcome.failed += 1
            run.hold(unit.session, done=0, passages=0)


class Stop(Protocol):
    """Anything that says whether to stop: a lost lease, a process that is ending."""

    def is_set(self) -> bool: ...


class AnyStop:
    """Stops when one of several stops does."""

    def __init__(self, *stops: Stop) -> None:
        self._stops = stops

    def is_set(self) -> bool:
        return any(stop.is_set() for stop in self._stops)
