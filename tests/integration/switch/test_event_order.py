"""Events come in the order of their transactions, also where a transaction's number gains a digit."""

from __future__ import annotations

from sqlalchemy import text

from app.container import Container
from app.core.documents.events_store import Position, read_events


def test_a_page_of_events_ends_with_the_latest_of_them(container: Container) -> None:
    """As text 1000 comes before 999: a cursor that had moved to it would never have met 999 again."""
    with container.units() as unit:
        unit.session.execute(
            text(
                "insert into index_events (xid, entity, record_id, revision) select cast(cast(x as text) as xid8), "
                "'cms.contents', x, 1 from unnest(array[1001, 99, 1000, 999, 100]) x"
            )
        )
        position, seen = Position(0, 0), list[int]()
        while page := read_events(unit.session, position, 2):
            seen += [event.record_id for event in page]
            position = page[-1].position
    assert seen == [99, 100, 999, 1000, 1001]
