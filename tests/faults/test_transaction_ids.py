"""A burst of writes amid a switch while PostgreSQL's transaction ids gain a digit: no event is passed over.

The order of events is that of their transactions. Once it was that of their text, in which 10000 comes before 9999: a
cursor that had moved to the former never met the latter. A cluster of its own comes to a power of ten at a known time.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.core.documents import events_store as events
from app.embeddings import consumers
from app.local.postgres import LocalPostgres
from tests.faults.harness import FaultBench
from tests.fixtures.bench import fake_servers
from tests.fixtures.databases import migrate
from tests.fixtures.servers import create_database

READ_EVENTS = events.read_events
BURST = range(1, 13)
SPENT = """do $$ begin
    for number in 1..{count} loop perform pg_current_xact_id(); commit; end loop;
end $$"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalPostgres]:
    """A server with a migrated database, named ``changeover``, that nobody is connected to."""
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # short enough for a socket
    try:
        with LocalPostgres(folder, durable=False) as server:
            migrate(server.url)
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def bench(cluster: LocalPostgres, tmp_path: Path) -> Iterator[FaultBench]:
    postgres = cluster.url.replace("/changeover?", "/postgres?")
    url = create_database(postgres, f"digits_{uuid4().hex[:12]}", "changeover")
    with fake_servers() as servers:
        made = FaultBench(url, tmp_path, servers)
        for number in BURST:
            made.write(number, f"text of record {number}")
        made.go_on()
        made.pass_events()
        yield made
        made.close()


def _next(bench: FaultBench) -> int:
    """The transaction id that is given out next."""
    return int(bench.observe("select pg_snapshot_xmax(pg_current_snapshot())::text")[0][0])


def _spend(bench: FaultBench, until: int) -> None:
    with bench.container.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(SPENT.format(count=until - _next(bench))))


def _by_text(session: Session, after: events.Position, limit: int) -> Sequence[events.Event]:
    every = READ_EVENTS(session, after, 10_000)
    return sorted(every, key=lambda one: (str(one.position.xid), one.position.event_id))[:limit]


@pytest.mark.parametrize("by_text", [False, True], ids=["as_it_is", "ordered_by_text"])
def test_a_burst_of_writes_across_a_power_of_ten(
    bench: FaultBench, monkeypatch: pytest.MonkeyPatch, by_text: bool
) -> None:
    monkeypatch.setattr(consumers, "PAGE", 4)
    if by_text:
        monkeypatch.setattr(events, "read_events", _by_text)
    bench.reach("activate", "side_by_side")  # an earlier loss would be found, and made good, by verifying
    power = 10 ** len(str(_next(bench)))
    _spend(bench, power - 6)
    assert power - 6 <= _next(bench) < power
    for number in BURST:
        bench.write(number, f"text of record {number}, edited")
    assert _next(bench) > power
    bench.finish()
    found = bench.checker.violations_at_rest()
    assert bool(found) == by_text, found
