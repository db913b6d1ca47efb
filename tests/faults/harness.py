"""A bench on which things go wrong: processes die at checkpoints, leases run out, the queue and connections break."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from app.core.clock import SystemClock
from app.core.contracts.actor import SYSTEM
from app.core.errors import ChangeoverError
from app.core.queue import Wake
from app.embeddings.checkpoints import ENGINE_NAMES, NAMES
from tests.fakes.embedding_server import Behaviour, FakeEmbeddingServer
from tests.faults.checker import Checker
from tests.faults.history import TAG, History, RecordedUnits
from tests.fixtures.bench import B, Bench

SIZE = os.environ.get("FAULTS_SIZE", "small")
MODES = ("side_by_side", "in_place")
PHASES = ("preflight", "embeddings", "indexes", "verify", "activate")
LEASED = ("switches", "switch_chunks", "index_cursors")
BREAKS = (SQLAlchemyError, psycopg.Error, ChangeoverError, OSError)
"""What a job may raise: the worker logs it and takes the next one."""


PROCESS: ContextVar[int | None] = ContextVar("process", default=None)
"""Which of the bench's processes runs here; the threads that a job starts belong to its process."""


class Died(BaseException):
    """The process is gone: nothing of it runs any more, not even what stands in a ``finally``."""


class HurriedClock(SystemClock):
    """A clock whose sleep takes no time but moves the monotonic count."""

    def __init__(self) -> None:
        self.slept = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.slept

    def sleep(self, seconds: float) -> None:
        self.slept += seconds


