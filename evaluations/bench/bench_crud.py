"""Lists and details of records under row rules, beside the same SQL by hand: `make bench-crud`.

The statements are recorded from one call of the service and then sent by hand: on one open connection of the driver,
with the same parameters, every row fetched. Ours is the whole call in a unit of its own. Both are taken in turns, in
one process, on the same tables; the figure is the difference of their medians.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from pydantic import SecretStr
from sqlalchemy import event

from app.container import Container, build_container
from app.core.config import Config
from app.core.contracts.actor import Actor
from app.core.contracts.conditions import Condition, Group
from app.core.unit import Unit
from app.local.home import Home
from app.local.postgres import LocalPostgres
from evaluations.bench.laboratory import FOLDER_PREFIX, plain
from evaluations.bench.report import Figure, load, publish
from tests.fakes.queue import RecordingQueue
from tests.fixtures.databases import migrate
from tests.fixtures.servers import create_database

SIZES = (1_000, 100_000)
ROUNDS, CALLS, WARM = 5, 100, 20
GOAL_MS = 2.0
GROWTH_MS = 0.5
"""How much more the larger table may cost over its statement and still count as flat."""
NAME = "cms.contents"
ACTOR = Actor(
    id=7,
    login="anna",
    display_name="Anna",
    permissions=frozenset({f"{NAME}.select"}),
    rows={
        f"{NAME}.select": Group(
            "or", (Condition("category", "in", ("news", "hr", "it")), Condition("author", "=", "anna"))
        )
    },
    readable={NAME: frozenset({"title", "body", "category", "author", "status", "valid_from", "created_at"})},
)
FILL = (
    """insert into cms_contents (category, author, status, created_at, updated_at)
    select (array['news','hr','it','legal','sales'])[1 + n % 5], (array['anna','bob','carl'])[1 + n % 3],
        (array['draft','published','archived'])[1 + n % 3], timestamptz '2026-01-01' + n * interval '1 minute',
        timestamptz '2026-01-01' + (n * 7919 % {count}) * interval '1 minute'
    from generate_series(1, {count}) n""",
    """insert into cms_content_translations (content_id, locale, title, body)
    select id, locale, 'Title ' || id || ' ' || locale, repeat('word ' || id || ' ', 60)
    from cms_contents, unnest(array['en','it']) locale""",
)

Statement = tuple[str, Any]


@dataclass(frozen=True)
class Case:
    """One question of the service."""

    id: str
    call: Callable[[Container, Unit], object]


def listed(**raw: object) -> Callable[[Container, Unit], object]:
    return lambda parts, unit: parts.records.page(unit, ACTOR, NAME, raw)


def continued(parts: Container, unit: Unit) -> object:
    """The page after the first hundred rows."""
    cursor = CURSORS.get(id(parts))
    if cursor is None:
        cursor = parts.records.page(unit, ACTOR, NAME, {"size": 100}).next_cursor
        CURSORS[id(parts)] = str(cursor)
    return parts.records.page(unit, ACTOR, NAME, {"size": 25, "cursor": cursor})


CURSORS: dict[int, str] = {}
CASES = (
    Case("list", listed(size=25)),
    Case("filtered", listed(size=25, filter={"status": "published", "category": "news"})),
    Case("continued", continued),
    Case("detail", lambda parts, unit: parts.records.get(unit, ACTOR, NAME, 500)),
)


def recorded(parts: Container, case: Case) -> list[Statement]:
    """What one call sends to the database, with its parameters."""
    found: list[Statement] = []

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        found.append((statement, parameters))

    event.listen(parts.engine, "before_cursor_execute", note)
    try:
        with parts.units() as unit:
            case.call(parts, unit)
    finally:
        event.remove(parts.engine, "before_cursor_execute", note)
    return found


def ours(parts: Container, case: Case) -> None:
    """The call, its unit included."""
    with parts.units() as unit:
        case.call(parts, unit)


def by_hand(connection: psycopg.Connection[Any], statements: list[Statement]) -> None:
    """The same statements, in one transaction as ours are."""
    with connection.transaction(), connection.cursor() as cursor:
        for statement, parameters in statements:
            cursor.execute(statement, parameters).fetchall()


def timed(work: Callable[[], None]) -> tuple[float, float]:
    """(wall, CPU of this thread) in milliseconds."""
    began, busy = time.perf_counter(), time.thread_time()
    work()
    return (time.perf_counter() - began) * 1000, (time.thread_time() - busy) * 1000


@dataclass
class Measured:
    """Medians in milliseconds, one a round."""

    ours: list[float] = field(default_factory=list)
    by_hand: list[float] = field(default_factory=list)
    cpu_over: list[float] = field(default_factory=list)

    @property
    def over(self) -> list[float]:
        return [one - other for one, other in zip(self.ours, self.by_hand, strict=True)]


def measured(parts: Container, connection: psycopg.Connection[Any], case: Case) -> Measured:
    """Both in turns, so that whatever else the machine does falls on both."""
    for _ in range(WARM):
        ours(parts, case)
    statements = recorded(parts, case)
    found = Measured()
    for _ in range(ROUNDS):
        turns = [
            (timed(lambda: ours(parts, case)), timed(lambda: by_hand(connection, statements))) for _ in range(CALLS)
        ]
        found.ours.append(statistics.median(mine[0] for mine, _ in turns))
        found.by_hand.append(statistics.median(theirs[0] for _, theirs in turns))
        found.cpu_over.append(
            statistics.median(mine[1] for mine, _ in turns) - statistics.median(theirs[1] for _, theirs in turns)
        )
    return found


@contextmanager
def filled(postgres: LocalPostgres, count: int) -> Iterator[tuple[Container, psycopg.Connection[Any]]]:
    """A console with ``count`` contents in two languages, and a connection beside it."""
    url = create_database(postgres.url, f"records_{count}")
    migrate(url)
    with psycopg.connect(plain(url), autocommit=True) as connection:
        connection.prepare_threshold = None
        for statement in FILL:
            connection.execute(statement.format(count=count))
        connection.execute("vacuum (analyze)")
        config = Config(
            database_url=url,
            redis_url="redis://127.0.0.1:1/0",
            secret_key=SecretStr("a secret key of the benchmark only"),
            changeover_env="test",
        )
        parts = build_container(config, queue=RecordingQueue())
        try:
            yield parts, connection
        finally:
            parts.engine.dispose()


def figures_of(count: int, case: Case, found: Measured) -> list[Figure]:
    return [
        Figure(f"{case.id}_{count}_over_sql", found.over, "ms", "lower", goal=GOAL_MS),
        Figure(f"{case.id}_{count}_cpu_over_sql", found.cpu_over, "ms", "lower"),
        Figure(f"{case.id}_{count}", found.ours, "ms", "lower"),
        Figure(f"{case.id}_{count}_by_hand", found.by_hand, "ms", "lower"),
    ]


def main() -> int:
    figures: list[Figure] = []
    over: dict[str, list[float]] = {}
    before = load()
    with tempfile.TemporaryDirectory(prefix=FOLDER_PREFIX) as folder:
        home = Home(Path(folder))
        with LocalPostgres(Path(folder)) as postgres:
            for count in SIZES:
                with filled(postgres, count) as (parts, connection):
                    for case in CASES:
                        found = measured(parts, connection, case)
                        figures += figures_of(count, case, found)
                        over.setdefault(case.id, []).append(statistics.median(found.over))
        home.remove()
    for name, (small, large) in over.items():
        figures.append(Figure(f"{name}_growth", [large - small], "ms", "lower", goal=GROWTH_MS))
    notes = [f"load {before} before, {load()} after; {ROUNDS} rounds of {CALLS} calls, in turns with the same SQL"]
    return publish("crud", figures, {"postgresql": 18}, notes)


if __name__ == "__main__":
    raise SystemExit(main())
