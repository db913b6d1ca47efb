"""Faults of processes, of the queue and of the database."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from sqlalchemy import event, text
from sqlalchemy.exc import OperationalError

from app.core.contracts.actor import SYSTEM
from app.core.queue import EMBEDDINGS, INDEX, SWITCH, Wake
from app.embeddings.indexes import pgvector
from tests.faults.harness import FaultBench
from tests.faults.history import TAG
from tests.fixtures.bench import ENTITY

QUEUES = {"jobs.embeddings_switch.advance": SWITCH, "jobs.embeddings_index.index_chunk": INDEX}
SLOTTED = "jobs.embeddings.embed_chunk"
ERRORS: dict[str, type[psycopg.Error]] = {
    "40001": psycopg.errors.SerializationFailure,
    "40P01": psycopg.errors.DeadlockDetected,
}
Action = Callable[[FaultBench], None]


def edit(bench: FaultBench) -> None:
    """Something for the consumers to do."""
    bench.write(3, "text of record 3, edited")
    bench.write(40, "text of record 40, created")


def wake_of(bench: FaultBench, job: str) -> Wake:
    """A job as the switch sends it."""
    if job == "jobs.embeddings.apply_target":
        return Wake(job, EMBEDDINGS)
    ids: dict[str, int | str] = {"switch_id": bench.last.id}
    if job == SLOTTED:
        ids["slot"] = 0
    return Wake(job, QUEUES.get(job, EMBEDDINGS), ids)


# --- processes ---------------------------------------------------------------------------------------------------


def dies(point: str) -> Action:
    """The process that next passes ``point`` dies there."""

    def act(bench: FaultBench) -> None:
        bench.points.once(point, bench.die)

    return act


def dies_with_events(point: str) -> Action:
    """The target's consumer dies at ``point``."""

    def act(bench: FaultBench) -> None:
        edit(bench)
        bench.points.once(point, bench.die)
        bench.deliver(wake_of(bench, "jobs.embeddings.apply_target"))

    return act


def _prepared(bench: FaultBench, job: str) -> Wake:
    if job == "jobs.embeddings.apply_target":
        edit(bench)
    if job == "jobs.embeddings_index.index_chunk":
        while not _chunks_wait(bench):
            bench.deliver(wake_of(bench, "jobs.embeddings_switch.advance"))
    return wake_of(bench, job)


def _chunks_wait(bench: FaultBench) -> bool:
    return bool(
        bench.observe(
            "select 1 from switch_chunks c join switches s on s.id = c.switch_id and s.phase = c.phase "
            "where c.status = 'pending'"
        )
    )


def stopped(job: str, point: str) -> Action:
    """A worker stands still past its lease while others go on to the end, and then wakes up."""

    def act(bench: FaultBench) -> None:
        with bench.paused(_prepared(bench, job), point) as there:
            assert there, point
            bench.go_on()
            assert bench.checker.violations() == []

    return act


def stopped_and_abandoned(job: str, point: str) -> Action:
    """A worker stands still, the switch is abandoned meanwhile and cleared away, then it wakes up."""

    def act(bench: FaultBench) -> None:
        with bench.paused(_prepared(bench, job), point) as there:
            assert there, point
            bench.ai.switching.abandon(SYSTEM)
            bench.go_on()
            assert bench.checker.violations() == []

    return act


def warm_stop(bench: FaultBench) -> None:
    """Workers are asked to end (a deploy): each gives back what it holds after the batch under way."""
    bench.stop.set()
    for _ in range(4):
        bench.run_one()
    bench.queue.sent.clear()
    bench.stop.clear()


# --- the queue ---------------------------------------------------------------------------------------------------


def twice_at_once(bench: FaultBench) -> None:
    """Every job of this phase is delivered to two workers at once."""
    for _ in range(40):
        if bench.phase != bench.last.phase or bench.state != "running":
            return
        if not bench.queue.sent:
            bench.tick()
        wake = bench.queue.sent.pop(0)
        bench.together(lambda wake=wake: bench.deliver(wake), lambda wake=wake: bench.deliver(wake))
        if not bench.queue.sent:
            bench.expire()


def all_again(bench: FaultBench) -> None:
    """Every job that was ever delivered comes again, before and after the phase's own."""
    old = list(bench.delivered)
    for wake in old:
        bench.deliver(wake)
    for _ in range(3):
        bench.run_one()
    for wake in reversed(old):
        bench.deliver(wake)


def in_reverse(bench: FaultBench) -> None:
    """The newest job first, for the rest of the switch."""
    for _ in range(60):
        if not bench.queue.sent:
            bench.tick()
        if not bench.queue.sent or bench.state != "running":
            return
        bench.deliver(bench.queue.sent.pop())


def no_worker(bench: FaultBench) -> None:
    """The jobs of the phase's queue wait for a worker; status names the queue."""
    queue = EMBEDDINGS if bench.phase == "embeddings" else INDEX if bench.phase in ("indexes", "verify") else SWITCH
    for _ in range(10):
        bench.tick()
        waiting = [wake for wake in bench.queue.sent if wake.queue == queue]
        bench.queue.sent = [wake for wake in bench.queue.sent if wake.queue != queue]
        bench.drain(20)
        bench.queue.sent += waiting
        kinds = {(wait.kind, wait.detail) for wait in bench.ai.switching.status().waiting}
        assert bench.state != "running" or ("worker", queue) in kinds or bench.phase == "verify"
        bench.queue.sent = []