class Points:
    """The checkpoint: counts who passes, and does once what a test hung there."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self._hung: dict[str, tuple[int, Callable[[], None]]] = {}

    def __call__(self, name: str) -> None:
        assert name in NAMES + ENGINE_NAMES, name
        self.seen[name] += 1
        if name in self._hung:
            left, action = self._hung.pop(name)
            if left > 1:
                self._hung[name] = (left - 1, action)
            else:
                action()

    def once(self, name: str, action: Callable[[], None], nth: int = 1) -> None:
        """Do ``action`` at the n-th passing of ``name``."""
        assert name in NAMES + ENGINE_NAMES, name
        self._hung[name] = (nth, action)

    def clear(self) -> None:
        """Take down what hangs."""
        self._hung.clear()

    @property
    def waiting(self) -> bool:
        """Whether something hung up has not happened yet."""
        return bool(self._hung)


class FaultBench(Bench):
    """A bench with a history, a checker and hands for mischief."""

    def __init__(self, database: str, folder: Path, servers: dict[str, FakeEmbeddingServer], **values: Any) -> None:
        self.points = Points()
        self.history = History()
        self.clock = HurriedClock()
        self.broken: list[BaseException] = []
        self.deaths = 0
        self.delivered: list[Wake] = []
        self._dead: set[int] = set()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("app.container.SystemClock", lambda: self.clock)
            patch.setattr(
                "app.container.Units", lambda engine, queue: RecordedUnits(engine, queue, self.history, self.alive)
            )
            patch.setattr("app.embeddings.parts.make_checkpoint", lambda wish: self.points)
            super().__init__(database, folder, servers, **values)
        declared = self.ai.servers._servers
        declared.update({name: server.model_copy(update={"timeout": 0.4}) for name, server in declared.items()})
        self.checker = Checker(self)

    # --- looking ---------------------------------------------------------------------------------------------------

    def observe(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows seen from outside of every unit; no fault hits this."""
        with self.container.engine.connect() as connection:
            return [tuple(row) for row in connection.execute(text(f"{TAG} {sql}"))]

    @property
    def serving(self) -> str:
        return str(self.observe("select model_key from serving")[0][0])

    @property
    def last(self) -> Any:
        names = ("id", "status", "phase", "epoch", "to_space_id", "error_code")
        row = self.observe(f"select {', '.join(names)} from switches order by id desc limit 1")[0]
        return SimpleNamespace(**dict(zip(names, row, strict=True)))

    @property
    def state(self) -> str:
        """running, failed or idle."""
        found = self.observe("select status from switches where status in ('running', 'failed')")
        return found[0][0] if found else "idle"

    @property
    def phase(self) -> str:
        """The phase of the latest switch."""
        return str(self.observe("select phase from switches order by id desc limit 1")[0][0])

    # --- dying and living ------------------------------------------------------------------------------------------

    def alive(self) -> None:
        """Raises what keeps the dead from doing anything more."""
        if self._here() in self._dead:
            raise Died

    @staticmethod
    def _here() -> int:
        return PROCESS.get() or threading.get_ident()

    @contextmanager
    def _process(self) -> Iterator[None]:
        """What runs in the block is one process; whoever comes after it is another one."""
        token = PROCESS.set(threading.get_ident())
        try:
            yield
        finally:
            self._dead.discard(self._here())
            PROCESS.reset(token)

    def die(self) -> None:
        """This process dies here."""
        self._dead.add(self._here())
        raise Died

    def deliver(self, wake: Wake) -> None:
        """Run a job as a worker would: who dies is replaced, what fails is logged, what has more to do comes again."""
        self.delivered.append(wake)
        try:
            with self._process():
                if self.job(wake)():
                    self.queue.send(wake)
        except Died:
            self.deaths += 1
        except BREAKS as error:
            self.broken.append(error)

    def run_one(self) -> bool:
        if not self.queue.sent:
            return False
        self.deliver(self.queue.sent.pop(0))
        return True

    def tick(self) -> None:
        try:
            with self._process():
                super().tick()
        except Died:
            self.deaths += 1
        except BREAKS as error:
            self.broken.append(error)

    def command(self, action: Callable[[], object]) -> bool:
        """What a person does; False when the process died or the database broke under it."""
        try:
            with self._process():
                action()
        except Died:
            self.deaths += 1
            return False
        except SQLAlchemyError as error:
            self.broken.append(error)
            return False
        return True

    def expire(self) -> int:
        """Let every lease run out; returns how many there were."""
        count = 0
        with self.container.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            for table in LEASED:
                count += connection.execute(
                    text(
                        f"{TAG} update {table} set lease_until = clock_timestamp() - interval '1 second' "
                        "where lease_until > clock_timestamp()"
                    )
                ).rowcount
        return count

    # --- going on --------------------------------------------------------------------------------------------------

    def go_on(self, rounds: int = 60) -> None:
        """Scheduler and workers alone, until nothing is due. Leases of the dead run out when nobody moves (I6)."""
        still, before = 0, self._progress()
        for _ in range(rounds):
            self.tick()
            self.drain()
            now = self._progress()
            still = still + 1 if now == before and not self.expire() else 0
            before = now
            if still > 1 and self.state != "running":
                return
        raise AssertionError(f"I6: it never came to rest; {self.state} in {self.phase}: {self.broken[-1:]}")

    def drain(self, limit: int = 300) -> None:
        """Run what waits in the queue."""
        for _ in range(limit):
            if not self.run_one():
                return

    def _progress(self) -> list[tuple[Any, ...]]:
        return self.observe(
            """select (select string_agg(concat_ws(' ', id, epoch, step, status), ';' order by id) from switches),
                (select string_agg(concat_ws(' ', id, status, done, attempt), ';' order by id) from switch_chunks),
                (select string_agg(concat_ws(' ', consumer, xid, event_id), ';' order by consumer) from index_cursors),
                (select count(*) from embeddings), (select count(*) from index_events),
                (select string_agg(indexname, ';' order by indexname) from pg_indexes where indexname like 'emb%')"""
        )

    def finish(self) -> list[str]:
        """Go on to the end; returns the reasons for which a person had to resume on the way."""
        self.go_on()
        reasons = []
        while self.state == "failed" and len(reasons) < 3:
            reasons.append(str(self.last.error_code))
            assert self.checker.violations() == []
            self.heal()
            while not self.command(lambda: self.ai.switching.decide(SYSTEM, None, "retry", None)):
                pass
            while self.state == "failed":
                self.command(lambda: self.ai.switching.resume(SYSTEM))
            self.go_on()
        return reasons

    def heal(self) -> None:
        """Every server answers rightly again."""
        for server in self.servers.values():
            server.behaviour = Behaviour()
            server.script([])

    def reach(self, phase: str, mode: str, target: str = B) -> None:
        """Start a switch and run it to ``phase``, before any step of it."""
        self.start(target, mode)
        for _ in range(400):
            if self.phase == phase:
                return
            if not self.run_one():
                self.tick()
        raise AssertionError(f"never in {phase}")

    # --- several at once -------------------------------------------------------------------------------------------

    def together(self, *actions: Callable[[], object]) -> list[object]:
        """Run actions at once, each in a process of its own; returns results, or the errors they raised."""
        barrier = threading.Barrier(len(actions))
        results: list[object] = [None] * len(actions)

        def run(place: int) -> None:
            barrier.wait()
            try:
                results[place] = actions[place]()
            except (Died, *BREAKS) as error:
                results[place] = error

        threads = [threading.Thread(target=run, args=(place,)) for place in range(len(actions))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results

    @contextmanager
    def paused(self, wake: Wake, point: str) -> Iterator[bool]:
        """A worker that takes a job and stands still at ``point`` (stopped, paused, orphaned) until the block ends.

        Its lease has run out. Yields whether it got there.
        """
        there, on = threading.Event(), threading.Event()

        def wait() -> None:
            there.set()
            on.wait(300)

        self.points.once(point, wait)
        thread = threading.Thread(target=self.deliver, args=(wake,))
        thread.start()
        while not there.wait(0.01) and thread.is_alive():
            pass
        self.points.clear()
        self.expire()
        try:
            yield there.is_set()
        finally:
            on.set()
            thread.join()

    def cut_connections(self) -> None:
        """End every backend that works for the console, as a server does that restarts; they are gone then."""
        with self.container.engine.connect() as connection:
            connection.execute(
                text(
                    f"{TAG} select pg_terminate_backend(pid, 5000) from pg_stat_activity "
                    "where datname = current_database() and pid <> pg_backend_pid() and application_name = 'changeover'"
                )
            )

    def stored(self, key: str) -> Sequence[tuple[Any, ...]]:
        """All rows of a model, for comparison with those of an uninterrupted run."""
        return self.observe(
            f"""select entity, record_id, locale, n, "of", start, "end", text_hash, passage_hash, embedding::text
            from embeddings where space_id = {self.space(key)} order by 1, 2, 3, 4"""
        )
