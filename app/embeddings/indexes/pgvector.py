"""Partial HNSW indexes: one per space and entity, built after the load (`product.md` decision 11, `seed-facts.md` 7).

Builds and drops are `CONCURRENTLY`, each on an autocommit connection of its own (`postgres.md`, "Vectors"): a plain
build holds up writes to the serving rows for as long as it takes, and a plain drop queues behind readers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection, Engine, text
from sqlalchemy.orm import Session

from app.core.errors import Invalid

OPERATORS = {"cosine": "<=>", "l2": "<->", "ip": "<#>"}
OPERATOR_CLASSES = {"cosine": "vector_cosine_ops", "l2": "vector_l2_ops", "ip": "vector_ip_ops"}
DIMENSIONS_LIMIT = 2000
"""What an HNSW index over `vector` takes (pgvector); checked when a profile is probed, before anything is written."""
BUILD_LOCK = 7_201_126
PAGE_BYTES = 8192
PREFIX = "emb_"


def index_name(space_id: int, entity: str) -> str:
    """The name of the partial index of one entity in one space, for example ``emb_3_cms_contents``."""
    return f"{PREFIX}{int(space_id)}_{re.sub('[^a-z0-9]+', '_', entity.lower())}"[:63]


def operator(similarity: str) -> str:
    """pgvector's distance operator. Raises :class:`Invalid` for what this engine doesn't take."""
    try:
        return OPERATORS[similarity]
    except KeyError:
        raise Invalid("switch.similarity", profile="", similarity=similarity, accepted=", ".join(OPERATORS)) from None


@dataclass(frozen=True)
class Built:
    """An index of ours as the catalogue has it."""

    name: str
    space_id: int
    valid: bool
    size: int


@dataclass(frozen=True)
class BuildProgress:
    """A build that is under way: tuples done of total, and whether it waits for older transactions (and whose)."""

    index: str
    pid: int
    phase: str
    done: int
    total: int
    waits_for: int | None


@contextmanager
def autocommit(engine: Engine) -> Iterator[Connection]:
    """A connection for statements that can't run in a transaction; its backend ends soon after its client does.

    The driver's connection is closed here, whatever SQLAlchemy did: an interrupt may make it let go of a detached
    connection without closing it, lock and all.
    """
    connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    driver = connection.connection.driver_connection
    try:
        with connection:
            connection.detach()
            connection.execute(text("set client_connection_check_interval = '2s'"))
            connection.execute(text("set lock_timeout = 0"))
            yield connection
    finally:
        if driver is not None:
            driver.close()


def existing(session: Session | Connection) -> list[Built]:
    """All indexes of ours on the table of vectors."""
    rows = session.execute(
        text(
            """
            select c.relname, i.indisvalid and i.indisready, pg_relation_size(c.oid)
            from pg_index i join pg_class c on c.oid = i.indexrelid
            where i.indrelid = 'embeddings'::regclass and c.relname like 'emb\\_%' order by c.relname
            """
        )
    )
    found = []
    for name, valid, size in rows:
        match = re.fullmatch(rf"{PREFIX}(\d+)_\w+", name)
        if match:
            found.append(Built(name, int(match[1]), valid, size))
    return found


def is_valid(session: Session | Connection, name: str) -> bool | None:
    """Whether the index can be used; None when there is none."""
    return next((index.valid for index in existing(session) if index.name == name), None)


def progress(session: Session) -> list[BuildProgress]:
    """Builds of ours that are under way, from `pg_stat_progress_create_index`."""
    rows = session.execute(
        text(
            """
            select c.relname, p.pid, p.phase, p.tuples_done, p.tuples_total,
                nullif(p.current_locker_pid, 0)
            from pg_stat_progress_create_index p join pg_class c on c.oid = p.index_relid
            where p.relid = 'embeddings'::regclass
            """
        )
    )
    return [BuildProgress(*row) for row in rows]


def end_backend(connection: Connection | Session, pid: int) -> None:
    """End a backend that builds or drops one of our indexes, and nothing else: pids are used again."""
    connection.execute(
        text(
            "select pg_terminate_backend(pid) from pg_stat_activity where pid = :pid and pid <> pg_backend_pid() "
            "and datname = current_database() and query ~* 'index concurrently'"
        ),
        {"pid": pid},
    )


def build(
    engine: Engine,
    space_id: int,
    entity: str,
    dimensions: int,
    similarity: str,
    *,
    memory_mb: int,
    former_backend: int | None = None,
    started: Callable[[int], None] = lambda pid: None,
) -> None:
    """Build one index, or find it valid. ``started`` is told the backend's pid before the build begins.

    A build that a dead worker left running is ended, an invalid index it left is dropped, and only one build runs at a
    time in the whole database.
    """
    name = index_name(space_id, entity)
    if not re.fullmatch(r"[a-z_]+(\.[a-z_]+)*", entity):
        raise ValueError(entity)
    with autocommit(engine) as connection:
        started(int(str(connection.scalar(text("select pg_backend_pid()")))))
        if former_backend is not None:
            end_backend(connection, former_backend)
        connection.execute(text(f"select pg_advisory_lock({BUILD_LOCK})"))
        valid = is_valid(connection, name)
        if valid:
            return
        if valid is False:
            for running in connection.execute(
                text(
                    "select p.pid from pg_stat_progress_create_index p join pg_class c on c.oid = p.index_relid "
                    "where c.relname = :name"
                ),
                {"name": name},
            ):
                end_backend(connection, running[0])
            connection.execute(text(f"drop index concurrently if exists {name}"))
        connection.execute(text(f"set maintenance_work_mem = '{int(memory_mb)}MB'"))
        connection.execute(
            text(
                f"create index concurrently {name} on embeddings "
                f"using hnsw ((embedding\\:\\:vector({int(dimensions)})) {OPERATOR_CLASSES[similarity]}) "
                f"where space_id = {int(space_id)} and entity = '{entity}'"
            )
        )


def drop_space(engine: Engine, space_id: int) -> list[str]:
    """Drop every index of a space, valid or not; returns the names. Ends builds of it that are still running."""
    with autocommit(engine) as connection:
        with Session(bind=connection) as session:
            running = {build.index: build.pid for build in progress(session)}
        names = [index.name for index in existing(connection) if index.space_id == space_id]
        for name in names:
            if name in running:
                end_backend(connection, running[name])
            connection.execute(text(f"drop index concurrently if exists {name}"))
    return names


def bytes_per_index_row(dimensions: int) -> int:
    """Bytes of one vector in an HNSW index (m = 16): element and neighbours, as many as fit a page.

    Checked against `performance.md` C2: 384 numbers take 2,048 bytes.
    """
    return PAGE_BYTES // max(1, (PAGE_BYTES - 24) // (4 * dimensions + 8 + 288))


def bytes_per_row(dimensions: int) -> int:
    """Bytes of one row of the table with its primary key, several to a page, as ``STORAGE PLAIN`` lays them."""
    row = 24 + 120 + 4 * dimensions + 8
    per_page = max(1, (PAGE_BYTES - 24) // (row + 4))
    return PAGE_BYTES // per_page + 90


def passages_per_document(session: Session) -> float:
    """How many passages a document has on average, from the rows that stand; 1.5 where there are none."""
    figure = session.scalar(
        text(
            'select avg("of") from (select "of" from embeddings e join serving s on s.space_id = e.space_id '
            "where n = 0 limit 20000) as sample"
        )
    )
    return float(figure) if figure else 1.5


def bytes_needed(session: Session, dimensions: int, to_embed: int, total: int) -> int:
    """Room for the rows still to be written and for the indexes over all of them."""
    each = passages_per_document(session)
    return int(each * (to_embed * bytes_per_row(dimensions) + total * bytes_per_index_row(dimensions)))
