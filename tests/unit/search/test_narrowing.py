"""Narrowing a search by values of declared fields."""

from __future__ import annotations

import pytest

from app.core.contracts.conditions import Condition, Group
from app.core.errors import Invalid
from app.search.narrowing import Only, narrowed, read_only

CONTENTS, TICKETS = "cms.contents", "sao.tickets"
FIELDS = {CONTENTS: ("category",), TICKETS: ("status", "priority")}
MINE = Condition("author", "=", "anna")


def test_values_of_one_field_are_alternatives_and_fields_add_up() -> None:
    only = read_only(["sao.tickets.status:open", "sao.tickets.priority:high", "sao.tickets.status:waiting"])
    assert narrowed({CONTENTS: None, TICKETS: None}, only, FIELDS) == {
        TICKETS: Group("and", (Condition("status", "in", ("open", "waiting")), Condition("priority", "in", ("high",))))
    }


def test_a_row_rule_stays() -> None:
    assert narrowed({CONTENTS: MINE}, read_only(["cms.contents.category:a:b"]), FIELDS) == {
        CONTENTS: Group("and", (MINE, Condition("category", "in", ("a:b",))))
    }


def test_nothing_asked_changes_nothing() -> None:
    assert narrowed({CONTENTS: MINE, TICKETS: None}, (), FIELDS) == {CONTENTS: MINE, TICKETS: None}


@pytest.mark.parametrize(
    "said", ["", "status:open", "sao.tickets.status", "sao.tickets.status:", ".x:1", "a.b:" + "x" * 201]
)
def test_what_is_no_field_with_a_value_is_refused(said: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_only([said])
    assert refused.value.path == "only"


@pytest.mark.parametrize("said", ["sao.tickets.requester:anna", "cms.contents.category:x", "nobody.nothing.field:1"])
def test_a_field_that_is_not_counted_or_not_in_scope_is_refused(said: str) -> None:
    with pytest.raises(Invalid) as refused:
        narrowed({TICKETS: None}, read_only([said]), FIELDS)
    assert refused.value.path == "only"


def test_it_is_written_as_it_is_read() -> None:
    assert str(Only(TICKETS, "status", "open")) == "sao.tickets.status:open"
    assert read_only(["sao.tickets.status:open"] * 2) == (Only(TICKETS, "status", "open"),)