def flushed(bench: FaultBench) -> None:
    """Everything in the queue is lost, again and again."""
    for _ in range(5):
        bench.queue.sent.clear()
        bench.tick()
        bench.run_one()
    bench.queue.sent.clear()


def old_dump(bench: FaultBench) -> None:
    """The queue comes back as it was long ago."""
    bench.queue.sent = list(bench.delivered)


def queue_away(bench: FaultBench) -> None:
    """The queue can't be reached while jobs run and the scheduler ticks."""
    waiting, bench.queue.sent = bench.queue.sent, []
    bench.queue.away = True
    for wake in waiting:
        bench.deliver(wake)
        bench.tick()
    bench.queue.away = False


def two_schedulers(bench: FaultBench) -> None:
    """Two schedulers tick at once."""
    for _ in range(4):
        bench.together(bench.tick, bench.tick)
        bench.run_one()


# --- the database ------------------------------------------------------------------------------------------------


def restarted(bench: FaultBench) -> None:
    """Every connection ends at once, twice, while a job runs and between jobs."""
    bench.cut_connections()
    for point in ("step.claimed", "chunk.embedded", "indexes.before_build", "verify.checked", "activate.before_commit"):
        bench.points.once(point, bench.cut_connections)
    for _ in range(4):
        bench.run_one()
    bench.points.clear()
    bench.cut_connections()


@contextmanager
def statements(bench: FaultBench, on_each: Callable[[str], None]) -> Iterator[None]:
    """Call ``on_each`` before every statement of the console."""

    def before(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if not statement.startswith(TAG):
            on_each(statement)

    event.listen(bench.container.engine, "before_cursor_execute", before)
    try:
        yield
    finally:
        event.remove(bench.container.engine, "before_cursor_execute", before)


def refused_statement(state: str, nth: int) -> Action:
    """The n-th statement of each of the next jobs fails with a serialization failure or a deadlock."""

    def act(bench: FaultBench) -> None:
        for _ in range(4):
            count = 0

            def refuse(statement: str) -> None:
                nonlocal count
                count += 1
                if count == nth:
                    raise OperationalError(statement, {}, ERRORS[state]())

            with statements(bench, refuse):
                bench.run_one()

    return act


@contextmanager
def commits(bench: FaultBench, on_each: Callable[[Callable[[], None]], None]) -> Iterator[None]:
    """Let ``on_each`` decide about every commit: it is given the commit to call."""
    dialect: Any = bench.container.engine.dialect
    original = dialect.do_commit
    dialect.do_commit = lambda connection: on_each(lambda: original(connection))
    try:
        yield
    finally:
        dialect.do_commit = original


def cut_at_commit(*, after: bool) -> Action:
    """The connection breaks off at a commit: before the server has it, or after, with the answer lost (fault 27)."""

    def act(bench: FaultBench) -> None:
        for nth in range(1, 6):
            count = 0

            def broken(commit: Callable[[], None], nth: int = nth) -> None:
                nonlocal count
                count += 1
                if count != nth:
                    commit()
                    return
                if after:
                    commit()
                raise psycopg.OperationalError("the connection is lost")

            with commits(bench, broken):
                bench.run_one()
            bench.expire()
            bench.tick()

    return act


@contextmanager
def older(bench: FaultBench) -> Iterator[None]:
    """A transaction that has written to the vectors' table and does not end: a build waits for it."""
    with bench.container.engine.connect() as connection:
        connection.execute(text(f"{TAG} lock table embeddings in row exclusive mode"))
        yield
        connection.rollback()


def _building(bench: FaultBench) -> bool:
    return bool(bench.observe("select pid from pg_stat_progress_create_index where datname = current_database()"))


def _waiting(bench: FaultBench) -> bool:
    """Whether a build has written its index down, and waits for older transactions."""
    building = "from pg_stat_progress_create_index where datname = current_database()"
    return bool(bench.observe(f"select pid {building} and phase <> 'initializing'"))


def _build_behind(bench: FaultBench, meanwhile: Callable[[], None]) -> None:
    wake = _prepared(bench, "jobs.embeddings_index.index_chunk")
    thread = threading.Thread(target=bench.deliver, args=(wake,))
    with older(bench):
        thread.start()
        while not _waiting(bench) and thread.is_alive():
            pass
        meanwhile()
    thread.join()


def build_ended(bench: FaultBench) -> None:
    """The backend that builds is ended in the middle; it leaves an invalid index."""

    def end() -> None:
        bench.observe("select pg_terminate_backend(pid) from pg_stat_progress_create_index")
        while _building(bench):
            pass

    _build_behind(bench, end)
    assert [index for index in _existing(bench) if not index.valid]


def older_transaction(bench: FaultBench) -> None:
    """A build waits for an older transaction; status says for whom."""

    def look() -> None:
        while not bench.observe("select 1 from pg_stat_progress_create_index where current_locker_pid > 0"):
            pass
        assert "transactions" in {wait.kind for wait in bench.ai.switching.status().waiting}

    _build_behind(bench, look)


def _existing(bench: FaultBench) -> list[pgvector.Built]:
    with bench.container.engine.connect() as connection:
        return pgvector.existing(connection)


def invalid_index(bench: FaultBench) -> None:
    """A build of an earlier life has left an invalid index of the target."""
    space = bench.last.to_space_id
    name = pgvector.index_name(space, ENTITY)
    dimensions = bench.observe(f"select dimensions from vector_spaces where id = {space}")[0][0]
    pgvector.build(bench.container.engine, space, ENTITY, dimensions, "cosine", memory_mb=16)
    bench.execute(f"update pg_index set indisvalid = false where indexrelid = '{name}'::regclass")
