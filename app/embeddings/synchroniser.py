"""Brings a space up to date for given documents: read, split, embed, write; what stands already is skipped.

No transaction is open while the model server works. Every batch commits on its own; a text that can't be embedded is
named and left, the others go on (`product.md`, decision 7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sqlalchemy.orm import Session

from app.core.clock import Clock
from app.core.contracts.checkpoints import Checkpoint, no_checkpoint
from app.core.errors import ModelServerFailed
from app.core.unit import Units
from app.embeddings import failures_store as failures
from app.embeddings import store
from app.embeddings.batches import Batcher, TextFailure
from app.embeddings.client import ModelServers
from app.embeddings.identity import PROBE_TEXT, same_vector
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
class _Group:
    documents: list[_Open] = field(default_factory=list)
    places: list[tuple[_Open, Passage]] = field(default_factory=list)


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
        client = self.servers.client(space.profile)
        answer = client.embed([PROBE_TEXT], "passage")
        if space.canary is not None and not same_vector(answer.vectors[0], space.canary):
            raise ModelServerFailed(
                "model",
                server=space.profile.server,
                request_id="-",
                got="another version of the model",
                expected=space.profile.model,
            )

    def run(self, space: Space, keys: Sequence[Key], hold: Hold = free, stop: Stop | None = None) -> Outcome:
        """Embed ``keys`` into ``space``.

        Raises :class:`Fenced` when the hold or ``stop`` says so, and ModelServerFailed when the server is away or is
        another one; what was committed before stays.
        """
        outcome = Outcome()
        batcher = self._batcher(space, stop)
        for start in range(0, len(keys), GROUP):
            self._group(space, keys[start : start + GROUP], batcher, hold, stop, outcome)
        return outcome

    def _batcher(self, space: Space, stop: Stop | None) -> Batcher:
        def waiting(seconds: float, reason: str) -> None:
            if stop is not None and stop.is_set():
                raise Fenced

        return Batcher(
            self.servers.client(space.profile), self.servers.limit(space.profile), self.clock, waiting=waiting
        )

    def _group(
        self, space: Space, keys: Sequence[Key], batcher: Batcher, hold: Hold, stop: Stop | None, outcome: Outcome
    ) -> None:
        group = self._read(space, keys, outcome)
        self.checkpoint("chunk.read")
        finished = [document for document in group.documents if document.left == 0]
        if finished:
            self._write(space, [], finished, hold, outcome)
        for result in batcher.embed([passage.text for _, passage in group.places]):
            if stop is not None and stop.is_set():
                raise Fenced
            self.checkpoint("chunk.embedded")
            if isinstance(result, TextFailure):
                self._fail(space, group.places[result.index][0], result.reason, hold, outcome)
                continue
            rows, complete = [], []
            for index, vector in zip(result.indexes, result.vectors, strict=True):
                document, passage = group.places[index]
                document.left -= 1
                if document.failed:
                    continue
                rows.append(NewRow(document.key, passage, passage_hash(passage.text), vector))
                if document.left == 0:
                    complete.append(document)
            self._write(space, rows, complete, hold, outcome)

    def _read(self, space: Space, keys: Sequence[Key], outcome: Outcome) -> _Group:
        with self.units() as unit:
            found = store.texts(unit.session, space.id, keys)
        outcome.skipped += len(keys) - len(found)
        group = _Group()
        for text in found:
            wanted = [
                passage
                for passage in split(text.title, text.body, space.profile.window)
                if passage.n not in text.present
            ]
            document = _Open(text.key, left=len(wanted))
            group.documents.append(document)
            group.places.extend((document, passage) for passage in wanted)
        return group

    def _write(self, space: Space, rows: list[NewRow], complete: Sequence[_Open], hold: Hold, outcome: Outcome) -> None:
        with self.units() as unit:
            session = unit.session
            current = store.lock_documents(
                session, space.id, [row.key for row in rows] + [document.key for document in complete]
            )
            kept = [row for row in rows if row.key in current]
            done = [document.key for document in complete if document.key in current]
            store.write_rows(session, space.id, kept, done)
            if done:
                failures.forget_failures(session, space.id, done)
            hold(session, done=len(done), passages=len(kept))
            self.checkpoint("chunk.batch_before_commit")
        self.checkpoint("chunk.batch_committed")
        outcome.done += len(done)
        outcome.passages += len(kept)
        outcome.skipped += len(complete) - len(done)

    def _fail(self, space: Space, document: _Open, reason: str, hold: Hold, outcome: Outcome) -> None:
        document.left -= 1
        if document.failed:
            return
        document.failed = True
        with self.units() as unit:
            if store.lock_documents(unit.session, space.id, [document.key]):
                failures.record_failure(unit.session, space.id, document.key, reason)
                outcome.failed += 1
            hold(unit.session, done=0, passages=0)


class Stop(Protocol):
    """Anything that says whether to stop: a lost lease, a process that is ending."""

    def is_set(self) -> bool: ...


class AnyStop:
    """Stops when one of several stops does."""

    def __init__(self, *stops: Stop) -> None:
        self._stops = stops

    def is_set(self) -> bool:
        return any(stop.is_set() for stop in self._stops)
