"""What tickets need beyond the generic records: their numbers."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.crud.store import one_numberer
from app.core.unit import Unit
from app.sao import store
from app.sao.models import Ticket

ENTITY = "sao.tickets"


def number_new(unit: Unit, tickets: Sequence[Ticket]) -> None:
    """Give each ticket without a number the next one after the highest; given numbers (imports) are kept.

    Two units never give the same number: the second waits for the first to end.
    """
    if not tickets:
        return
    one_numberer(unit.session, ENTITY)
    numbers: list[int | None] = [ticket.number for ticket in tickets]
    waiting = [ticket for ticket, number in zip(tickets, numbers, strict=True) if number is None]
    given = max((number for number in numbers if number is not None), default=0)
    first = max(store.last_number(unit.session), given) + 1
    for number, ticket in enumerate(waiting, start=first):
        ticket.number = number
